"""Packages, files and functions keep to `budget.toml`; what a package has no use for, it gives back."""

import ast
import tomllib
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT
from tests.support.syntax_trees import PACKAGES, nodes, trees

BUDGET: Final = tomllib.loads((ROOT / "budget.toml").read_text(encoding="utf-8"))
ROOM: Final = 100
"""Lines that a package may be below its budget before the budget must follow."""


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def modules() -> list[Path]:
    return [PACKAGES / name for name, _ in trees()]


def test_every_package_has_a_budget() -> None:
    assert sorted(BUDGET["package"]) == sorted(
        path.parent.name for path in PACKAGES.glob("openpts*/__init__.py")
    )


@pytest.mark.parametrize("name", sorted(BUDGET["package"]))
def test_a_package_keeps_to_its_budget_and_its_readme_says_so(name: str) -> None:
    most = BUDGET["package"][name]
    used = sum(len(lines(path)) for path in modules() if path.relative_to(PACKAGES).parts[0] == name)
    assert used <= most, f"{used - most} lines over its budget: see CONTRIBUTING.md"
    assert most - used <= ROOM, f"lower the budget to {used}"
    assert f"At most {most:,} lines" in (PACKAGES / name / "README.md").read_text(encoding="utf-8")


def test_a_file_is_a_chapter() -> None:
    most = BUDGET["file_lines"]
    over = [
        path for path in modules() if len(text := lines(path)) > most and "# long: " not in "\n".join(text)
    ]
    assert [path.relative_to(PACKAGES).as_posix() for path in over] == []


def test_files_are_no_snippets() -> None:
    sizes = sorted(len(lines(path)) for path in modules())
    assert sizes[len(sizes) // 2] >= BUDGET["median_file_lines"]
    core = [path for path in modules() if path.relative_to(PACKAGES).parts[0] == "openpts"]
    assert len(core) <= BUDGET["core_files"]


def test_a_function_fits_a_screen() -> None:
    found = []
    for name, of_module in nodes():
        text = lines(PACKAGES / name)
        for node in of_module:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = text[node.lineno - 1 : node.end_lineno]
                if len(body) > BUDGET["function_lines"] and not any("# long: " in line for line in body):
                    found.append(f"{name}: {node.name} has {len(body)} lines")
    assert found == []
