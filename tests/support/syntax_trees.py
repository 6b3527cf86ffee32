"""The packages as syntax trees, for what their modules must not do."""

import ast
import gc
from functools import cache
from typing import Final

from tests import ROOT

PACKAGES: Final = ROOT / "packages"


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    """Each with its module's path below packages/; tests are not among them."""
    paths = sorted(PACKAGES.glob("openpts*/**/*.py"))
    gc.disable()  # all of them stay: looking for garbage among them takes five times as long as parsing
    try:
        return tuple(
            (path.relative_to(PACKAGES).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
            for path in paths
            if "tests" not in path.parts[len(PACKAGES.parts) :]
        )
    finally:
        gc.enable()
        gc.freeze()


def module_name(path: str) -> str:
    """The name by which the module at a path is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def nodes() -> tuple[tuple[str, tuple[ast.AST, ...]], ...]:
    """Those of each tree but plain names: to walk all trees takes longer than to look at what is in them."""
    left_out = ast.Name | ast.expr_context
    return tuple(
        (name, tuple(node for node in ast.walk(tree) if not isinstance(node, left_out)))
        for name, tree in trees()
    )
