"""Steps of several unlike streams."""

from openpts.units import KIB, MIB, NS_PER_MS
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    BlockSize,
    Duration,
    FixedRate,
    IoCount,
    IoPriority,
    OperationWeights,
    Poisson,
    PriorityClass,
    Step,
    Stimulus,
    Stream,
    Zone,
    Zones,
)

READER = Stimulus(
    random_pct=100,
    block_sizes=(BlockSize(4 * KIB, 3), BlockSize(16 * KIB)),
    operations=OperationWeights(read=1),
    tc=2,
    qd=4,
    placement=Zones((Zone(1, 10), Zone(3, 90))),
)
WRITER = Stimulus(
    random_pct=0,
    block_sizes=(BlockSize(128 * KIB),),
    operations=OperationWeights(write=9, flush=1),
    tc=1,
    qd=2,
    pacing=FixedRate(900),
)
TRIMMER = Stimulus(
    random_pct=100,
    block_sizes=(BlockSize(MIB),),
    operations=OperationWeights(trim=1),
    tc=1,
    qd=1,
    pacing=Poisson(50),
)

BESIDE = Step(
    (
        Stream(READER, "reader"),
        Stream(WRITER, "writer", priority=IoPriority(PriorityClass.BEST_EFFORT, 7)),
        Stream(TRIMMER, "trimmer", stop=Duration(200 * NS_PER_MS)),
    ),
    Duration(400 * NS_PER_MS),
)
ENDING = Step(
    (
        Stream(READER, "reader", stop=IoCount(500), share=3),
        Stream(WRITER, "writer", delay_ns=50 * NS_PER_MS, stop=Duration(100 * NS_PER_MS), share=2),
    ),
    STREAMS_END,
)
DELAYED = Step((Stream(READER, "late", delay_ns=10 * NS_PER_MS),), Duration(60 * NS_PER_MS))
PLAIN = Step.of(READER, Duration(60 * NS_PER_MS))
STEPS = (BESIDE, ENDING, DELAYED, PLAIN)
