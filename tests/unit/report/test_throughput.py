"""The report of the throughput test: both block sizes, the writes that decide, and runs that ended early."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from openpts.pages.model import Page, Report, Verdict
from openpts.plots.svg import draw_figures
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.report.build import build_report
from openpts.report.html import render_html
from openpts.report.pdf import render_pdf
from openpts.report.summary import summarise
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import StepState
from tests.support.page_words import transcript_of
from tests.support.synthetic_throughput import (
    LARGE,
    SMALL,
    SyntheticCycle,
    SyntheticThroughput,
    write_synthetic_throughput,
)

SMALL_CYCLE = SyntheticCycle(
    SMALL,
    reads=(1_480_000, 1_481_000, 1_482_000, 1_483_000, 1_484_000, 1_485_000),
    writes=(1_600_000, 1_001_000, 1_002_500, 1_003_000, 1_004_000, 1_005_000),
    steady_round=6,
)
LARGE_CYCLE = SyntheticCycle(
    LARGE,
    reads=(192_000, 192_100, 192_200, 192_300, 192_400),
    writes=(126_000, 126_100, 126_200, 126_300, 126_400),
    steady_round=5,
)
STEADY = SyntheticThroughput((SMALL_CYCLE, LARGE_CYCLE))
NEVER = replace(LARGE_CYCLE, writes=(90_000, 100_000, 110_000, 120_000, 130_000), steady_round=None)
CASES = {
    "steady": STEADY,
    "client": replace(STEADY, drive_class=DriveClass.CLIENT),
    "not steady": SyntheticThroughput((SMALL_CYCLE, NEVER)),
    "one of two cycles": SyntheticThroughput((SMALL_CYCLE,), state=RunState.INTERRUPTED),
    "second cycle interrupted": SyntheticThroughput(
        (
            SMALL_CYCLE,
            replace(LARGE_CYCLE, reads=LARGE_CYCLE.reads[:3], writes=LARGE_CYCLE.writes[:2], finished=False),
        ),
        state=RunState.INTERRUPTED,
        last_state=StepState.INTERRUPTED,
    ),
    "failed in preconditioning": SyntheticThroughput(
        (SyntheticCycle(SMALL, (), (), finished=False),), state=RunState.FAILED, last_state=StepState.FAILED
    ),
    "nothing": SyntheticThroughput((), state=RunState.RUNNING),
}  # fmt: skip


def report_of(folder: Path, case: str) -> Report:
    return build_report(read_run(write_synthetic_throughput(folder, CASES[case])), "2025-01-14T15:02:00Z")


def page(report: Report, page_id: str) -> Page:
    return next(page for page in report.pages() if page.id == page_id)


def sentences(report: Report, page_id: str) -> str:
    return " ".join(block.text for block in page(report, page_id).blocks if isinstance(block, Verdict))


def exact_mb_per_s(ios: list[int], size_bytes: int) -> float:
    return float(sum(Fraction(n * size_bytes, 60 * 10**6) for n in ios) / len(ios))


@pytest.mark.parametrize("case", CASES)
def test_whatever_came_of_it_makes_whole_files(tmp_path: Path, case: str) -> None:
    report = report_of(tmp_path / "run", case)
    drawn = draw_figures(report)
    assert drawn.keys() == {figure.id for figure in report.figures()}
    markup = render_html(report, drawn).partition("<script")[0]
    assert not re.search(r"\b(NaN|nan|inf|None|undefined)\b", markup)
    assert render_pdf(report, drawn).startswith(b"%PDF")
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report
    ids = [block.id for page in report.pages() for block in page.blocks if hasattr(block, "id")]
    assert len(ids) == len(set(ids))


@pytest.mark.proves("PTS-TP-19", "PTS-TP-28..30")
def test_a_cell_is_the_mean_of_the_five_rounds_of_the_window(tmp_path: Path) -> None:
    report = report_of(tmp_path / "run", "steady")
    tables = report.tables()
    for kib, cycle in ((128, SMALL_CYCLE), (1024, LARGE_CYCLE)):
        writes, reads = tables[f"tp-{kib}-table"].rows[0].cells
        assert writes.value == pytest.approx(exact_mb_per_s(list(cycle.writes[-5:]), kib * 1024), rel=1e-12)
        assert reads.value == pytest.approx(exact_mb_per_s(list(cycle.reads[-5:]), kib * 1024), rel=1e-12)
        assert [column.label for column in tables[f"tp-{kib}-table"].columns] == ["0/100", "100/0"]
    assert [cell.text for cell in tables["tp-128-table"].rows[0].cells] == ["2,191.3", "3,239.7"]


@pytest.mark.proves("PTS-TP-14", "PTS-TP-20..21")
def test_writes_decide_and_reads_are_shown(tmp_path: Path) -> None:
    wild = replace(LARGE_CYCLE, reads=(100_000, 150_000, 190_000, 240_000, 300_000))
    folder = write_synthetic_throughput(tmp_path / "run", SyntheticThroughput((SMALL_CYCLE, wild)))
    report = build_report(read_run(folder), "2025-01-14T15:02:00Z")
    assert report.sections[0].alerts == ()
    assert "Steady State reached" in sentences(report, "tp-1024-window")
    assert "Steady State not reached" in sentences(report, "tp-1024-read-window")
    assert "Reads do not decide" in sentences(report, "tp-1024-read-window")
    never = report_of(tmp_path / "never", "not steady")
    assert never.sections[0].alerts == ("STEADY STATE NOT REACHED - last five Rounds shown",)
    assert never.sections[1].alerts == ()


@pytest.mark.proves("PTS-TP-02", "PTS-TP-17..18", "PTS-TP-24..27", "PTS-TP-31..32")
@pytest.mark.parametrize("case", CASES)
def test_what_is_on_the_pages(tmp_path: Path, transcript: SnapshotAssertion, case: str) -> None:
    assert transcript_of(report_of(tmp_path / "run", case)) == transcript


def test_figures_for_machines_have_both_sizes(tmp_path: Path) -> None:
    summary = summarise(read_run(write_synthetic_throughput(tmp_path / "run", STEADY)))
    small, large = summary["cycles"]
    assert (small["block_size_bytes"], large["block_size_bytes"]) == (SMALL, LARGE)
    assert small["steady_state"]["round"] == 6
    assert large["throughput"][1]["mb_per_s"] == pytest.approx(
        exact_mb_per_s(list(LARGE_CYCLE.reads), LARGE), rel=1e-12
    )
