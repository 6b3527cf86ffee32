"""Known answers: what each of the eight tests finds on a simulated drive, as it was when it was checked.

Four drives follow a script, four are of flash. Time is virtual, and so each number of a report is the same on
any machine. `python -m docs.known_answers` writes them again, after a change that is meant.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from openpts.fields.conditions import Conditions, at_time_scale
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import read_for_report
from openpts.runner.run import run_test
from openpts.runner.settings import RunSettings
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People
from openpts.vocabulary.purge import Consent
from openpts_compare.record_check import check_record
from openpts_compare.selftest.finding import Expectations, SelfTestFinding
from openpts_pages.model import Table
from openpts_pts.conformance.catalogue import PTS

ANSWERS: Final = Path(__file__).with_name("known_answers.json")
_TIME_SCALE: Final = 0.0005
_POINTS: Final = ("tcs", "qds", "read_pcts", "block_sizes_bytes")
_FEW: Final = 4
_FLASH: Final = "sim:pslc?capacity=600MB&scale=1"
_SCRIPT: Final = f"sim:{Path(__file__).with_name('scripted.toml')}"
DRIVES: Final = {
    **dict.fromkeys(("hir", "tp", "wsat", "xsr"), _FLASH),
    **dict.fromkeys(("lat", "dirth", "cbw", "iops"), _SCRIPT),
}
_SEED: Final = 5
_DIGITS: Final = 10
_OF_THIS_MACHINE: Final = ("setup", "run-conditions", "cover-drive", "files")
_OF_THIS_RUN: Final = frozenset(
    {"run", "test_id", "target", "simulated", "software", "host", "labels", "reports"}
)


def check(folder: Path) -> SelfTestFinding:
    """All eight tests, up to the first that differs; the runs are below ``folder``."""
    found, tests = Expectations(), msgspec.json.decode(ANSWERS.read_bytes())
    for test, expected in tests.items():
        answers = answers_of(test, folder)
        found.equal(f"{test}: digests that are not as known", answers, expected)
        if found.faults:
            break
    return found.finding("known answers", f"figures, plots and tables of {len(tests)} tests")


def answers_of(test: str, folder: Path) -> dict[str, str]:
    """The digests of a test's run, whose record holds together. Raises what a run or a record raises."""
    settings = RunSettings(
        target=DRIVES[test],
        drive_class=DriveClass.ENTERPRISE,
        adjust=_shortened,
        consent=Consent(),
        people=People(),
        command_line=("self-test",),
        folder=folder / test,
        seed=_SEED,
    )
    run = read_for_report(run_test(PTS[test], settings, []).folder)
    check_record(folder / test)
    report = build_report(run)
    plain = {name: value for name, value in summarize(run).items() if name not in _OF_THIS_RUN}
    plots = [[axis.domain, axis.ticks] for figure in report.figures() for axis in (figure.x, figure.y)]
    tables = {
        name: list(_numbers(table))
        for name, table in report.tables().items()
        if not name.startswith(_OF_THIS_MACHINE)
    }
    return {"figures": digest(plain), "plots": digest(msgspec.to_builtins(plots)), "tables": digest(tables)}


def _numbers(table: Table) -> Iterator[list[Any]]:
    """The numbers of a table, as they are and as they are printed, and what passed or failed."""
    for row in table.rows:
        for place, cell in enumerate((row.head, *row.cells)):
            if cell.value is not None or cell.tone:
                yield [place, cell.value, cell.text if cell.value is not None else "", cell.tone]


def digest(content: Any) -> str:
    """Short, of numbers to ten digits."""
    return hashlib.sha256(msgspec.json.encode(_rounded(content), order="sorted")).hexdigest()[:12]


def _rounded(content: Any) -> Any:
    """Numbers to ten digits: libraries of mathematics differ in the last ones."""
    match content:
        case float():
            return f"{content:.{_DIGITS}g}"
        case dict():
            return {str(name): _rounded(value) for name, value in content.items()}
        case list() | tuple():
            return [_rounded(value) for value in content]
    return content


def _shortened(conditions: Conditions) -> Conditions:
    """With less time, and every other one of many operating points."""
    scaled: Any = at_time_scale(conditions, _TIME_SCALE)
    lists = {name: getattr(scaled, name, ()) for name in _POINTS}
    fewer = {name: some[::2] for name, some in lists.items() if len(some) > _FEW}
    shortened: Conditions = replace(scaled, **fewer)
    return shortened
