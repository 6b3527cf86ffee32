"""What `openpts io` prints: lines while it measures, then tables or one JSON object."""

import io
import json
from fractions import Fraction

import pytest
from msgspec.structs import replace
from rich.console import Console

from openpts.engine.contract import EngineProgress, OutstandingIo
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import Fact, SimulationFacts, TargetFacts, TargetKind
from openpts.vocabulary.sample import NOTHING, CpuShares, Interval, IoErrors, IoFailure, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_io import io_result as io_display
from openpts_io.io_result import (
    Figures,
    IntervalLines,
    MeasurementProgress,
    MeasurementResults,
    print_summary,
)
from openpts_io.measure import (
    IntervalsEnded,
    MeasurementEnded,
    MeasurementStarted,
    MeasurementTicked,
    OutstandingIoHangs,
)
from tests.support.interval_samples import operation_of, sample_of
from tests.support.told_run import Clock

STEP = Step.of(Stimulus.of(AccessPattern.RANDOM, 4096, 70, 4, 32, ActiveRange()), Duration.seconds(2))


# 7000 reads of 100 us, 3000 writes of 300 us, one of which took 10 ms
READS = operation_of([(100_000, 7000)])
WRITES = operation_of([(300_000, 2999), (10_000_000, 1)])
INTERVALS = (
    Interval(index=0, in_flight=127, errors=0, elapsed_ns=NS_PER_S, read=READS, write=NOTHING, cpu=None),
    Interval(index=1, in_flight=0, errors=2, elapsed_ns=NS_PER_S, read=NOTHING, write=WRITES, cpu=None),
)
SAMPLE = sample_of(
    STEP,
    started_ns=5,
    elapsed_ns=2 * NS_PER_S,
    gap_ns=None,
    intervals=INTERVALS,
    read=READS,
    write=WRITES,
    cpu=CpuShares(25.0, 50.0, 5.0, 10_000_000),
    errors=(IoErrors("write", "Input/output error (os error 5)", 2, (512, 1024)),),
)
STARTED = MeasurementStarted(
    number=0,
    target=TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", 1_920_000_000_000, 4096),
    steps=(STEP,),
    engine={
        "engine": Fact("native", "test"),
        "io_path": Fact("io_uring", "the target's probe"),
        "nowait": Fact("yes", "probe of the target"),
        "sync_qd1_median_ns": Fact("3263", "probe of the target"),
        "own_latency": Fact("343 ns of each latency at QD 1", "test"),
    },
    seed=99,
    notes=("a note",),
)
FAILED = replace(
    SAMPLE,
    state=StepState.FAILED,
    ended_by=None,
    failure=IoFailure("write", 4096, 8192, "Input/output error (os error 5)"),
)


def printed(*events: object, as_json: bool) -> str:
    results, stream = MeasurementResults(), io.StringIO()
    for event in events:
        results.on_event(event)  # type: ignore[arg-type]
    results.print(stream, as_json=as_json)
    return stream.getvalue()


def test_the_json_object_has_exact_counts_and_merged_percentiles() -> None:
    result = json.loads(printed(STARTED, MeasurementEnded(0, SAMPLE), as_json=True))
    total, read, write = result["total"], result["read"], result["write"]
    assert (total["ios"], read["ios"], write["ios"]) == (10_000, 7000, 3000)
    assert total["bytes"] == 10_000 * 4096
    assert (total["iops"], total["bytes_per_s"]) == (5000, 5000 * 4096)
    mean = Fraction(7000 * 100_000 + 2999 * 300_000 + 10_000_000, 10_000)
    assert total["mean_latency_ns"] == pytest.approx(float(mean))
    assert (total["min_latency_ns"], total["max_latency_ns"]) == (100_000, 10_000_000)
    # of 10,000 in ascending order: the 5,000th, 9,000th and 9,999th; an average of both would lie between
    expected = {"50": 100_000, "90": 300_000, "99": 300_000, "99.99": 300_000}
    for percentile, latency_ns in expected.items():
        assert total["percentiles_ns"][percentile] == pytest.approx(latency_ns, rel=0.001)
    assert total["percentiles_ns"]["99.999"] is None  # would need 100,000 I/Os
    assert "99.9999" not in total["percentiles_ns"]
    assert write["percentiles_ns"]["99.99"] is None
    assert set(result) >= {"target", "stimulus", "stop", "state", "ended_by", "errors", "failure", "engine"}
    assert "trim" not in result
    assert result["elapsed_seconds"] == 2
    assert result["engine"]["io_path"] == "io_uring"
    assert result["stop"] == {"type": "duration", "duration_ns": 2 * NS_PER_S}
    assert result["errors"][0]["count"] == 2
    assert result["seed"] == 99


def test_the_intervals_are_in_the_json_object() -> None:
    first, second = json.loads(printed(STARTED, MeasurementEnded(0, SAMPLE), as_json=True))["intervals"]
    assert (first["index"], first["seconds"], first["ios"], first["iops"]) == (0, 1, 7000, 7000)
    assert (first["in_flight"], first["errors"], second["errors"]) == (127, 0, 2)
    assert second["max_latency_ns"] == 10_000_000
    assert second["mean_latency_ns"] == pytest.approx((2999 * 300_000 + 10_000_000) / 3000)


def test_several_targets_are_a_list() -> None:
    other = replace(STARTED, number=1)
    result = json.loads(
        printed(STARTED, other, MeasurementEnded(1, SAMPLE), MeasurementEnded(0, FAILED), as_json=True)
    )
    assert [target["state"] for target in result["targets"]] == ["failed", "complete"]


def test_nothing_measured_is_null_and_never_zero_latency() -> None:
    empty = replace(SAMPLE, read=NOTHING, write=NOTHING, elapsed_ns=0, intervals=(), cpu=None)
    total = json.loads(printed(STARTED, MeasurementEnded(0, empty), as_json=True))["total"]
    assert (total["ios"], total["iops"]) == (0, 0)
    assert total["mean_latency_ns"] is None
    assert set(total["percentiles_ns"].values()) == {None}
    assert "-" in printed(STARTED, MeasurementEnded(0, empty), as_json=False)


def test_no_percentile_exceeds_the_exact_maximum() -> None:
    # 116,011,007 ns lies in a bucket that ends above it
    figures = Figures.of([operation_of([(50_000, 999), (116_011_007, 1)])], NS_PER_S)
    assert figures.percentile_ns(99.9) == pytest.approx(50_000, rel=0.001)
    whole = Figures.of([operation_of([(116_011_007, 1000)])], NS_PER_S)
    assert whole.percentile_ns(99.9) == 116_011_007


def test_the_summary_has_a_column_for_each_operation_and_says_how(snapshot) -> None:
    stream = io.StringIO()
    print_summary(Console(file=stream, width=80), STARTED, SAMPLE)
    assert stream.getvalue() == snapshot


def test_a_failure_is_said_with_its_place() -> None:
    results = MeasurementResults()
    results.on_event(STARTED)
    results.on_event(MeasurementEnded(0, FAILED))
    (failure,) = results.failures
    assert failure.startswith("/dev/nvme0n1: write of 8192 B at byte 4096 (LBA 1) failed")


def test_a_line_for_each_interval_below_one_heading(snapshot) -> None:
    lines = IntervalLines(NS_PER_S, several=False)
    told = [*lines.of(STARTED), *lines.of(IntervalsEnded(0, INTERVALS[:1]))]
    told += lines.of(IntervalsEnded(0, INTERVALS[1:]))
    assert all(len(line) <= 79 for line in told[2:])
    assert "\n".join(told) == snapshot


def test_the_moment_after_the_last_interval_is_no_line() -> None:
    lines = IntervalLines(NS_PER_S, several=False)
    lines.of(STARTED)
    tail = replace(INTERVALS[0], elapsed_ns=60_000)
    assert lines.of(IntervalsEnded(0, (tail,))) == []
    assert len(lines.of(IntervalsEnded(0, (replace(tail, errors=1),)))) == 2


def test_several_targets_are_told_apart() -> None:
    lines = IntervalLines(NS_PER_S, several=True)
    lines.of(STARTED)
    twin = replace(STARTED.target, path="/other/nvme0n1")
    lines.of(replace(STARTED, number=1, target=twin))
    heading, first = lines.of(IntervalsEnded(0, INTERVALS[:1]))
    (second,) = lines.of(IntervalsEnded(1, INTERVALS[:1]))
    assert first.startswith("nvme0n1 ")
    assert second.startswith("/other/nvme0n1 ")
    assert len(heading) == len(first) == len(second)


def test_a_hanging_io_is_said_while_it_hangs(golden) -> None:
    hanging = OutstandingIo(7 * NS_PER_S, "read", 4096, 512)
    lines = IntervalLines(NS_PER_S, several=False)
    lines.of(STARTED)
    said = "read of 0.5 KiB at byte 4096 has not been answered for 7 s"
    assert lines.of(OutstandingIoHangs(0, hanging)) == [f"nvme0n1: {said}"]
    standing = MeasurementProgress()
    standing.on_event(MeasurementTicked(0, EngineProgress(1, 8 * NS_PER_S, 1234, 5_000_000, hanging)))
    assert standing.text().startswith(said)
    assert standing.text() == golden
    standing.on_event(MeasurementEnded(0, SAMPLE))
    assert not standing.text()


SIMULATED = replace(
    STARTED,
    target=TargetFacts(
        TargetKind.SIMULATED,
        "sim:tlc",
        "sim:tlc?scale=67",
        67 * 10**9,
        512,
        SimulationFacts("tlc", "a drive", "page-mapped", 67, 10**9, 1, ()),
    ),
    engine={"engine": Fact("simulated drive", "test"), "clock": Fact("virtual", "computed")},
)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(io_display, "time", clock)
    return clock


def test_a_simulated_drive_tells_its_time_and_ours(clock) -> None:
    lines, standing = IntervalLines(NS_PER_S, several=False), MeasurementProgress()
    (start, *_) = lines.of(SIMULATED)
    assert start.endswith("by simulated drive")
    standing.on_event(SIMULATED)
    clock.now_s += 3.2
    standing.on_event(MeasurementTicked(0, EngineProgress(1, 840 * NS_PER_S, 1234, 5_000_000)))
    assert standing.text().startswith("simulated 14 min 0 s in 3.20 s, 1,234 I/Os")
    assert lines.of(MeasurementEnded(0, SAMPLE)) == ["simulated 2.00 s in 3.20 s"]
    assert lines.of(MeasurementEnded(1, SAMPLE)) == []


def test_beside_a_real_drive_the_last_line_has_the_real_time(clock) -> None:
    standing = MeasurementProgress()
    for event in (SIMULATED, replace(STARTED, number=1)):
        standing.on_event(event)
    for number in (0, 1):
        standing.on_event(MeasurementTicked(number, EngineProgress(1, 5 * NS_PER_S, 10, 10)))
    assert standing.text().startswith("5.00 s, 20 I/Os")


def test_the_result_of_a_simulated_drive_is_marked_and_has_no_lines_of_a_host() -> None:
    sample = replace(SAMPLE, cpu=None)
    result = json.loads(printed(SIMULATED, MeasurementEnded(0, sample), as_json=True))
    assert result["simulated"] == "SIMULATED, preset tlc, scale 1:67 - not a measurement of a drive"
    assert json.loads(printed(STARTED, MeasurementEnded(0, SAMPLE), as_json=True))["simulated"] is None
    text = printed(SIMULATED, MeasurementEnded(0, sample), as_json=False)
    names = {line.split("  ")[0] for line in text.splitlines()}
    assert {"clock", "seed", "ended"} <= names
    assert not names & {"I/O path", "probe", "waiting", "processors", "overhead", "CPU time"}
