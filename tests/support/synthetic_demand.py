"""Run folders of CBW and DIRTH on a drive that does not exist: the script asks, a few constants answer.

An I/O takes ``latency_us`` until ``limit_iops`` are reached, so that what a report must say of any operating
point follows by hand.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from openpts._native import Histogram
from openpts.procedures.pts.cbw.conditions import CompositeConditions
from openpts.procedures.pts.dirth.conditions import DemandIntensityConditions
from openpts.procedures.registry import PTS
from openpts.record.manifest import Manifest, People, RunState
from openpts.record.writer import RunWriter
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import CaptureReport, TargetFacts, TargetKind, WriteCacheReport
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.placement import Zones
from openpts.vocabulary.requests import Answer, Apply, CycleFinished
from openpts.vocabulary.sample import (
    NOTHING,
    CpuShares,
    Interval,
    IoFailure,
    OperationSample,
    Sample,
    StepState,
)
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf, StopRule
from tests.support.synthetic_run import CAPACITY_BYTES, FACTS, purge_report

INTERVAL_NS = 10 * NS_PER_S
CAPTURE = CaptureReport("capture", files=1, ios=1000, bytes_written=8000)


@dataclass(frozen=True)
class SyntheticDemand:
    """What the run shall look like.

    ``factor`` multiplies the rate by part and number. After ``last_step`` steps the run ends with one more in
    ``last_state``. ``moved`` is the share of the 4 KiB I/Os that are counted as 8 KiB; None: nothing counted.
    """

    test: str = "cbw"
    drive_class: DriveClass = DriveClass.ENTERPRISE
    changes: dict[str, Any] = field(default_factory=dict)
    latency_us: float = 100
    limit_iops: float = 100_000
    factor: Callable[[Phase, int], float] = lambda _phase, _number: 1.0
    last_step: int | None = None
    last_state: StepState = StepState.INTERRUPTED
    moved: float | None = 0.0
    cpu: bool = True
    capture: CaptureReport = CAPTURE

    @property
    def conditions(self) -> CompositeConditions | DemandIntensityConditions:
        """Those of the test with nine operating points."""
        standard = PTS[self.test].standard_conditions(self.drive_class, 42)
        assert isinstance(standard, CompositeConditions | DemandIntensityConditions)
        return replace(standard, **{"tcs": (32, 4, 1), "qds": (32, 4, 1), **self.changes})


def write_synthetic_demand(folder: Path, wanted: SyntheticDemand) -> Path:
    """Write the run folder and return it."""
    complete = wanted.last_step is None
    state = RunState.COMPLETE
    if not complete:
        failed = wanted.last_state is StepState.FAILED
        state = RunState.FAILED if failed else RunState.INTERRUPTED
    writer = RunWriter.create(
        folder,
        Manifest(
            test_id=f"SYN1-20250114T081100Z-{wanted.test}",
            command_line=("openpts", "run", wanted.test, "/dev/nvme9n1"),
            conditions=wanted.conditions,
            people=People("A. Operator"),
            target=TargetFacts(TargetKind.BLOCK, "nvme9n1", "/dev/nvme9n1", CAPACITY_BYTES, 512),
            dut=FACTS["dut"],
            host=FACTS["host"],
            software=FACTS["software"],
            engine=FACTS["engine"],
            started_at="2025-01-14T08:11:00Z",
            purges=(purge_report(),),
            write_caches=(WriteCacheReport("WCD", "WCD", "NVMe feature 06h"),),
            ended_at="2025-01-15T04:02:00Z",
            state=state,
            state_reason=None if complete else "stopped by the operator",
            capture=wanted.capture if wanted.conditions.capture else None,
        ),
    )
    cycles = []
    for told in _play(wanted):
        if isinstance(told, CycleFinished):
            cycles.append(told)
        else:
            writer.add_step(*told)
    writer.update_manifest(cycles=cycles)
    writer.close()
    return folder


def _play(wanted: SyntheticDemand) -> Iterator[tuple[StepPlace, Sample] | CycleFinished]:
    """What the script asks for, measured; it ends early where that is wanted."""
    script = PTS[wanted.test].script(wanted.conditions, CAPACITY_BYTES)
    answer: Answer = None
    count = 0
    while True:
        try:
            request = script.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(request, CycleFinished):
            yield request
        if not isinstance(request, Apply):
            continue
        samples = []
        for position, step in enumerate(request.steps):
            place = StepPlace(1, request.phase, request.number, position)
            if count == wanted.last_step:
                yield place, _measured(wanted, place, step, wanted.last_state)
                return
            samples.append(_measured(wanted, place, step, StepState.COMPLETE))
            yield place, samples[-1]
            count += 1
        answer = tuple(samples)


def _measured(wanted: SyntheticDemand, place: StepPlace, step: Step, state: StepState) -> Sample:
    stimulus = step.stimulus
    assert stimulus is not None
    iops = min(stimulus.toio / wanted.latency_us * 1e6, wanted.limit_iops)
    iops *= wanted.factor(place.phase, place.number)
    latency_ns = round(stimulus.toio / iops * NS_PER_S)
    mean_bytes = sum(size.block_size_bytes * size.weight for size in stimulus.block_sizes) / sum(
        size.weight for size in stimulus.block_sizes
    )
    elapsed_ns, rule = _length(step.stop, iops * mean_bytes)
    complete = state is StepState.COMPLETE
    if not complete:
        elapsed_ns //= 3
    failure = IoFailure("write", 81_920, 4096, "Input/output error (EIO)")
    ios = round(iops * elapsed_ns / NS_PER_S)
    sizes, zones = _counts(stimulus, ios, wanted.moved)
    moved_bytes = round(ios * mean_bytes)
    if sizes:
        moved_bytes = sum(
            count * size.block_size_bytes for count, size in zip(sizes, stimulus.block_sizes, strict=True)
        )
    work = _Work(stimulus, ios, moved_bytes, latency_ns, elapsed_ns)
    operations = work.until(elapsed_ns)
    cpu = CpuShares(2.5, 3.0 + stimulus.toio / 100, 7.4, 20 * NS_PER_S) if wanted.cpu else None
    return Sample(
        step=step,
        state=state,
        ended_by=rule if complete else None,
        started_ns=0,
        elapsed_ns=elapsed_ns,
        gap_ns=1_000_000,
        read=operations["read"],
        write=operations["write"],
        interval_ns=INTERVAL_NS,
        intervals=tuple(work.intervals(cpu)),
        cpu=cpu,
        failure=failure if state is StepState.FAILED else None,
        ios_by_block_size=sizes,
        ios_by_zone=zones,
    )


def _length(stop: StopRule, bytes_per_s: float) -> tuple[int, str]:
    match stop:
        case Duration(duration_ns):
            return duration_ns, "duration"
        case ByteAmount(amount_bytes):
            return round(amount_bytes / bytes_per_s * NS_PER_S), "amount"
        case FirstOf(rules, at_least_ns):
            length_ns, rule = min(_length(rule, bytes_per_s) for rule in rules)
            return max(length_ns, at_least_ns), rule
        case _:
            raise AssertionError(stop)


@dataclass(frozen=True)
class _Work:
    """All I/Os of a step, which come evenly: what is done until a moment, and between two."""

    stimulus: Stimulus
    ios: int
    bytes: int
    latency_ns: int
    elapsed_ns: int

    def until(self, end_ns: int, begin_ns: int = 0, *, histogram: bool = True) -> dict[str, OperationSample]:
        before, after = self._done(begin_ns), self._done(end_ns)
        found = {}
        for name, (ios, moved_bytes) in after.items():
            count = ios - before[name][0]
            found[name] = NOTHING
            if count:
                found[name] = OperationSample(
                    count,
                    moved_bytes - before[name][1],
                    count * self.latency_ns,
                    self.latency_ns,
                    self.latency_ns,
                    _histogram(count, self.latency_ns) if histogram else b"",
                )
        return found

    def intervals(self, cpu: CpuShares | None) -> Iterator[Interval]:
        for index, begin_ns in enumerate(range(0, self.elapsed_ns, INTERVAL_NS)):
            end_ns = min(begin_ns + INTERVAL_NS, self.elapsed_ns)
            operations = self.until(end_ns, begin_ns, histogram=False)
            yield Interval(
                index=index,
                elapsed_ns=end_ns - begin_ns,
                read=operations["read"],
                write=operations["write"],
                in_flight=self.stimulus.toio,
                errors=0,
                cpu=cpu,
            )

    def _done(self, end_ns: int) -> dict[str, tuple[int, int]]:
        """I/Os and bytes of each operation up to then, in whole numbers: what lies between two adds up."""
        ios = self.ios * end_ns // self.elapsed_ns
        reads = round(ios * self.stimulus.read_pct / 100)
        of_all, of_reads = (self.bytes * count // self.ios if self.ios else 0 for count in (ios, reads))
        return {"read": (reads, of_reads), "write": (ios - reads, of_all - of_reads)}


def _histogram(ios: int, latency_ns: int) -> bytes:
    histogram = Histogram()
    histogram.record(latency_ns, ios)
    return histogram.encode()


def _counts(stimulus: Stimulus, ios: int, moved: float | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """I/Os by size and zone, as exact as whole numbers can be but for what was moved."""
    if moved is None or len(stimulus.block_sizes) == 1:
        return (), ()
    weights = [size.weight for size in stimulus.block_sizes]
    sizes = [ios * weight // sum(weights) for weight in weights]
    most = sizes.index(max(sizes))
    sizes[most] += ios - sum(sizes)
    shifted = round(sizes[most] * moved)
    sizes[most] -= shifted
    sizes[most + 1] += shifted
    assert isinstance(stimulus.placement, Zones)
    shares = [zone.weight for zone in stimulus.placement.zones]
    zones = [ios * weight // sum(shares) for weight in shares]
    zones[0] += ios - sum(zones)
    return tuple(sizes), tuple(zones)
