"""What import contracts can't say about the rooms."""

import ast
from collections.abc import Iterator
from pathlib import Path

import openpts
from openpts.pts.registry import TESTS

PACKAGE = Path(openpts.__file__).parent


def syntax_trees() -> Iterator[tuple[str, ast.AST]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_only_the_engines_and_the_latency_analysis_know_the_rust_module() -> None:
    users = {
        name
        for name, tree in syntax_trees()
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and node.module == "openpts._native")
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "openpts"
            and "_native" in {a.name for a in node.names}
        )
    }
    assert {name for name in users if not name.startswith("engine/")} == {"analysis/latency.py"}


def test_scripts_analysis_and_reports_read_no_clock() -> None:
    clocks = {"time", "datetime"}
    for name, tree in syntax_trees():
        if not name.startswith(("pts/", "analysis/", "vocabulary/")):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not clocks & {alias.name for alias in node.names}, name
            if isinstance(node, ast.ImportFrom):
                assert node.module not in clocks, name


def test_every_test_script_has_the_headings_of_its_manual_page() -> None:
    modules = {test.standard_conditions.__module__ for test in TESTS.values()}
    scripts = {module.removeprefix("openpts.").replace(".", "/") + ".py" for module in modules}
    assert len(scripts) == len(TESTS)
    for name, tree in syntax_trees():
        if name in scripts:
            assert isinstance(tree, ast.Module)
            headings = [line for line in (ast.get_docstring(tree) or "").splitlines() if line[:1].isupper()]
            assert headings[1:] == ["Purpose", "Clause", "Steps", "Pass rule", "Reported"], name
