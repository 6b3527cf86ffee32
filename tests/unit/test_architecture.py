"""What import contracts can't say about the rooms."""

import ast

from openpts.procedures.registry import PTS
from tests.support.syntax_trees import TREES


def test_only_engines_the_latency_analysis_and_presets_know_the_rust_module() -> None:
    """Presets are the drives' own parameters, and what reads them and their theory is there."""
    users = {
        name
        for name, tree in TREES
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and node.module == "openpts._native")
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "openpts"
            and "_native" in {a.name for a in node.names}
        )
    }
    assert {name for name in users if not name.startswith("engine/")} == {
        "analysis/latency.py",
        "simulation/presets.py",
        "simulation/shape.py",
    }


def test_scripts_analysis_and_reports_read_no_clock() -> None:
    clocks = {"time", "datetime"}
    for name, tree in TREES:
        if not name.startswith(("pts/", "analysis/", "vocabulary/")):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not clocks & {alias.name for alias in node.names}, name
            if isinstance(node, ast.ImportFrom):
                assert node.module not in clocks, name


def test_every_test_script_has_the_headings_of_its_manual_page() -> None:
    modules = {test.standard_conditions.__module__ for test in PTS.values()}
    scripts = {module.removeprefix("openpts.").replace(".", "/") + ".py" for module in modules}
    assert len(scripts) == len(PTS)
    for name, tree in TREES:
        if name in scripts:
            headings = [line for line in (ast.get_docstring(tree) or "").splitlines() if line[:1].isupper()]
            assert headings[1:] == ["Purpose", "Clause", "Steps", "Pass rule", "Reported"], name
