"""Published figures, given to the analysis as samples, come out as they were printed."""

import statistics
from fractions import Fraction
from typing import Any

import pytest
import yaml
from msgspec.structs import replace as with_changes
from scipy import stats

from openpts.analysis.run_comparison import gain_pct, relative_standard_error_pct, share_pct
from openpts.analysis.steady_state import judge
from openpts.procedures.kit.steps import THROUGHPUT
from openpts.units import KIB, MB, MIB, NS_PER_MS, NS_PER_S, format_latency_ms, parse_size_bytes
from openpts.vocabulary.sample import Measured, Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_pts.hir.results import summarize_segment
from openpts_pts.shared.rounds.results import MatrixCell
from openpts_pts.shared.saturation import SaturationStep, analyze_saturation
from openpts_pts.tests.unit.trace.scenario import play
from openpts_pts.xsr.report import analyze_cross_stimulus
from tests import DATA
from tests.support.interval_samples import in_turn
from tests.support.player import Drive

MINUTE_NS = 60 * NS_PER_S
SPECIFICATION = yaml.safe_load((DATA / "published/specification.yaml").read_text())
TKPERF = yaml.safe_load((DATA / "published/tkperf.yaml").read_text())
DRIVES = yaml.safe_load((DATA / "published/drives.yaml").read_text())
WINDOWS = {
    window["name"]: window for window in yaml.safe_load((DATA / "steady_state_windows.yaml").read_text())
}


def sample(
    iops: float | str,
    kib: float = 4,
    rw_mix: str = "0/100",
    seconds: float = 60,
    tc_qd: tuple[int, int] = (1, 1),
    order: AccessPattern = AccessPattern.RANDOM,
) -> Sample:
    """A step at exactly so many IOPS."""
    reads = int(rw_mix.partition("/")[0])
    stimulus = Stimulus.of(order, round(kib * KIB), reads, *tc_qd, ActiveRange())
    exact = Fraction(str(iops))
    step = Step.of(stimulus, Duration.seconds(seconds))
    return Drive(10**12, lambda *_: exact).sample(Phase.ROUND, 1, step)


def cells(table: dict[str, Any], field: str) -> list[tuple[float, str, float]]:
    return [
        (kib, rw_mix, value)
        for kib, row in table[field].items()
        for rw_mix, value in zip(table["columns_rw"], row, strict=True)
    ]


def throughput_mb_per_s(measured: Measured) -> float:
    return THROUGHPUT.value(measured) or 0.0


@pytest.mark.parametrize("source", [SPECIFICATION, TKPERF], ids=["specification", "tkperf"])
@pytest.mark.proves("PTS-IOPS-20", "PTS-IOPS-32")
def test_iops_tables(source) -> None:
    table = cells(source["iops"], "iops_by_kib")
    assert len(table) == 56
    for kib, rw_mix, iops in table:
        cell = MatrixCell((sample(iops, kib, rw_mix),) * 5)
        assert f"{cell.iops:.1f}" == f"{iops:.1f}"


@pytest.mark.proves("LSI-GEN-01")
@pytest.mark.proves("PTS-UNIT-01", "PTS-UNIT-06")
def test_megabytes_per_second_are_base_10() -> None:
    table = SPECIFICATION["iops"]
    rates = cells(table, "mb_per_s_by_kib")
    for (kib, rw_mix, iops), (_, _, mb_per_s) in zip(cells(table, "iops_by_kib"), rates, strict=True):
        assert throughput_mb_per_s(sample(iops, kib, rw_mix)) == pytest.approx(mb_per_s, abs=0.0500001)


@pytest.mark.proves("PTS-IOPS-35")
def test_a_minute_of_large_blocks_has_too_few_ios_for_five_nines() -> None:
    table = SPECIFICATION["iops_secondary"]
    toio = table["tc"] * table["qd"]
    short = 0
    for kib, rw_mix, art_ms in cells(table, "art_ms_by_kib"):
        # Little's law gives the IOPS that the table leaves out
        iops = Fraction(toio * 1000) / Fraction(str(art_ms))
        cell = MatrixCell((sample(str(iops), kib, rw_mix, tc_qd=(table["tc"], table["qd"])),) * 5)
        assert cell.mean_latency_ns == pytest.approx(art_ms * NS_PER_MS, rel=1e-6)
        enough = art_ms <= table["enough_for_five_nines_up_to_ms"]
        assert (cell.tail.mean_of_rounds_ns is not None) == enough
        short += not enough
        if (kib, rw_mix) == (1024, "0/100"):
            assert (cell.tail.fewest_ios, cell.tail.merged_ns) == (2543, None)
    assert short == 18


@pytest.mark.proves("PTS-LAT-12", "PTS-LAT-33..36", "PTS-UNIT-05")
def test_latency_table() -> None:
    table = SPECIFICATION["latency"]
    fewest = []
    for rw_mix, row in table["iops"].items():
        for kib, iops, art_ms, mrt_ms in zip(
            table["columns_kib"], row, table["art_ms"][rw_mix], table["mrt_ms"][rw_mix], strict=True
        ):
            at_rate = sample(iops, kib, rw_mix)
            slowest = _with_latencies(at_rate, art_ms, mrt_ms)
            cell = MatrixCell((slowest, *[_with_latencies(at_rate, art_ms, 0.9 * mrt_ms)] * 4))
            assert cell.iops == pytest.approx(iops)
            assert cell.mean_latency_ns == pytest.approx(art_ms * NS_PER_MS, rel=1e-6)
            assert cell.max_latency_ns == round(mrt_ms * NS_PER_MS)
            assert cell.tail.mean_of_rounds_ns is not None
            fewest.append(cell.tail.fewest_ios)
    assert min(fewest) == table["fewest_ios_in_a_minute"]


def _with_latencies(measured: Sample, art_ms: float, mrt_ms: float) -> Sample:
    def changed(phase: Any) -> Any:
        return (
            with_changes(
                phase,
                latency_sum_ns=round(phase.ios * art_ms * NS_PER_MS),
                latency_max_ns=round(mrt_ms * NS_PER_MS),
            )
            if phase.ios
            else phase
        )

    return with_changes(measured, read=changed(measured.read), write=changed(measured.write))


@pytest.mark.proves("PTS-HIR-26..27")
def test_idle_recovery_table() -> None:
    table = SPECIFICATION["host_idle_recovery"]
    summaries = []
    for segment, iops, art_ms, mrt_ms, outstanding in zip(
        *(table[name] for name in ("segments", "iops", "art_ms", "mrt_ms", "outstanding")), strict=True
    ):
        burst = _with_latencies(sample(iops, seconds=5), art_ms, mrt_ms)
        idle_s = 0 if segment == "baseline" else 5 * segment
        idle = Drive(1, lambda *_: 1).sample(Phase.WAIT_STATE, 1, Step.of(None, Duration.seconds(idle_s)))
        steps = [
            with_changes(step, started_ns=cycle * (5 + idle_s) * NS_PER_S + at_ns)
            for cycle in range(360)
            for step, at_ns in [(burst, 0), (idle, 5 * NS_PER_S)][: 2 if idle_s else 1]
        ]
        summary = summarize_segment(steps, 5 * NS_PER_S)
        # active time alone counts: with its idle time, wait state 10 would have an eleventh of its IOPS
        assert summary.iops == pytest.approx(iops)
        assert summary.max_latency_ns == round(mrt_ms * NS_PER_MS)
        assert summary.mean_latency_ns is not None
        assert summary.iops * summary.mean_latency_ns / NS_PER_S == pytest.approx(outstanding, abs=0.005)
        summaries.append(summary)
    ratios = [summary.iops / summaries[0].iops for summary in summaries]
    assert ratios == pytest.approx(table["iops_ratio_to_baseline"], abs=5e-5)


@pytest.mark.proves("PTS-XSR-22", "PTS-UNIT-06")
def test_cross_stimulus_table() -> None:
    table = SPECIFICATION["cross_stimulus_recovery"]
    minutes = {1: 480, 2: 360, 3: 480}
    groups = []
    at_ns = 0
    for segment, art_ms, mrt_ms, mib_per_s in zip(
        *(table[name] for name in ("segments", "art_ms", "mrt_ms", "printed_bandwidth")), strict=True
    ):
        kib, order = (8, AccessPattern.RANDOM) if segment == 2 else (1024, AccessPattern.SEQUENTIAL)
        # the first segment's exact rate follows from its response time, the others' from what is printed
        iops = Fraction(32000) / Fraction(str(art_ms)) if segment == 1 else mib_per_s * 1024 // kib
        usual = _with_latencies(sample(str(iops * Fraction(9, 10)), kib, order=order), art_ms, mrt_ms)
        best = _with_latencies(sample(str(iops), kib, order=order), art_ms, mrt_ms)
        at_ns += round(60 * NS_PER_S * table["gap_min"]) if segment == 3 else 0
        steps = [
            # in the third segment one minute alone is as good as the first segment
            with_changes(
                usual if segment == 3 and number != 39 else best, started_ns=at_ns + (number - 1) * MINUTE_NS
            )
            for number in range(1, minutes[segment] + 1)
        ]
        at_ns += minutes[segment] * MINUTE_NS
        groups.append(steps)
    results = analyze_cross_stimulus(groups, MINUTE_NS)

    assert [group.duration_ns // (60 * MINUTE_NS) for group in results.groups] == [8, 6, 8]
    first, second, third = results.groups
    known = table["first_segment"]
    assert first.iops == pytest.approx(known["iops"], abs=0.01)
    assert first.bandwidth_bytes_per_s / MB == pytest.approx(known["mb_per_s"], abs=0.01)
    # what is printed as MB/s is base 2: average, average and peak
    peak = third.peak(THROUGHPUT)
    assert peak is not None
    shown = [one.bandwidth_bytes_per_s for one in (first, second, peak)]
    assert [round(bytes_per_s / MIB) for bytes_per_s in shown] == table["printed_bandwidth"]
    assert [group.mean_latency_ns for group in results.groups] == pytest.approx(
        [art_ms * NS_PER_MS for art_ms in table["art_ms"]], rel=1e-6
    )
    assert [group.max_latency_ns for group in results.groups] == [
        round(mrt_ms * NS_PER_MS) for mrt_ms in table["mrt_ms"]
    ]
    # by the clock, from the end of the second segment on, and not by counting minutes
    assert results.peak_recovery_ns is not None
    assert results.peak_recovery_ns / MINUTE_NS == pytest.approx(table["recovery_min"])


@pytest.mark.proves("TKP-SS-02")
def test_tkperf_windows_give_its_cells() -> None:
    window = WINDOWS[TKPERF["iops"]["window"]]
    cell = MatrixCell(tuple(sample(iops) for iops in window["values"]))
    assert cell.iops == TKPERF["iops"]["iops_by_kib"][4][-1] == 444696
    assert min(cell.deviations_pct) == pytest.approx(-9.9158, abs=5e-5)
    assert cell.range_pct == pytest.approx(window["expected"]["range_pct_of_average"], abs=5e-5)

    table = TKPERF["throughput"]
    window = WINDOWS[table["window"]]
    # sequential writes of 1024 KiB: KiB/s through 1024 are I/Os per second
    samples = [
        sample(str(Fraction(rate, 1024)), 1024, order=AccessPattern.SEQUENTIAL) for rate in window["values"]
    ]
    in_mb_per_s = [throughput_mb_per_s(measured) for measured in samples]
    report = judge(window["rounds"], in_mb_per_s)
    assert report.average == pytest.approx(table["mb_per_s"], abs=0.001)
    assert report.average * MB / MIB == pytest.approx(table["cell_mib_per_s"], abs=0.001)
    assert report.average * MB / KIB == pytest.approx(table["average_kib_per_s"], rel=1e-6)
    assert report.steady

    table = TKPERF["latency"]
    report = judge(WINDOWS[table["window"]]["rounds"], WINDOWS[table["window"]]["values"])
    assert report.average == pytest.approx(table["average_us"])
    assert round(float(format_latency_ms(report.average * 1000)), 3) == table["cell_ms"]


def test_tkperf_would_have_been_saturated_after_51_rounds_of_a_minute() -> None:
    table = TKPERF["write_saturation"]
    capacity_bytes = TKPERF["user_capacity_bytes"]
    played = play("wsat", "enterprise", lambda *_: table["iops"], capacity_bytes)
    minutes = played.elapsed_s(Phase.SATURATION) / 60
    assert minutes == pytest.approx(table["rounds_of_60_s_to_four_capacities"], abs=0.0005)


@pytest.mark.parametrize("case", DRIVES["solidigm"]["file_sizes"])
@pytest.mark.proves("PTS-UNIT-01..02")
def test_gigabytes_are_not_gibibytes(case) -> None:
    assert parse_size_bytes(case["size"]) == 512 * case["sectors"]


@pytest.mark.proves("PTS-WSAT-27..28", "PTS-UNIT-01")
def test_a_drive_that_is_filled_three_times_ever_more_slowly() -> None:
    published = DRIVES["lsi"]
    capacity_bytes = published["capacity_gb"] * 10**9
    steps = []
    for fill in published["fills"]:
        iops = Fraction(capacity_bytes, 4096 * 60 * fill["minutes"])
        minute = SaturationStep(1, tracked=False, sample=sample(str(iops)))
        steps += [minute] * fill["minutes"]
    placed = in_turn(*(step.sample for step in steps))
    steps = [with_changes(step, sample=sample) for step, sample in zip(steps, placed, strict=True)]
    results = analyze_saturation(steps, (), MINUTE_NS, None)
    for number, fill in enumerate(published["fills"], start=1):
        full = results.minutes[fill["full_after_minutes"] - 1]
        # whole I/Os a minute: a few blocks more or less
        assert full.written_bytes / capacity_bytes == pytest.approx(number, rel=1e-6)
        assert full.bandwidth_bytes_per_s / MB == pytest.approx(fill["mb_per_s"], abs=0.001)
        assert full.iops == pytest.approx(fill["iops"], abs=0.5)
    assert results.minutes[-1].end_ns == published["fills"][-1]["full_after_minutes"] * MINUTE_NS


@pytest.mark.proves("SOL-STAT-04")
@pytest.mark.parametrize("case", DRIVES["solidigm"]["standard_errors"])
def test_the_relative_standard_error_of_runs(case) -> None:
    assert relative_standard_error_pct(case["values"]) == pytest.approx(case["rse_pct"], rel=1e-7)
    expected = 100 * stats.sem(case["values"]) / statistics.fmean(case["values"])
    assert relative_standard_error_pct(case["values"]) == pytest.approx(expected)


def test_one_run_and_none_have_no_standard_error() -> None:
    assert [relative_standard_error_pct(values) for values in ([], [5.0], [1.0, -1.0])] == [None] * 3


@pytest.mark.proves("SOL-STAT-07", "SOL-STAT-08")
@pytest.mark.parametrize("case", DRIVES["solidigm"]["gains"])
def test_gains_in_speed(case) -> None:
    pair = (case["basis"], case["comparison"])
    assert gain_pct(*(pair if case["kind"] == "score" else pair[::-1])) == pytest.approx(case["gain_pct"])


@pytest.mark.parametrize("case", DRIVES["lsi"]["fresh_and_preconditioned"])
def test_what_preconditioning_costs(case) -> None:
    lost_pct = gain_pct(case["fresh"], case["preconditioned"])
    assert lost_pct == pytest.approx(-case["lost_pct"], abs=5e-5)
    kept_pct = share_pct(case["preconditioned"], case["fresh"])
    assert kept_pct == pytest.approx(100 - case["lost_pct"], abs=5e-5)


@pytest.mark.proves("HYP-SUS-02")
def test_sustained_performance() -> None:
    case = DRIVES["hyperstone"]["sustained"]
    assert share_pct(case["run_2_mb_per_s"], case["run_1_mb_per_s"]) == pytest.approx(case["sustained_pct"])
    assert gain_pct(case["run_1_mb_per_s"], case["run_2_mb_per_s"]) == pytest.approx(-case["lost_pct"])
    assert (share_pct(1, 0), gain_pct(0, 1)) == (None, None)
