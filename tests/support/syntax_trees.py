"""The core and its plug-ins as syntax trees, for what their modules must not do."""

import ast
import gc
from functools import cache
from pathlib import Path
from typing import Final

import openpts

PACKAGE: Final = Path(openpts.__file__).parent


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    """Each with its module's path, which begins with the package's name for a plug-in."""
    folders = sorted(PACKAGE.parent.glob("openpts*"))
    gc.disable()  # all of them stay: looking for garbage among them takes five times as long as parsing
    try:
        return tuple(
            (
                path.relative_to(PACKAGE.parent).as_posix().removeprefix("openpts/"),
                ast.parse(path.read_text(encoding="utf-8")),
            )
            for folder in folders
            for path in sorted(folder.rglob("*.py"))
        )
    finally:
        gc.enable()
        gc.freeze()


@cache
def nodes() -> tuple[tuple[str, tuple[ast.AST, ...]], ...]:
    """Those of each tree but plain names: to walk all trees takes longer than to look at what is in them."""
    left_out = ast.Name | ast.expr_context
    return tuple(
        (name, tuple(node for node in ast.walk(tree) if not isinstance(node, left_out)))
        for name, tree in trees()
    )
