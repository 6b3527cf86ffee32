"""What is written as a fio job file and read back is the same load, whichever of the two was there first."""

from math import gcd

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from openpts.errors import UsageError
from openpts.units import KIB, MIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    ActiveRange,
    Batches,
    BlockSize,
    ByteAmount,
    Capped,
    CapUnit,
    ClosedLoop,
    DataPattern,
    Duration,
    FirstOf,
    IoCount,
    IoPriority,
    OperationWeights,
    Pacing,
    Pareto,
    PatternData,
    Placement,
    PriorityClass,
    RandomData,
    RandomOnce,
    ReducibleData,
    Step,
    Stimulus,
    StopRule,
    Stream,
    ThinkTime,
    Uniform,
    ZeroData,
    Zipf,
    Zone,
    Zones,
)
from openpts_fio.engine.job import FioPath, JobSetting, job_file
from openpts_fio.jobs.job_file import flattened, parse_jobs
from openpts_fio.jobs.translation import translate

DRIVE = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", 256 * MIB, 512)
SETTING = JobSetting("/dev/drive", direct=True, path=FioPath.LIBAIO, seed=1)

_SIZES = st.sampled_from([4 * KIB, 8 * KIB, 64 * KIB])


@st.composite
def block_sizes(draw: st.DrawFn) -> tuple[BlockSize, ...]:
    sizes = draw(st.lists(_SIZES, min_size=1, max_size=3, unique=True))
    if len(sizes) == 1:
        return (BlockSize(draw(st.sampled_from([512, sizes[0]]))),)
    weights = {2: (70, 30), 3: (50, 30, 20)}[len(sizes)]
    return tuple(BlockSize(size, weight) for size, weight in zip(sizes, weights, strict=True))


OPERATIONS = st.sampled_from(
    [
        OperationWeights(read=1),
        OperationWeights(write=1),
        OperationWeights(trim=1),
        OperationWeights(read=70, write=30),
        OperationWeights(write=8, fsync=1),
    ]
)
PLACEMENTS: st.SearchStrategy[Placement] = st.sampled_from(
    [Uniform(), Zones((Zone(60, 10), Zone(40, 90))), Zipf(1.25), Pareto(0.25)]
)
PACINGS: st.SearchStrategy[Pacing] = st.one_of(
    st.just(ClosedLoop()),
    st.builds(ThinkTime, st.integers(1, 10**6).map(lambda us: us * 1000)),
    st.builds(Batches, st.integers(2, 500), st.integers(1, 10**6).map(lambda us: us * 1000)),
    st.builds(Capped, st.integers(1, 500).map(lambda number: 3600.0 * number), st.sampled_from(CapUnit)),
)
DATA: st.SearchStrategy[DataPattern] = st.one_of(
    st.sampled_from([RandomData(), RandomOnce(), ZeroData()]),
    st.builds(PatternData, st.binary(min_size=1, max_size=9)),
    st.builds(ReducibleData, st.integers(1, 99).map(float)),
)


def _counts_ios(pacing: Pacing) -> bool:
    """What fio counts in units of the smallest size where there are several."""
    return isinstance(pacing, Capped) and pacing.unit is CapUnit.IOS


@st.composite
def stimuli(draw: st.DrawFn) -> Stimulus:
    random_pct = draw(st.sampled_from([0, 100]))
    operations = draw(OPERATIONS.filter(lambda one: random_pct or not (one.read and one.write)))
    sizes = draw(block_sizes())
    start, end = sorted(draw(st.lists(st.integers(0, 100), min_size=2, max_size=2, unique=True)))
    qd = 1 if operations.trim else draw(st.sampled_from([1, 4, 32]))
    pacing = draw(PACINGS)
    if len(sizes) > 1 and _counts_ios(pacing):
        pacing = Capped(3600.0 * KIB, CapUnit.BYTES)
    if (qd > 1 and isinstance(pacing, ThinkTime)) or (operations.fsync and isinstance(pacing, Batches)):
        pacing = ClosedLoop()
    placement = draw(PLACEMENTS) if random_pct else Uniform()
    hot = isinstance(placement, Zipf | Pareto)
    data = draw(DATA) if operations.write else RandomData()
    return Stimulus(
        random_pct=random_pct,
        block_sizes=(BlockSize(8 * KIB),) if hot else sizes,
        operations=operations,
        tc=1 if hot else draw(st.sampled_from([1, 2, 4])),
        qd=qd,
        active_range=ActiveRange()
        if hot
        else draw(st.sampled_from([ActiveRange(), ActiveRange(start, end)])),
        placement=placement,
        alignment_bytes=8 * KIB if hot else draw(st.sampled_from([None, 64 * KIB])) if random_pct else None,
        stride_bytes=None if random_pct or len(sizes) > 1 else draw(st.sampled_from([None, 128 * KIB])),
        pacing=pacing,
        data=RandomData() if operations.read and isinstance(data, RandomOnce) else data,
    )


DURATIONS = st.integers(600, 10**5).map(lambda ms: Duration(ms * NS_PER_MS))
RULES: st.SearchStrategy[StopRule] = st.one_of(
    DURATIONS,
    st.builds(ByteAmount, st.integers(1, 64).map(lambda amount: amount * 4 * MIB)),
    st.builds(IoCount, st.integers(1, 1000).map(lambda ios: ios * 4)),
    st.builds(lambda time, amount: FirstOf((time, amount)), DURATIONS, st.just(ByteAmount(8 * MIB))),
)
PRIORITIES = st.one_of(st.none(), st.builds(IoPriority, st.sampled_from(PriorityClass), st.integers(0, 7)))


@st.composite
def steps(draw: st.DrawFn) -> Step:
    number = draw(st.integers(1, 3))
    names = draw(st.lists(st.sampled_from(["reader", "log 2", "c.d"]), min_size=3, max_size=3, unique=True))
    timed, delayed = draw(st.booleans()), draw(st.booleans())
    streams = tuple(
        Stream(
            draw(stimuli()),
            name,
            draw(st.sampled_from([0, NS_PER_S // 2])) if delayed else 0,
            None if timed or number == 1 else draw(RULES),
            draw(PRIORITIES),
            0 if delayed else draw(st.sampled_from([0, 1, 3])),
        )
        for name in names[:number]
    )
    stop: StopRule = draw(RULES) if number == 1 else draw(DURATIONS) if timed else STREAMS_END
    by_time = all(isinstance(stream.stop or stop, Duration) for stream in streams)
    return Step(streams, stop, draw(st.sampled_from([0, NS_PER_S])) if by_time else 0)


def read_back(text: str) -> tuple[Step, ...]:
    return translate(parse_jobs(text.splitlines(), "job.fio", {}), DRIVE).steps


def least(weights: list[int]) -> list[int]:
    return [weight // (gcd(*weights) or 1) for weight in weights]


def normal(step: Step) -> Step:
    """The same load in one form: weights without a common factor, defaults as values, one end by time."""
    streams = tuple(
        msgspec.structs.replace(stream, stimulus=normal_stimulus(stream.stimulus)) for stream in step.streams
    )
    shares = least([stream.share for stream in streams])
    streams = tuple(
        msgspec.structs.replace(stream, share=share) for stream, share in zip(streams, shares, strict=True)
    )
    step = msgspec.structs.replace(step, streams=streams)
    ends_ns = {
        max(stream.delay_ns, step.ramp_ns) + stream.stop.duration_ns
        for stream in streams
        if isinstance(stream.stop, Duration)
    }
    if len(ends_ns) > 1 or not all(isinstance(stream.stop, Duration) for stream in streams):
        return step
    together = tuple(msgspec.structs.replace(stream, stop=None) for stream in streams)
    return msgspec.structs.replace(step, streams=together, stop=Duration(ends_ns.pop() - step.ramp_ns))


def normal_stimulus(stimulus: Stimulus) -> Stimulus:
    sizes = sorted(stimulus.block_sizes, key=lambda size: size.block_size_bytes)
    size_weights = least([size.weight for size in sizes])
    operations = msgspec.structs.astuple(stimulus.operations)
    start, end = stimulus.active_range.bytes_of(DRIVE.user_capacity_bytes, DRIVE.sector_bytes)
    alignment = stimulus.alignment_bytes
    if stimulus.random_pct:
        smallest = min(size.block_size_bytes for size in sizes)
        alignment = alignment or (4096 if smallest >= 4096 else 512)
        start = -(-start // alignment) * alignment
        end -= (end - start) % 512
    else:
        end -= (end - start) % min(size.block_size_bytes for size in sizes)
    data = stimulus.data
    if isinstance(data, ReducibleData):
        granule_bytes = min(data.granule_bytes, *(size.block_size_bytes for size in sizes))
        data = msgspec.structs.replace(data, granule_bytes=granule_bytes)
    pacing = stimulus.pacing
    if stimulus.qd == 1 and isinstance(pacing, Batches) and pacing.ios == 1:
        pacing = ThinkTime(pacing.rest_ns)
    return msgspec.structs.replace(
        stimulus,
        block_sizes=tuple(
            BlockSize(size.block_size_bytes, weight) for size, weight in zip(sizes, size_weights, strict=True)
        ),
        operations=OperationWeights(*least(list(operations))),
        active_range=ActiveRange(start, end),
        alignment_bytes=alignment,
        pacing=pacing,
        data=data,
    )


@given(steps())
def test_a_step_that_is_written_as_a_job_file_is_read_back_as_the_same_step(step) -> None:
    try:
        text = job_file(step, SETTING, DRIVE)
    except UsageError:
        assume(False)
    # threads that are not alike have a section each
    assume(all(f".{thread}]" not in text for thread in range(1, 5)))
    (read,) = read_back(text)
    assert normal(read) == normal(step)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(steps(), min_size=1, max_size=3))
def test_jobs_read_written_and_read_again_are_the_same_steps(made) -> None:
    try:
        first = read_back(flattened([job_file(step, SETTING, DRIVE) for step in made]))
        written = flattened([job_file(step, SETTING, DRIVE) for step in first])
    except UsageError:
        assume(False)
    assert [normal(step) for step in read_back(written)] == [normal(step) for step in first]
