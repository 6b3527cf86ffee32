"""CBW and DIRTH at full length, enterprise and client, and on a drive whose truth is known."""

from itertools import groupby
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions, at_time_scale
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.workload import WORKLOADS
from openpts_pts.dirth import DemandIntensityConditions
from tests.support.oracle_presets import write_oracle
from tests.support.whole_tests import run_whole

parquet = pytest.importorskip("pyarrow.parquet")

# As coarse as these drives may be simulated: a minute of their queue still settles.
TARGETS = {
    DriveClass.ENTERPRISE: "sim:enterprise-tlc?scale=536",
    DriveClass.CLIENT: "sim:client-qlc?scale=129",
}
MINUTE_NS = 60 * NS_PER_S
DEMANDS = (32, 16, 8, 6, 4, 2, 1)
PLOTS = {
    "cbw": {f"Plot 13-{number}" for number in range(4, 19)},
    "dirth": {f"Plot 14-{number}" for number in range(2, 17)},
}


def stimuli(run: Run, phase: Phase, number: int) -> list[Stimulus]:
    found = [step.sample.step.stimulus for step in run.phase(phase, number=number)]
    return [stimulus for stimulus in found if stimulus is not None]


def lengths_min(run: Run, phase: Phase) -> list[int]:
    """Whole minutes; what the drive takes to answer its queue at the end counts many times at a scale."""
    return [step.sample.elapsed_ns // MINUTE_NS for step in run.phase(phase)]


@pytest.mark.long("a test of many hours at full length, millions of I/Os")
@pytest.mark.proves("PTS-CBW-12..27", "PTS-CBW-36..42", "PTS-DIRTH-05..19", "PTS-DIRTH-28..34")
@pytest.mark.slow
@pytest.mark.parametrize("drive_class", list(DriveClass))
@pytest.mark.parametrize("test", ["cbw", "dirth"])
def test_at_full_length(tmp_path: Path, test: str, drive_class: DriveClass) -> None:
    run = run_whole(test, drive_class, tmp_path / "run", target=TARGETS[drive_class])
    assert not run.manifest.shortened
    assert all(step.sample.state is StepState.COMPLETE for step in run.steps)
    (cycle,) = run.manifest.cycles
    assert cycle.outcome.steady_round == cycle.outcome.last_round

    # preconditioning: minute 1, then 29 minutes and a minute
    assert lengths_min(run, Phase.WDPC)[:5] == [1, 29, 1, 29, 1]
    assert {(s.tc, s.qd, s.read_pct) for s in stimuli(run, Phase.WDPC, 2)} == {(32, 32, 0)}

    # rounds: decreasing TOIO, of equal ones the higher TC first, a minute each
    rounds = range(1, cycle.outcome.last_round + 1)
    points = sorted(((tc, qd) for tc in DEMANDS for qd in DEMANDS), key=lambda p: (-p[0] * p[1], -p[0]))
    for number in rounds:
        (prewrite,) = stimuli(run, Phase.ROUND_PREWRITE, number)
        assert (prewrite.tc, prewrite.qd, prewrite.read_pct) == (32, 32, 0)
        assert [(s.tc, s.qd) for s in stimuli(run, Phase.ROUND, number)] == points
    assert {stimulus.read_pct for stimulus in stimuli(run, Phase.ROUND, 1)} == {40 if test == "cbw" else 65}
    assert set(lengths_min(run, Phase.ROUND)) == {1}
    capacity_bytes = run.manifest.target.user_capacity_bytes
    for step in run.phase(Phase.ROUND_PREWRITE):
        sample = step.sample
        assert 5 * MINUTE_NS <= sample.elapsed_ns < 31 * MINUTE_NS
        # it ends by the minimum, the amount or the maximum
        written = sample.write.bytes / capacity_bytes
        assert sample.elapsed_ns >= 30 * MINUTE_NS or written >= 0.1

    # histograms: maximum, minimum, mid, each behind its pre-writes
    figures = summarize(run)
    chosen = figures["chosen_points"]
    wanted = [chosen["max"], chosen["min"], *chosen["mid"]]
    assert (chosen["min"]["tc"], chosen["min"]["qd"]) == (1, 1)
    assert chosen["max"]["art_ms"] < 5
    assert all(chosen["min"]["iops"] < mid["iops"] < chosen["max"]["iops"] for mid in chosen["mid"])
    for number, point in enumerate(wanted, start=1):
        for phase, read_pct in (
            (Phase.HISTOGRAM_PREWRITE, 0),
            (Phase.HISTOGRAM, 40 if test == "cbw" else 65),
        ):
            (stimulus,) = stimuli(run, phase, number)
            assert (stimulus.tc, stimulus.qd, stimulus.read_pct) == (point["tc"], point["qd"], read_pct)
    assert lengths_min(run, Phase.HISTOGRAM_PREWRITE) == [60] * len(wanted)
    assert lengths_min(run, Phase.HISTOGRAM) == [10] * len(wanted)
    parts = [phase for phase, _ in groupby(step.place.phase for step in run.steps)]
    assert parts[-2 * len(wanted) :] == [Phase.HISTOGRAM_PREWRITE, Phase.HISTOGRAM] * len(wanted)

    assert_captured(run)
    # without a write cache the client drive answers a single I/O in 4 ms: it may have no point between
    none_between = set() if chosen["mid"] else {{"cbw": "PTS-CBW-35", "dirth": "PTS-DIRTH-27"}[test]}
    assert {entry.rule_id for entry in run.ledger} == {"PTS-GEN-05"} | none_between
    assert chosen["mid"] or drive_class is DriveClass.CLIENT
    if test == "cbw":
        checked = figures["distributions"]
        assert checked["checked"] == 2 * len(run.steps)
        assert checked["off"] == 0
    drawn = {figure.number for figure in build_report(run, default_date(run)).figures()}
    # a simulated host has no CPU figures
    without = {"Plot 13-11", "Plot 14-9"}
    if not chosen["mid"]:
        without |= {"Plot 13-14", "Plot 13-15", "Plot 14-12", "Plot 14-13"}
    assert drawn >= PLOTS[test] - without


def assert_captured(run: Run) -> None:
    """Every completion time of the histograms is in the files, and nothing else."""
    files = sorted((run.folder / "capture").glob("*.parquet"))
    tables = [parquet.read_table(file, columns=["step", "latency_ns"]).to_pydict() for file in files]
    latencies: dict[int, list[int]] = {}
    for table in tables:
        for step, latency_ns in zip(table["step"], table["latency_ns"], strict=True):
            latencies.setdefault(step, []).append(latency_ns)
    captured = {number: step for number, step in enumerate(run.steps) if step.place.phase is Phase.HISTOGRAM}
    assert set(latencies) == set(captured)
    for number, step in captured.items():
        assert step.sample.step.capture
        assert len(latencies[number]) * run.manifest.target.scale == step.sample.ios
        assert max(latencies[number]) == step.sample.max_latency_ns
    assert run.manifest.capture is not None
    assert run.manifest.capture.ios == sum(map(len, latencies.values()))
    assert run.manifest.capture.lost == ""


def shortened(conditions: Conditions) -> Conditions:
    assert isinstance(conditions, DemandIntensityConditions)
    return at_time_scale(conditions, 1 / 60)


@pytest.mark.proves("PTS-CBW-31..35", "PTS-DIRTH-23..27")
def test_a_drive_of_constant_rate_has_its_maximum_at_the_lowest_demand(tmp_path: Path) -> None:
    """At 500 I/Os a second, n outstanding ones wait 2n ms: 1 and 2 are below 5 ms, and all are as fast."""
    preset = write_oracle(tmp_path, [500.0], by="seconds")
    run = run_whole("dirth", DriveClass.ENTERPRISE, tmp_path / "run", shortened, f"sim:{preset}")
    figures = summarize(run)
    for point in figures["operating_points"]:
        toio = point["tc"] * point["qd"]
        # within a second the first I/Os of a deep queue are answered at once, and wait for less
        if toio <= 16:
            assert point["art_ms"] == pytest.approx(2 * toio, rel=0.02)
            assert point["iops"] == pytest.approx(500, rel=0.02)
    chosen = figures["chosen_points"]
    assert chosen["below_art_limit"]
    assert [(chosen[name]["tc"], chosen[name]["qd"]) for name in ("max", "min")] == [(1, 1), (1, 1)]
    assert chosen["mid"] == []
    assert "PTS-DIRTH-27" in {entry.rule_id for entry in run.ledger}
    assert figures["knee_toio"] == 4


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("workload", ["vod", "metadata", "read_intensive", "composite"])
@pytest.mark.proves("PTS-DIRTH-03")
def test_any_workload_does(tmp_path: Path, workload: str) -> None:
    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, DemandIntensityConditions)
        few = replace(conditions, workload=WORKLOADS[workload], tcs=(4, 1), qds=(4, 1), precondition_tc=4)
        return at_time_scale(few, 1 / 600)

    preset = write_oracle(tmp_path, [20_000.0], by="seconds")
    run = run_whole("dirth", DriveClass.CLIENT, tmp_path / "run", adjust, f"sim:{preset}")
    wanted = WORKLOADS[workload]
    for phase in (Phase.ROUND, Phase.HISTOGRAM):
        for stimulus in stimuli(run, phase, 1):
            assert stimulus.random_pct == wanted.random_pct
            assert stimulus.block_sizes == wanted.block_sizes
            assert stimulus.read_pct == wanted.read_pct
    assert {stimulus.read_pct for stimulus in stimuli(run, Phase.ROUND_PREWRITE, 1)} == {0}
    title = build_report(run, default_date(run)).sections[0].header.title
    assert title.startswith("DIRTH - ")
