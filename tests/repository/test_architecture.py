"""What import contracts can't say about the rooms."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from typing import Final

import pytest

from openpts.procedures.registry import PROCEDURES
from openpts.runner.driver import Driver, driver_of
from tests import ROOT
from tests.support.manual import PAGES
from tests.support.syntax_trees import PACKAGES, module_name, nodes, trees

NAMES_TESTS: Final = {
    "openpts_contents/": "the order of all, and examples",
    "openpts_pts/conformance/catalogue.py": "it names the eight",
    "openpts_check/": "questions are runs of its one test",
    "openpts_compare/selftest/": "answers of the eight tests that are known beforehand",
    "openpts_fio/imports/": "it says which test of openpts a result of another program is one of",
    "openpts_fio/fio_output.py": "iops and lat are fio's names of its logs",
}
"""What may name tests other than its own."""

OTHER_WORDS: Final = {
    "benchmarks": "a field of conditions; what a reader of old records puts for their name of it",
    "check": "a command of `openpts sim` and of `openpts trace`, too",
    "entropy": "of data",
    "fdp": "names of the log pages of placement",
    "fill": "the inside of a mark; a part of a test",
    "iops": "a unit, and the key of a figure",
    "thermal": "facts of the host, and parameters of a simulated drive",
    "trim": "an operation, in weights and results",
    "tp": "the key of a figure, of throughput",
    "replay": "a field of streams, and a table of records",
    "workload": "a field of conditions",
}
"""Names of tests that are other words too: they count only where they can be nothing but a name."""


def test_only_engines_captures_the_latency_analysis_and_presets_know_the_rust_module() -> None:
    """Presets are the drives' own parameters, and what reads them and their theory is there."""
    users = {
        name
        for name, of_module in nodes()
        for node in of_module
        if (isinstance(node, ast.ImportFrom) and node.module == "openpts._native")
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "openpts"
            and "_native" in {a.name for a in node.names}
        )
    }
    assert {name for name in users if not name.startswith("openpts/engine/")} == {
        "openpts/analysis/latency.py", "openpts_fio/engine/engine.py", "openpts_traces/capture/capture.py",
        "openpts_app/drivers/power_cut.py", "openpts_sim/simulated_engine.py",
        "openpts_sim/presets.py",
        "openpts/trace_schedules.py", "openpts_traces/recipes.py", "openpts_traces/treatment.py",
    }  # fmt: skip


def test_no_module_needs_itself() -> None:
    """Modules that are loaded on demand count as well; types alone do not."""
    TopologicalSorter(_needed()).prepare()


MOST_IMPORTED: Final = 25
"""What surrounds a run joins it (``openpts/hooks.py``): no module of the core has to know more than that."""


def test_no_module_of_the_core_imports_more_than_a_reader_can_hold() -> None:
    counts = {name: len(needed) for name, needed in _needed().items() if name.startswith("openpts.")}
    assert {name: count for name, count in counts.items() if count > MOST_IMPORTED} == {}


@cache
def _needed() -> dict[str, set[str]]:
    """The modules that each module imports anywhere but for its types."""
    modules = {module_name(path): of_module for path, of_module in nodes()}
    return {name: _imported(of_module) & modules.keys() for name, of_module in modules.items()}


def _imported(of_module: Sequence[ast.AST]) -> set[str]:
    """What is no module is left in."""
    for_types = {
        id(inner)
        for node in of_module
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for of in node.body
        for inner in ast.walk(of)
    }
    found = set[str]()
    for node in of_module:
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found - {"openpts"}


def test_scripts_analysis_and_reports_read_no_clock() -> None:
    clocks = {"time", "datetime"}
    for name, of_module in nodes():
        if not (
            name.startswith(
                ("openpts/procedures/", "openpts/analysis/", "openpts/vocabulary/", "openpts_pts/shared/")
            )
            or _own_test(name)
        ):
            continue
        for node in of_module:
            if isinstance(node, ast.Import):
                assert not clocks & {alias.name for alias in node.names}, name
            if isinstance(node, ast.ImportFrom):
                assert node.module not in clocks, name


def test_every_test_script_has_the_headings_of_its_manual_page() -> None:
    scripts = [tree for name, tree in trees() if name.endswith("/script.py") and _own_test(name)]
    assert len(scripts) == len(PROCEDURES)
    for tree in scripts:
        headings = [line for line in (ast.get_docstring(tree) or "").splitlines() if line[:1].isupper()]
        source = {"Clause", "Source"} & set(headings)
        assert len(source) == 1
        assert headings[1:] == ["Purpose", *source, "Steps", "Pass rule", "Reported"]


def test_what_names_all_tests_loads_none_of_their_parts() -> None:
    """A plan needs no plots: parts are loaded when they are first asked for."""
    program = (
        "import sys; from openpts.procedures.registry import sound_tests; list(sound_tests()); "
        "print(*[name for name in sys.modules if name.startswith('openpts')], sep='\\n')"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    names = set(loaded.stdout.split())
    packages = {procedure.package for procedure in PROCEDURES.values()}
    own = {name for name in names if name.rpartition(".")[0] in packages}
    # what their conditions are made of
    assert own == {"openpts_fio.workload.job", "openpts_traces.replay.traces"}
    rooms = ("plots", "record", "engine", "device", "runner", "report", "evidence")
    assert not [name for name in names if name.split(".")[1:2] in ([room] for room in rooms)]
    assert not [name for name in names if name.startswith("openpts_pages")]


IN_PROCESS = """
import sys
from pathlib import Path
from openpts.parameters.overrides import Overrides, conditions_of
from openpts.procedures.registry import PROCEDURES
from openpts.runner.run import run_test
from openpts.runner.settings import RunSettings
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People
from openpts.vocabulary.purge import Consent

test = PROCEDURES["lat"]
quick = Overrides(test.quick, {name: name for name in test.quick})
settings = RunSettings(
    "sim:client-qlc?capacity=16GB&scale=1",
    drive_class=DriveClass.CLIENT,
    adjust=lambda standard: conditions_of(quick, standard),
    consent=Consent(),
    people=People(),
    command_line=(),
    folder=Path("run"),
    seed=1,
)
print(run_test(test, settings, []).folder, "click" in sys.modules)
"""


def test_a_run_from_python_loads_no_parser_of_command_lines(tmp_path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", IN_PROCESS], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert ended.stdout.split() == ["run", "False"]


def test_every_part_of_a_test_is_one_that_is_asked_for() -> None:
    """What is not in this list would be a file that its test never loads, or a part misspelled."""
    for procedure in PROCEDURES.values():
        for part in ("script", "report"):
            assert procedure.part(part) is not None, procedure.name
        assert callable(procedure.part("script").script)
        assert callable(procedure.part("report").report)
        assert isinstance(driver_of(procedure), Driver)
        checks = procedure.part("checks")
        assert (checks is None) == (procedure.section is None)
        assert checks is None or (callable(checks.ORDER) and checks.INTERPRETATIONS)
        for part in ("short", "comparison"):
            assert procedure.part(part) is None or callable(procedure.part(part).blocks)


def test_the_manual_asks_the_question_of_each_test_and_so_does_its_report() -> None:
    manual = " ".join(" ".join(page.read_text().split()) for page in PAGES)
    unasked = [
        one.name for one in PROCEDURES.values() if not one.question or f"**{one.question}**" not in manual
    ]
    assert unasked == []


def test_the_map_fits_a_screen_and_names_every_package_and_crate() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= 60
    packages = {f"`{init.parent.name}/`" for init in PACKAGES.glob("openpts*/__init__.py")}
    crates = {f"`{manifest.parent.name}`" for manifest in (ROOT / "rust").glob("*/Cargo.toml")}
    assert packages
    assert crates
    assert [name for name in sorted(packages | crates) if name not in text] == []


def test_every_package_says_what_it_contains() -> None:
    packages = {name: tree for name, tree in trees() if name.endswith("openpts/__init__.py")}
    assert [name for name, tree in packages.items() if not ast.get_docstring(tree)] == []


def test_every_decision_has_a_title_and_a_date() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert decisions
    dated = re.compile(r"# .+\n\nDecided: 20\d\d-\d\d-\d\d\b")
    assert [file.name for file in decisions if not dated.match(file.read_text())] == []


def test_only_what_lists_tests_names_others_than_its_own() -> None:
    """What depends on a test is in its folder or declared there: a new test changes no other module."""
    found = [
        f"{name}:{line} {what}"
        for name, of_module in nodes()
        if not any(name.startswith(exempt) for exempt in NAMES_TESTS)
        for line, what in _tests_named(of_module, _own_test(name))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "from openpts_pts.xsr import CrossStimulusConditions",
        "from openpts_practice import fill", "import openpts_pts.iops.report",
        "found = test == 'wsat'", "found = run.test != 'iops'", "found = evidence.test in {'fill'}",
        "titles = {'iops': 'IOPS', 'thermal': 'Thermal'}", "tests = ('iops', 'tp')", "first = PTS['iops']",
        "first = procedure_of('fill')",
    ],
)  # fmt: skip
def test_a_test_that_is_named_is_found(source) -> None:
    assert list(_tests_named(ast.walk(ast.parse(source))))


@pytest.mark.parametrize(
    "source", ["unit = row['iops']", "mark = {'fill': color, 'stroke': color}", "is_unit = unit == 'iops'"]
)
def test_a_word_that_is_something_else_too_names_no_test(source) -> None:
    assert not list(_tests_named(ast.walk(ast.parse(source))))


def _own_test(module: str) -> str:
    own = re.match(r"openpts_\w+/(?:rows/)?(\w+)/", module)
    return own[1] if own and own[1] in PROCEDURES else ""


def _tests_named(parts: Iterable[ast.AST], own: str = "") -> Iterator[tuple[int, str]]:
    """Line and name of each test but its own that a module imports, or names in a literal."""
    others = set(PROCEDURES) - {own}
    for node in parts:
        match node:
            case ast.Import() | ast.ImportFrom():
                found = _tests_imported(node) & others
            case ast.Constant(value=str(word)) if word not in OTHER_WORDS:
                found = {word} & others
            case _:
                found = _words(node) & others
        for name in found:
            yield getattr(node, "lineno", 0), name


def _tests_imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    modules = (f"{start}{alias.name}" for alias in node.names)
    matches = (re.match(r"openpts_\w+\.(\w+)", module) for module in modules)
    return {found[1] for found in matches if found} & set(PROCEDURES)


def _words(node: ast.AST) -> set[str]:
    """What must be names of tests: beside ``test``, to ask a table or the registry with, several together."""
    match node:
        case ast.Compare() if any(_is_test(one) for one in (node.left, *node.comparators)):
            return _literals(node)
        case ast.Subscript(value=ast.Name(id=table)) if table.isupper():
            return _literals(node.slice)
        case ast.Call(func=ast.Name(id="procedure_of")):
            return _literals(node)
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict():
            items = node.keys if isinstance(node, ast.Dict) else node.elts
            names = {str(one.value) for one in items if isinstance(one, ast.Constant)} & set(PROCEDURES)
            return names if len(names) > 1 else set()
        case _:
            return set()


def _is_test(node: ast.expr) -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) == "test"


def _literals(node: ast.AST) -> set[str]:
    return {str(one.value) for one in ast.walk(node) if isinstance(one, ast.Constant)}
