"""The report of the throughput test: both block sizes, the writes that decide, and runs that ended early."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from openpts.pages.model import Report, Verdict
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.summary import summarize
from openpts.units import KIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import Stimulus
from tests.support.made_up_run import ended_after, made_up_run
from tests.support.page_transcript import transcript_of
from tests.support.transcript import Golden

SMALL, LARGE = 128 * KIB, 1024 * KIB
# I/Os of the minute of each round, of which the last ones come again; of small writes round 1 is far off
READS = {
    SMALL: (1_480_000, 1_481_000, 1_482_000, 1_483_000, 1_484_000, 1_485_000),
    LARGE: (192_000, 192_100, 192_200, 192_300, 192_400),
}
WRITES = {
    SMALL: (1_600_000, 1_001_000, 1_002_500, 1_003_000, 1_004_000, 1_005_000),
    LARGE: (126_000, 126_100, 126_200, 126_300, 126_400),
}
NEVER_STEADY = (90_000, 100_000, 110_000, 120_000, 130_000)
WILD = (100_000, 150_000, 190_000, 240_000, 300_000)


def run_of(
    drive_class: DriveClass = DriveClass.ENTERPRISE,
    *,
    large_reads: Sequence[int] = READS[LARGE],
    large_writes: Sequence[int] = WRITES[LARGE],
) -> Run:
    def rate(stimulus: Stimulus, phase: Phase, number: int) -> Fraction:
        if phase is not Phase.ROUND:
            return Fraction(1000)
        size = stimulus.block_size_bytes
        reads, writes = (large_reads, large_writes) if size == LARGE else (READS[SMALL], WRITES[SMALL])
        of_rounds = reads if stimulus.read_pct else writes
        return Fraction(of_rounds[(number - 1) % len(of_rounds)], 60)

    return made_up_run("tp", drive_class, rate=rate)


STEADY = run_of()
FIRST_CYCLE = sum(step.place.cycle == 1 for step in STEADY.steps)
CASES = {
    "steady": STEADY,
    "client": run_of(DriveClass.CLIENT),
    "not steady": run_of(large_writes=NEVER_STEADY),
    "one of two cycles": ended_after(STEADY, FIRST_CYCLE, None),
    "second cycle interrupted": ended_after(STEADY, FIRST_CYCLE + 1 + 2 * 2),
    "failed in preconditioning": ended_after(STEADY, 0, StepState.FAILED),
    "nothing": replace(
        ended_after(STEADY, 0, None),
        manifest=replace(ended_after(STEADY, 0, None).manifest, state=RunState.RUNNING),
    ),
}


def report_of(run: Run) -> Report:
    return build_report(run, "2025-01-14T15:02:00Z")


def sentences(report: Report, page_id: str) -> str:
    (page,) = [page for page in report.pages() if page.id == page_id]
    return " ".join(block.text for block in page.blocks if isinstance(block, Verdict))


def exact_mb_per_s(ios: Sequence[int], size_bytes: int) -> float:
    return float(sum(Fraction(n * size_bytes, 60 * 10**6) for n in ios) / len(ios))


@pytest.mark.proves("PTS-TP-19", "PTS-TP-28..30")
def test_a_cell_is_the_mean_of_the_five_rounds_of_the_window() -> None:
    tables = report_of(STEADY).tables()
    for size, kib in ((SMALL, 128), (LARGE, 1024)):
        writes, reads = tables[f"tp-{kib}-table"].rows[0].cells
        assert writes.value == pytest.approx(exact_mb_per_s(WRITES[size][-5:], size), rel=1e-12)
        assert reads.value == pytest.approx(exact_mb_per_s(READS[size][-5:], size), rel=1e-12)
    assert [cell.text for cell in tables["tp-128-table"].rows[0].cells] == ["2,191.3", "3,239.7"]


@pytest.mark.proves("PTS-TP-14", "PTS-TP-20..21")
def test_writes_decide_and_reads_are_shown(golden: Golden) -> None:
    report = report_of(run_of(large_reads=WILD))
    assert report.sections[0].alerts == ()
    assert sentences(report, "tp-1024-window") == golden
    assert sentences(report, "tp-1024-read-window") == golden
    never = report_of(CASES["not steady"])
    assert never.sections[0].alerts == ("STEADY STATE NOT REACHED - last five Rounds shown",)
    assert never.sections[1].alerts == ()


@pytest.mark.proves("PTS-TP-02", "PTS-TP-17..18", "PTS-TP-24..25", "PTS-TP-27", "PTS-TP-31..32")
@pytest.mark.parametrize("case", CASES)
def test_what_is_on_the_pages(transcript: SnapshotAssertion, case: str) -> None:
    assert transcript_of(report_of(CASES[case])) == transcript


def test_figures_for_machines_have_both_sizes() -> None:
    small, large = summarize(STEADY)["cycles"]
    assert (small["block_size_bytes"], large["block_size_bytes"]) == (SMALL, LARGE)
    assert small["steady_state"]["round"] == 6
    assert large["throughput"][1]["mb_per_s"] == pytest.approx(exact_mb_per_s(READS[LARGE], LARGE), rel=1e-12)
