"""Reports of latency and write saturation: what runs that ended early still say, and what figures hold."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.manifest import RunState
from openpts.record.reader import Run, StepRecord
from openpts.report.build import build_report
from openpts.report.run_part import part_of, summarize
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import NOTHING, Phase, StepState
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.workload import WORKLOADS
from openpts_pages.model import Figure, Report, Verdict, points_of
from tests.support.interval_samples import operation_of
from tests.support.made_up_run import CAPACITY_BYTES, ended_after, made_up_run, with_intervals
from tests.support.page_transcript import transcript_of

REPORT_DATE = "2026-02-03T04:05:06Z"
NAMES = ("read_intensive", "vod", "write_intensive")


def three_workloads(conditions: Conditions) -> Conditions:
    return replace(conditions, workloads=tuple(WORKLOADS[name] for name in NAMES))


def cut(run: Run, keep: Callable[[StepRecord], bool], *, cycles: int = 0) -> Run:
    """The run as if it had been interrupted behind the last step that is kept."""
    steps = tuple(step for step in run.steps if keep(step))
    if steps:
        last = replace(steps[-1], sample=replace(steps[-1].sample, state=StepState.INTERRUPTED))
        steps = (*steps[:-1], last)
    manifest = replace(run.manifest, state=RunState.INTERRUPTED, cycles=run.manifest.cycles[:cycles])
    return replace(run, steps=steps, manifest=manifest)


def texts(report: Report) -> str:
    return "\n".join(b.text for page in report.pages() for b in page.blocks if isinstance(b, Verdict))


def page_ids(report: Report) -> set[str]:
    return {page.id for page in report.pages()}


WHOLE = {name: made_up_run(name) for name in ("lat", "wsat")}


@pytest.mark.parametrize("name", ["lat", "wsat"])
@pytest.mark.parametrize("steps", [0, 1, 2, 5, 12, 20])
def test_a_run_that_ended_early_has_all_mandatory_pages(name, steps) -> None:
    run = WHOLE[name]
    report = build_report(cut(run, lambda step: step in run.steps[:steps]), REPORT_DATE)
    whole = build_report(run, REPORT_DATE)
    wanted = {page.id for page in whole.pages() if page.mandatory}
    assert wanted <= page_ids(report)
    assert report.alerts()
    tables = report.tables()
    for figure in report.figures():
        table = tables[figure.table_id]
        assert all(points_of(series, table) for series in figure.series if figure.kind == "lines")


def test_steady_state_that_was_found_before_an_interruption_is_told() -> None:
    """Whether the test itself noted it or not: it does at its end."""
    whole = build_report(WHOLE["wsat"], REPORT_DATE)
    found = "RND 4 KiB RW0: Steady State found in Tracking Round 5 (Tracking Rounds 1 - 5, rules of 2.1.24)."
    assert found in texts(whole)
    stopped = cut(WHOLE["wsat"], lambda step: step in WHOLE["wsat"].steps[:15])
    assert found in texts(build_report(stopped, REPORT_DATE))


@pytest.mark.proves("PTS-LAT-25", "PTS-LAT-26")
def test_latency_that_failed_in_its_histogram_keeps_its_window(golden) -> None:
    run = cut(WHOLE["lat"], lambda step: step.place.phase is not Phase.HISTOGRAM)
    run = replace(run, steps=WHOLE["lat"].phase(Phase.WIPC) + WHOLE["lat"].phase(Phase.ROUND))
    report = build_report(run, REPORT_DATE)
    assert texts(report) == golden
    assert summarize(run)["histogram"] is None


@pytest.mark.proves("PTS-WSAT-12", "PTS-WSAT-15", "PTS-WSAT-32")
def test_each_workload_has_a_section_of_its_own_and_only_the_default_is_required(golden) -> None:
    run = made_up_run("wsat", adjust=three_workloads)
    report = build_report(run, REPORT_DATE)
    assert [section.header.title for section in report.sections] == [
        "WSAT - RND 4KiB RW100",
        "WSAT - SEQ 128KiB RW90",
        "WSAT - RND 4KiB RW0",
    ]
    statuses = ["OPTIONAL" in section.header.bar for section in report.sections]
    assert statuses == [True, True, False]
    ids = [page.id for page in report.pages()]
    assert len(ids) == len(set(ids))
    assert len(report.tables()) == len({t.id for t in report.tables().values()})
    assert texts(report) == golden
    figures = summarize(run)["workloads"]
    assert [entry["workload"] for entry in figures] == list(NAMES)
    assert [entry["ended_by"] for entry in figures] == [
        "6 h 0 min elapsed",
        "4 x user capacity written",
        "4 x user capacity written",
    ]


def test_a_workload_that_never_began_is_named(golden) -> None:
    whole = made_up_run("wsat", adjust=three_workloads)
    run = cut(whole, lambda step: step.place.cycle == 1, cycles=1)
    run = replace(run, manifest=replace(run.manifest, purges=run.manifest.purges[:1]))
    report = build_report(run, REPORT_DATE)
    assert len(report.sections) == 1
    assert texts(report) == golden


@pytest.mark.proves("PTS-WSAT-26..28")
def test_minutes_stand_at_their_time_their_gigabytes_and_their_fills() -> None:
    report = build_report(WHOLE["wsat"], REPORT_DATE)
    tables = report.tables()

    def ends(number: str) -> float:
        figure: Figure = next(f for f in report.figures() if f.number == number)
        mean = figure.series[-1]
        return points_of(mean, tables[figure.table_id])[-1][0]

    (workload,) = summarize(WHOLE["wsat"])["workloads"]
    assert workload["drive_fills"] == pytest.approx(4, rel=1e-5)
    assert ends("Plot 10-1") == pytest.approx(workload["elapsed_s"] / 3600)
    assert ends("Plot 10-2") == pytest.approx(4 * CAPACITY_BYTES / 1e9, rel=1e-5)
    assert ends("Plot 10-3") == pytest.approx(4, rel=1e-5)


def test_the_intervals_of_the_first_twentieth_of_all_writes_are_enlarged() -> None:
    run = with_intervals(WHOLE["wsat"], 10 * NS_PER_S)
    written, fills = 0, []
    intervals = [one for step in run.phase(Phase.SATURATION) for one in step.sample.intervals]
    total = sum(one.write.bytes for one in intervals)
    for one in intervals:
        written += one.write.bytes
        if 20 * written <= total:
            fills.append(written / run.manifest.target.user_capacity_bytes)
    tables = build_report(run, REPORT_DATE).tables()
    assert fills
    assert [row.head.value for row in tables["wsat-iops-fills-start-values"].rows] == pytest.approx(fills)


@pytest.mark.parametrize(("steps", "asked"), [(0, []), (15, ["steady_iops"])])
def test_without_an_end_zone_a_buyer_gets_what_is_nearest_to_it(steps, asked) -> None:
    whole = WHOLE["wsat"]
    part = part_of(cut(whole, lambda step: step in whole.steps[:steps]), REPORT_DATE)
    found = [one for one in part.measures if one.headline]
    assert [one.key.rpartition(".")[2] for one in found] == asked
    assert all(one.is_key and one.value is not None for one in found)


def with_few_ios(run: Run, read_pct: int) -> Run:
    """The run with 2,400 I/Os in each Round of 4 KiB at a mix: 100 us all, but the slowest three of 1 ms."""
    measured = operation_of([(100_000, 2_397), (1_000_000, 3)])
    steps = []
    for step in run.steps:
        stimulus = step.sample.step.stimulus
        wanted = stimulus and (stimulus.block_size_bytes, stimulus.read_pct) == (4096, read_pct)
        few = replace(step.sample, read=NOTHING, write=measured)
        steps.append(replace(step, sample=few) if wanted and step.place.phase is Phase.ROUND else step)
    return replace(run, steps=tuple(steps))


def test_response_times_of_low_n_are_told_apart_and_none_is_told_beyond_its_ios() -> None:
    report = build_report(with_few_ios(WHOLE["lat"], 65), REPORT_DATE)
    table = report.tables()["lat-levels-values"]
    labels = [column.label for column in table.columns]
    sure, low = labels.index("RW 65"), labels.index("RW 65, low n")
    told = {row.head.text: (row.cells[sure].text, row.cells[low].text) for row in table.rows}
    # 15 of 12,000 I/Os are slow: 99.875 % are not. 10,000 I/Os make 4 nines, 15,000 would be better.
    assert told["90"] == ("0.100", "-")
    assert told["99.5"] == ("0.100", "-")
    assert told["99.9"] == ("1.00", "-")
    assert told["99.95"] == ("1.00", "1.00")
    assert told["99.99"] == ("-", "1.00")
    assert told["99.995"] == ("-", "-")
    assert told["N of I/Os"][0] == "12,000"
    figure = next(figure for figure in report.figures() if figure.number == "Plot X-LAT-1")
    styles = {series.label: series.style for series in figure.series}
    assert styles["RW 65, low n"] == "dashed"
    assert "RW 100, low n" not in styles


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
def test_writes_decide_and_reads_are_shown(golden) -> None:
    report = report_of(run_of(large_reads=WILD))
    assert report.sections[0].alerts == ()
    assert sentences(report, "tp-1024-window") == golden
    assert sentences(report, "tp-1024-read-window") == golden
    never = report_of(CASES["not steady"])
    assert never.sections[0].alerts == ("STEADY STATE NOT REACHED - last five Rounds shown",)
    assert never.sections[1].alerts == ()


def test_reads_that_are_not_measured_have_a_reason_and_no_plot() -> None:
    report = report_of(made_up_run("tp", adjust=lambda conditions: replace(conditions, read_pcts=(0,))))
    for kib in (128, 1024):
        assert sentences(report, f"tp-{kib}-read") == f"Reads of SEQ {kib} KiB were not measured in this run."
        _, absent = report.tables()[f"tp-{kib}-table"].rows[0].cells
        assert absent.value is None


@pytest.mark.proves("PTS-TP-02", "PTS-TP-17..18", "PTS-TP-24..25", "PTS-TP-27", "PTS-TP-31..32")
@pytest.mark.parametrize("case", CASES)
def test_what_is_on_the_pages(transcript, case) -> None:
    assert transcript_of(report_of(CASES[case])) == transcript


def test_figures_for_machines_have_both_sizes() -> None:
    small, large = summarize(STEADY)["cycles"]
    assert (small["block_size_bytes"], large["block_size_bytes"]) == (SMALL, LARGE)
    assert small["steady_state"]["round"] == 6
    assert large["throughput"][1]["mb_per_s"] == pytest.approx(exact_mb_per_s(READS[LARGE], LARGE), rel=1e-12)
