"""Parts of a record: a manifest, a step and its sample, with values that are hard to keep."""

from msgspec.structs import replace

from openpts._native import Histogram
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import Manifest
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import Fact, People, TargetFacts, TargetKind
from openpts.vocabulary.sample import (
    NOTHING,
    CpuShares,
    Interval,
    IoErrors,
    IoFailure,
    OperationSample,
    Phase,
    Sample,
    StepPlace,
    StepState,
)
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    BlockSize,
    Duration,
    Step,
    Stimulus,
    Zone,
    Zones,
)
from openpts.vocabulary.verdict import Deviation

HOSTILE = "<b>\"'; DROP TABLE step; #import ü 漢"
DEVIATION = Deviation("PTS-IOPS-14", "7.2", "1 min", "0.4 s", HOSTILE)


def first_test() -> Procedure:
    """Whichever is installed: the core alone has only the one of the example of a plug-in."""
    return next(iter(PROCEDURES.values()))


def manifest() -> Manifest:
    return Manifest(
        test_id="0000-20261120T220000Z-iops",
        command_line=("run", "iops", "file:x"),
        conditions=first_test().standard_conditions(DriveClass.CLIENT, 2**63 - 1),
        people=People(operator=HOSTILE),
        target=TargetFacts(TargetKind.FILE, "file:x", "/tmp/x", 10**9, 512),
        dut={"model": Fact(HOSTILE, "sysfs"), "serial": Fact(None, "not there")},
        host={},
        software={},
        started_at="2026-11-20T22:00:00+00:00",
    )


def operation(block_size_bytes: int, *latencies_ns: int) -> OperationSample:
    """As many I/Os of that size as there are latencies."""
    histogram = Histogram()
    for latency_ns in latencies_ns:
        histogram.record(latency_ns, 1)
    return OperationSample(
        len(latencies_ns),
        len(latencies_ns) * block_size_bytes,
        sum(latencies_ns),
        min(latencies_ns),
        max(latencies_ns),
        histogram.encode(),
    )


def intervals() -> tuple[Interval, ...]:
    return (
        Interval(
            index=0,
            elapsed_ns=10**9,
            read=operation(4096, 3),
            write=NOTHING,
            flush=operation(0, 2**40),
            in_flight=128,
            errors=2,
            cpu=CpuShares(0.5, 1.5, 2.5, 10**8),
        ),
        Interval(
            index=1,
            elapsed_ns=10**9,
            read=operation(4096, 2**60, 2**61),
            write=NOTHING,
            in_flight=0,
            errors=0,
            cpu=None,
            temperature_c=71.5,
            throttled=True,
        ),
        Interval(
            index=2,
            elapsed_ns=7,
            read=NOTHING,
            write=NOTHING,
            trim=operation(2**30, 2),
            in_flight=0,
            errors=0,
            cpu=None,
            throttled=False,
        ),
    )


def round_place(number: int, position: int) -> StepPlace:
    return StepPlace(1, Phase.ROUND, number, position)


def sample(state: StepState = StepState.COMPLETE, failure: IoFailure | None = None) -> Sample:
    stimulus = replace(
        Stimulus.of(AccessPattern.RANDOM, 4096, 65, 4, 32, ActiveRange(0, 75)),
        block_sizes=(BlockSize(512), BlockSize(4096, 2), BlockSize(2**30)),
        placement=Zones((Zone(1, 25), Zone(2, 75))),
    )
    return Sample(
        step=Step.of(stimulus, Duration.seconds(60)),
        state=state,
        ended_by="duration",
        started_ns=5,
        elapsed_ns=60 * 10**9,
        gap_ns=45_000,
        read=operation(4096, 3, 2**60, 2**61),
        write=NOTHING,
        trim=operation(2**30, 2),
        flush=operation(0, 2**40),
        interval_ns=10**9,
        intervals=intervals(),
        cpu=CpuShares(1.5, 2.5, 3.5, 10**9),
        failure=failure,
        errors=(IoErrors("write", "Input/output error (EIO)", 2, (0, 2**62)),),
        ios_by_block_size=(0, 3, 1),
        ios_by_zone=(0, 4),
    )
