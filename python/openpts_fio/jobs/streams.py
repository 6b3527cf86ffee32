"""A job as streams: one where a stimulus has all of it, else one for each direction or thread."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from openpts.fields.fio_values import WRITE
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import (
    Capped,
    CapUnit,
    ClosedLoop,
    IoPriority,
    OperationWeights,
    Pacing,
    PriorityClass,
    Stimulus,
    Stream,
)
from openpts_fio.jobs.data import data_of_job
from openpts_fio.jobs.directions import Direction, directions_of_job
from openpts_fio.jobs.endings import Ending, ending_of
from openpts_fio.jobs.job import Job
from openpts_fio.jobs.pacing import paces_of, queue_depth
from openpts_fio.jobs.places import ThreadsRange, parts_of_job

_CLASSES: Final = {1: PriorityClass.REALTIME, 2: PriorityClass.BEST_EFFORT, 3: PriorityClass.IDLE}
_LOWEST_LEVEL: Final = 7
_MOST_HANDLE: Final = 65_535


class JobStream(Struct, frozen=True):
    """A stream without its stop rule, what ends it, and the bytes of its range.

    ``half_of``: the job whose reads or writes alone it has, in a ratio to the others.
    """

    stream: Stream
    ending: Ending
    pass_bytes: int
    half_of: Job | None = None


def streams_of_job(job: Job, target: TargetFacts) -> tuple[JobStream, ...]:
    """What the job issues on that target. Raises JobError."""
    _check_direct(job)
    directions = directions_of_job(job)
    return tuple(_Streams(job, directions, target).all())


def _check_direct(job: Job) -> None:
    if job.given("direct") is None and job.given("buffered") is None:
        job.note("direct", "I/O is direct, as all of openpts is")
    elif job.flag("buffered") or (job.is_given("direct") and not job.flag("direct")):
        name = "buffered" if job.flag("buffered") else "direct"
        raise job.error(name, "openpts measures drives, and not the page cache: use direct=1")


class _Streams:
    """The parts of one job's streams."""

    def __init__(self, job: Job, directions: tuple[Direction, ...], target: TargetFacts) -> None:
        self.job = job
        self.target = target
        self.depth = queue_depth(job, directions)
        self.data = data_of_job(job, directions)
        self.priority = _priority(job)
        self.delay_ns = job.time_ns("startdelay")
        self.name = job.text("name", job.section.name)
        self.flow = job.number("flow", 0)
        self.parts = parts_of_job(job, directions, target)
        threads = sum(part.tc for part in self.parts)
        # of all threads: a part has its share of the rates
        self.paces = paces_of(job, directions, self.depth, threads // len(self.parts))
        weights = self.paces.weights or tuple(one.weight for one in directions)
        self.directions = tuple(
            replace(one, weight=weight) for one, weight in zip(directions, weights, strict=True)
        )

    def all(self) -> Iterator[JobStream]:
        """A stream for each part, or for each direction in each."""
        for number, part in enumerate(self.parts, start=1):
            name = self.name if len(self.parts) == 1 else f"{self.name}.{number}"
            ending = ending_of(self.job, self.directions, part)
            if self.paces.together is not None and self._is_one_stimulus():
                stimulus = self._stimulus(self.directions, part, self.paces.together, self.depth)
                stream = self._stream(stimulus, name, self.flow * part.tc)
                yield JobStream(stream, ending, part.end - part.start)
            else:
                yield from self._split(part, name, ending)

    def _is_one_stimulus(self) -> bool:
        """A sequence of openpts has reads and writes in it; fio has one for each."""
        alike = len({one.where_and_how_much for one in self.directions}) == 1
        in_sequence = any(one.random_pct < 100 for one in self.directions)
        return len(self.directions) == 1 or (alike and not in_sequence)

    def _split(self, part: ThreadsRange, name: str, ending: Ending) -> Iterator[JobStream]:
        """A stream for reads and one for writes: each with its rate, or in the ratio of the mix."""
        if not ending.is_timed:
            raise self.job.error(
                "rw",
                "reads and writes of unlike sizes, order, places or rates have one amount: "
                "use time_based and runtime, or write a job for each",
            )
        paces = self.paces.apart or (ClosedLoop(),) * len(self.directions)
        for one, pacing, depth, share in zip(
            self.directions, paces, self._depths(), self._shares(), strict=True
        ):
            stimulus = self._stimulus((one,), part, pacing, depth)
            stream = self._stream(stimulus, f"{name}.{one.operation}", share)
            yield JobStream(stream, ending, part.end - part.start, self.job if share else None)

    def _depths(self) -> Iterable[int]:
        """With rates of their own, both have the job's queue depth; in a ratio, each its part of it."""
        if self.paces.apart:
            self.job.note("rw", "is a stream for reads and one for writes, each with the job's queue depth")
            return (self.depth,) * len(self.directions)
        if not isinstance(self.paces.together, ClosedLoop) or self.depth < len(self.directions):
            raise self.job.error(
                "rw",
                "reads and writes of unlike sizes, order or places follow each other in one queue: "
                "give each a rate, or write a job for each",
            )
        self.job.note("rw", "is a stream for reads and one for writes, in the ratio of the mix")
        first, second = (one.weight for one in self.directions)
        depth = min(max(1, round(self.depth * first / (first + second))), self.depth - 1)
        return depth, self.depth - depth

    def _shares(self) -> tuple[int, ...]:
        if self.flow:
            raise self.job.error("flow", "of a job whose reads and writes are two streams")
        return (0, 0) if self.paces.apart else tuple(one.weight for one in self.directions)

    def _stimulus(
        self, directions: Sequence[Direction], part: ThreadsRange, pacing: Pacing, depth: int
    ) -> Stimulus:
        first, operations = directions[0], _operations(self.job, directions)
        return Stimulus(
            random_pct=first.random_pct,
            block_sizes=first.block_sizes,
            operations=operations,
            tc=part.tc,
            qd=depth,
            active_range=part.active_range(self.target),
            placement=first.placement,
            alignment_bytes=first.alignment_bytes,
            stride_bytes=first.stride_bytes,
            pacing=_with_syncs(pacing, operations),
            data=self.data,
            placement_handle=_placement_handle(self.job) if operations.write else UNSET,
        )

    def _stream(self, stimulus: Stimulus, name: str, share: int) -> Stream:
        return Stream(stimulus, name, self.delay_ns, None, self.priority, share)


def _operations(job: Job, directions: Sequence[Direction]) -> OperationWeights:
    """The weights, with fsyncs and flushes after so many writes."""
    weights = {one.operation: one.weight for one in directions}
    writes = weights.get(WRITE, 0)
    syncs = {
        operation: every
        for operation, option in (("fsync", "fsync"), ("flush", "fdatasync"))
        if (every := job.number(option, 0))
    }
    if not writes or not syncs:
        return OperationWeights(**weights)
    if len(syncs) > 1:
        raise job.error("fdatasync", "beside fsync")
    ((operation, every),) = syncs.items()
    if writes % every:
        weights = {name: weight * every for name, weight in weights.items()}
    return OperationWeights(**weights, **{operation: weights[WRITE] // every})


def _with_syncs(pacing: Pacing, operations: OperationWeights) -> Pacing:
    """Our cap counts fsyncs and flushes, fio's doesn't."""
    syncs = operations.flush + operations.fsync
    if not syncs or not isinstance(pacing, Capped) or pacing.unit is not CapUnit.IOS:
        return pacing
    transfers = operations.read + operations.write
    return Capped(pacing.per_s * (transfers + syncs) / transfers, pacing.unit)


def _placement_handle(job: Job) -> int | UnsetType:
    """The one of ``plids``, where ``fdp`` or ``dataplacement`` asks for it. Raises JobError."""
    asking = job.later("fdp", "dataplacement")
    if asking is None or (asking == "fdp" and not job.flag("fdp")):
        return UNSET
    if asking == "dataplacement" and (scheme := job.text(asking, "none")) != "fdp":
        if scheme == "none":
            return UNSET
        raise job.error(asking, "openpts names placement handles alone: use dataplacement=fdp")
    if not job.is_given("plids") or "," in job.text("plids", ""):
        at = "plids" if job.is_given("plids") else asking
        raise job.error(
            at, "openpts gives a stream one placement handle: name it by plids, in a job for each"
        )
    if (handle := job.number("plids", 0)) > _MOST_HANDLE:
        raise job.error("plids", f"is above {_MOST_HANDLE:,}")
    return handle


def _priority(job: Job) -> IoPriority | None:
    """Class and level, if any is given; a level alone is of the class best effort."""
    if not job.is_given("prio") and not job.is_given("prioclass"):
        return None
    level, number = job.number("prio", 0), job.number("prioclass", 2)
    if number not in _CLASSES:
        raise job.error("prioclass", "is none of 1, 2 and 3")
    if level > _LOWEST_LEVEL:
        raise job.error("prio", f"is above {_LOWEST_LEVEL}")
    return IoPriority(_CLASSES[number], level)
