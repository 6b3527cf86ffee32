"""Parts of a record: a manifest, a step and its sample, with values that are hard to keep."""

from msgspec.structs import replace

from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import Manifest
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import Fact, People, TargetFacts, TargetKind
from openpts.vocabulary.sample import (
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
from tests.support.interval_samples import interval_of, operation_of, sample_of

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
    return operation_of([(latency_ns, 1) for latency_ns in latencies_ns], block_size_bytes)


def intervals() -> tuple[Interval, ...]:
    return (
        interval_of(
            0,
            read=operation(4096, 3),
            flush=operation(0, 2**40),
            in_flight=128,
            errors=2,
            cpu=CpuShares(0.5, 1.5, 2.5, 10**8),
        ),
        interval_of(1, read=operation(4096, 2**60, 2**61), temperature_c=71.5, throttled=True),
        interval_of(2, elapsed_ns=7, trim=operation(2**30, 2), throttled=False),
    )


def round_place(number: int, position: int) -> StepPlace:
    return StepPlace(1, Phase.ROUND, number, position)


def sample(state: StepState = StepState.COMPLETE, failure: IoFailure | None = None) -> Sample:
    stimulus = replace(
        Stimulus.of(AccessPattern.RANDOM, 4096, 65, 4, 32, ActiveRange(0, 75)),
        block_sizes=(BlockSize(512), BlockSize(4096, 2), BlockSize(2**30)),
        placement=Zones((Zone(1, 25), Zone(2, 75))),
    )
    return sample_of(
        Step.of(stimulus, Duration.seconds(60)),
        state=state,
        started_ns=5,
        elapsed_ns=60 * 10**9,
        gap_ns=45_000,
        read=operation(4096, 3, 2**60, 2**61),
        trim=operation(2**30, 2),
        flush=operation(0, 2**40),
        intervals=intervals(),
        cpu=CpuShares(1.5, 2.5, 3.5, 10**9),
        failure=failure,
        errors=(IoErrors("write", "Input/output error (EIO)", 2, (0, 2**62)),),
        ios_by_block_size=(0, 3, 1),
        ios_by_zone=(0, 4),
    )
