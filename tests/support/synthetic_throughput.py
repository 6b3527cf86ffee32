"""Run folders of throughput tests of a drive that does not exist: I/Os of each minute as given."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec.structs import replace as with_changes

from openpts._native import Histogram
from openpts.procedures.pts.tp.script import standard_conditions
from openpts.record.manifest import Manifest, People, RunState
from openpts.record.writer import RunWriter
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import TargetFacts, TargetKind, WriteCacheReport
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.requests import CycleFinished, Outcome
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration, StopRule
from tests.support.synthetic_run import CAPACITY_BYTES, FACTS, purge_report

SMALL, LARGE = 128 * KIB, 1024 * KIB
MINUTE_NS = 60 * NS_PER_S


@dataclass(frozen=True)
class SyntheticCycle:
    """Reads and writes completed in the minutes of each round; ``steady_round`` of a finished cycle."""

    size_bytes: int
    reads: Sequence[int]
    writes: Sequence[int]
    finished: bool = True
    steady_round: int | None = None


@dataclass(frozen=True)
class SyntheticThroughput:
    """Cycles that were begun; ``last_state`` is that of the very last step."""

    cycles: Sequence[SyntheticCycle]
    drive_class: DriveClass = DriveClass.ENTERPRISE
    state: RunState = RunState.COMPLETE
    last_state: StepState = StepState.COMPLETE


def write_synthetic_throughput(folder: Path, wanted: SyntheticThroughput) -> Path:
    """Write the run folder and return it."""
    writer = RunWriter.create(folder, _manifest(wanted))
    steps = [step for number, cycle in enumerate(wanted.cycles, 1) for step in _steps(number, cycle)]
    for place, sample in steps[:-1]:
        writer.add_step(place, sample)
    for place, sample in steps[-1:]:
        writer.add_step(place, with_changes(sample, state=wanted.last_state))
    writer.close()
    return folder


def _steps(number: int, cycle: SyntheticCycle) -> Iterator[tuple[StepPlace, Sample]]:
    amount = 2 * CAPACITY_BYTES
    wipc_ns = 1800 * NS_PER_S
    written = _sample(cycle.size_bytes, {"write": amount // cycle.size_bytes}, ByteAmount(amount), wipc_ns)
    yield StepPlace(number, Phase.WIPC, 1, 0), written
    minute = Duration(MINUTE_NS)
    for n, reads in enumerate(cycle.reads):
        read = _sample(cycle.size_bytes, {"read": reads}, minute, MINUTE_NS)
        yield StepPlace(number, Phase.ROUND, n + 1, 0), read
        if n < len(cycle.writes):
            write = _sample(cycle.size_bytes, {"write": cycle.writes[n]}, minute, MINUTE_NS)
            yield StepPlace(number, Phase.ROUND, n + 1, 1), write


def _sample(size_bytes: int, ios: Mapping[str, int], stop: StopRule, elapsed_ns: int) -> Sample:
    read_pct = 100 if "read" in ios else 0
    stimulus = Stimulus.of(AccessPattern.SEQUENTIAL, size_bytes, read_pct, 1, 32, ActiveRange())
    operations = {
        name: OperationSample(count, count * size_bytes, count * 500_000, 500_000, 500_000, _histogram(count))
        for name, count in ios.items()
    }
    return Sample(
        step=Step(stimulus, stop),
        state=StepState.COMPLETE,
        ended_by="duration",
        started_ns=0,
        elapsed_ns=elapsed_ns,
        gap_ns=700_000,
        read=operations.get("read", NOTHING),
        write=operations.get("write", NOTHING),
        interval_ns=NS_PER_S,
        intervals=(),
        cpu=None,
        failure=None,
    )


@cache
def _histogram(count: int) -> bytes:
    histogram = Histogram()
    histogram.record(500_000, count)
    return histogram.encode()


def _manifest(wanted: SyntheticThroughput) -> Manifest:
    begun = len(wanted.cycles)
    return Manifest(
        test_id="SYN1-20250114T081100Z-tp",
        command_line=("openpts", "run", "tp", "/dev/nvme9n1"),
        conditions=standard_conditions(wanted.drive_class, seed=42),
        people=People("A. Operator"),
        target=TargetFacts(TargetKind.BLOCK, "nvme9n1", "/dev/nvme9n1", CAPACITY_BYTES, 512),
        **FACTS,
        started_at="2025-01-14T08:11:00Z",
        purges=(purge_report(),) * begun,
        write_caches=(WriteCacheReport("WCD", "WCD", "NVMe feature 06h"),) * begun,
        ended_at="2025-01-14T15:02:00Z",
        state=wanted.state,
        cycles=tuple(
            CycleFinished(
                Outcome(cycle.steady_round, len(cycle.writes)), f"SEQ {cycle.size_bytes // KIB} KiB"
            )
            for cycle in wanted.cycles
            if cycle.finished
        ),
    )
