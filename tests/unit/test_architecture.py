"""What import contracts can't say about the rooms."""

import ast
import re
import subprocess
import sys

from openpts.procedures.registry import PROCEDURES
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
        "simulation/scale.py",
    }


def test_scripts_analysis_and_reports_read_no_clock() -> None:
    clocks = {"time", "datetime"}
    for name, tree in TREES:
        if not name.startswith(("procedures/", "analysis/", "vocabulary/")):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not clocks & {alias.name for alias in node.names}, name
            if isinstance(node, ast.ImportFrom):
                assert node.module not in clocks, name


def test_every_test_script_has_the_headings_of_its_manual_page() -> None:
    scripts = [tree for name, tree in TREES if re.fullmatch(r"procedures/(pts|extended)/\w+/script.py", name)]
    assert len(scripts) == len(PROCEDURES)
    for tree in scripts:
        headings = [line for line in (ast.get_docstring(tree) or "").splitlines() if line[:1].isupper()]
        source = {"Clause", "Source"} & set(headings)
        assert len(source) == 1
        assert headings[1:] == ["Purpose", *source, "Steps", "Pass rule", "Reported"]


def test_what_names_all_tests_loads_none_of_their_parts() -> None:
    """A plan needs no plots: parts are loaded when they are first asked for."""
    program = (
        "import sys; import openpts.procedures.registry; "
        "print(*[name for name in sys.modules if name.startswith('openpts.')], sep='\\n')"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    names = set(loaded.stdout.split())
    parts = {name for name in names if name.startswith("openpts.procedures.") and name.count(".") == 4}
    assert {name.rpartition(".")[2] for name in parts} == {"conditions"}
    rooms = ("pages", "plots", "record", "engine", "device", "runner", "report", "evidence")
    assert not [name for name in names if name.split(".")[1] in rooms]


def test_every_part_of_a_test_is_one_that_is_asked_for() -> None:
    """What is not in this list would be a file that its test never loads, or a part misspelled."""
    for procedure in PROCEDURES.values():
        for part in ("script", "report"):
            assert procedure.part(part) is not None, procedure.name
        assert callable(procedure.part("script").script)
        assert callable(procedure.part("report").report)
        assert (procedure.part("checks") is None) == (procedure.section is None)
