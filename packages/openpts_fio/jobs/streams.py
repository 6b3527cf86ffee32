"""What a job writes, and whether what it reads is checked."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from openpts.units import NS_PER_S, NS_PER_US
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import (
    Batches,
    ByteAmount,
    Capped,
    CapUnit,
    ClosedLoop,
    DataPattern,
    Duration,
    IoCount,
    IoPriority,
    OperationWeights,
    Pacing,
    PatternData,
    Poisson,
    PriorityClass,
    RandomData,
    RandomOnce,
    ReducibleData,
    Steady,
    SteadyFigure,
    Stimulus,
    Stream,
    ThinkTime,
    VerifiedData,
    ZeroData,
)
from openpts_fio.jobs.directions import Direction, ThreadsRange, directions_of_job, parts_of_job
from openpts_fio.jobs.job_file import Job
from openpts_io.fio_values import TRIM, WRITE

_MOST_PATTERN_BYTES: Final = 512
_GENERATION: Final = 1
_HEXADECIMAL: Final = re.compile(r"0[xX]([0-9a-fA-F]+)")
_CHECKSUMS: Final = (
    *("crc7", "crc16", "crc32", "crc32c", "crc32c-intel", "crc64", "md5", "meta", "xxhash"),
    *("sha1", "sha256", "sha512", "sha3-224", "sha3-256", "sha3-384", "sha3-512"),
)


def is_verified(job: Job) -> bool:
    """Whether the job checks data. Raises JobError where it does so in another sense."""
    checksum = job.text("verify", "0")
    if checksum in {"0", "null"}:
        return False
    if checksum not in _CHECKSUMS:
        raise job.error("verify", f"is none of {', '.join(_CHECKSUMS)}")
    return True


def data_of_job(job: Job, directions: tuple[Direction, ...]) -> DataPattern:
    """What it writes; random data where it writes nothing. Raises JobError."""
    if is_verified(job):
        return VerifiedData(_GENERATION)
    if all(one.operation != "write" for one in directions):
        return RandomData()
    if job.flag("zero_buffers"):
        return ZeroData()
    if job.option("buffer_pattern") is not None:
        return _pattern(job)
    compressed_pct = job.number("buffer_compress_percentage", 0)
    duplicate_pct = job.number("dedupe_percentage", 0)
    if duplicate_pct and job.text("dedupe_mode", "repeat") != "repeat":
        raise job.error("dedupe_mode", "openpts repeats blocks, and has no set that duplicates are drawn of")
    for name, pct in (("buffer_compress_percentage", compressed_pct), ("dedupe_percentage", duplicate_pct)):
        if pct > 100:
            raise job.error(name, "is above 100")
    if compressed_pct or duplicate_pct:
        return _reducible(job, directions, compressed_pct, duplicate_pct)
    if job.flag("refill_buffers") or job.flag("scramble_buffers", default=True):
        return RandomData()
    return RandomOnce()


def _reducible(
    job: Job, directions: tuple[Direction, ...], compressed_pct: int, duplicate_pct: int
) -> ReducibleData:
    smallest_bytes = min(one.smallest_bytes for one in directions if one.operation == "write")
    chunk_bytes = min(job.number("buffer_compress_chunk", 0) or smallest_bytes, smallest_bytes)
    if duplicate_pct and chunk_bytes != smallest_bytes:
        raise job.error("dedupe_percentage", "of blocks, beside compressible parts of blocks")
    return ReducibleData(100 - compressed_pct, duplicate_pct, chunk_bytes)


def _pattern(job: Job) -> DataPattern:
    """``0xdeadbeef`` or ``"text"``. Raises JobError."""
    text = job.text("buffer_pattern", "")
    if text.startswith('"') and text.endswith('"') and len(text) > 2:
        pattern = text[1:-1].encode()
    elif (found := _HEXADECIMAL.fullmatch(text)) and len(found[1]) % 2 == 0:
        pattern = bytes.fromhex(found[1])
    else:
        raise job.error("buffer_pattern", 'is neither 0x with an even number of digits nor "text"')
    if len(pattern) > _MOST_PATTERN_BYTES:
        raise job.error("buffer_pattern", f"is longer than {_MOST_PATTERN_BYTES} bytes")
    return PatternData(pattern)


_FIGURES: Final = {"iops": SteadyFigure.IOPS, "bw": SteadyFigure.THROUGHPUT}
_ANY_PCT: Final = 1e9


class StreamEnd(Struct, frozen=True):
    """What ends one stream; None for what doesn't."""

    duration_ns: int | None = None
    amount_bytes: int | None = None
    ios: int | None = None

    @property
    def is_timed(self) -> bool:
        """Whether time alone ends it."""
        return self.duration_ns is not None and self.amount_bytes is None and self.ios is None

    def later(self, late_ns: int) -> "StreamEnd":
        """The same, with times that count from so much earlier."""
        return self if self.duration_ns is None else replace(self, duration_ns=self.duration_ns + late_ns)

    def rules(self) -> tuple[Duration | ByteAmount | IoCount, ...]:
        """All that may end it."""
        time = () if self.duration_ns is None else (Duration(self.duration_ns),)
        amount = () if self.amount_bytes is None else (ByteAmount(self.amount_bytes),)
        return (*time, *amount, *(() if self.ios is None else (IoCount(self.ios),)))


def ending_of(job: Job, directions: Sequence[Direction], part: ThreadsRange) -> StreamEnd:
    """When the threads of a part end: by time, by amount, by number, or by the first of them."""
    runtime_ns = job.time_ns("runtime")
    if job.flag("time_based") and runtime_ns:
        return StreamEnd(runtime_ns)
    loops, count = job.number("loops", 1), job.number("number_ios", 0)
    if loops < 1:
        raise job.error("loops", "is below 1")
    largest = max(one.largest_bytes for one in directions)
    amount_bytes: int | None = part.amount_bytes * loops * part.tc
    ios = count * loops * part.tc or None
    if ios is not None and amount_bytes is not None and ios * largest <= amount_bytes:
        amount_bytes = None
    return StreamEnd(runtime_ns or None, amount_bytes, ios)


def steady_of(job: Job) -> Steady | None:
    """The steady state that ends it; None without one. Raises JobError.

    fio's slope is that from one window to the next, ours that over all windows. Its other rule limits how
    far a window is from the mean, ours how far any two are from each other: that is stricter.
    """
    window_ns = job.time_ns("steadystate_check_interval") or NS_PER_S
    windows = job.time_ns("steadystate_duration") // window_ns
    if not windows:
        return None
    name, _, limit = job.text("steadystate", "iops_slope:0.01%").partition(":")
    figure, _, slope = name.partition("_")
    if figure not in _FIGURES or slope not in {"", "slope"}:
        raise job.error("steadystate", "is none of iops, iops_slope, bw, bw_slope")
    try:
        pct = float(limit.removesuffix("%"))
    except ValueError:
        pct = math.nan
    if not limit.endswith("%") or not 0 <= pct < math.inf:
        raise job.error("steadystate", "is no limit in per cent of the mean, which alone openpts has")
    if windows < 2:
        raise job.error("steadystate_duration", "is less than two windows of steadystate_check_interval")
    if slope:
        return Steady(_FIGURES[figure], window_ns, windows, _ANY_PCT, pct * (windows - 1))
    job.note("steadystate", f"the range of the windows within {pct:g} % of the mean, which is stricter")
    return Steady(_FIGURES[figure], window_ns, windows, pct, _ANY_PCT)


_ONE_BY_ONE: Final = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "sg"})
_QUEUED: Final = frozenset({"libaio", "io_uring", "io_uring_cmd", "posixaio", "linuxaio"})
_QUEUES_TRIMS: Final = frozenset({"io_uring_cmd"})
_MOST_CARDS: Final = 10_000


def queue_depth(job: Job, directions: Sequence[Direction]) -> int:
    """What each thread keeps outstanding with that ioengine. Raises JobError."""
    engine, depth = job.text("ioengine", "psync"), job.number("iodepth", 1)
    if engine not in _QUEUED | _ONE_BY_ONE:
        raise job.error("ioengine", "is no engine that does I/O on a block device as openpts does")
    if depth < 1:
        raise job.error("iodepth", "is below 1")
    if depth > 1 and engine in _ONE_BY_ONE:
        job.note("iodepth", f"is 1 with ioengine={engine}, as in fio")
        return 1
    if depth > 1 and engine not in _QUEUES_TRIMS and any(one.operation == TRIM for one in directions):
        job.note("iodepth", f"is 1 for trims with ioengine={engine}, as in fio")
        return 1
    return depth


class PacingRates(Struct, frozen=True):
    """The pacing of all directions together, or of each: fio's rates hold per direction.

    ``weights``: what share of the I/Os each has, where the rates of both decide it.
    """

    together: Pacing | None
    apart: tuple[Pacing, ...] = ()
    weights: tuple[int, ...] = ()


def paces_of(job: Job, directions: Sequence[Direction], depth: int, threads: int) -> PacingRates:
    """The pacing of ``threads`` threads, with the rests of ``thinktime``. Raises JobError."""
    rates = _paces_of_rates(job, directions, threads)
    think_ns, blocks = job.time_ns("thinktime", NS_PER_US), job.number("thinktime_blocks", 1)
    if not think_ns:
        return rates
    if blocks < 1:
        raise job.error("thinktime_blocks", "is below 1")
    if depth > blocks and job.text("thinktime_blocks_type", "complete") == "complete":
        raise job.error(
            "thinktime_blocks",
            f"is below iodepth, {depth}: what fio then issues before a rest depends on the drive; "
            "use thinktime_blocks_type=issue",
        )
    if isinstance(rates.together, Capped):
        return replace(rates, together=Batches(blocks, think_ns, rates.together))
    if not isinstance(rates.together, ClosedLoop):
        raise job.error("thinktime", "with a rate that reads and writes have apart, or with random arrivals")
    return PacingRates(ThinkTime(think_ns) if blocks == depth == 1 else Batches(blocks, think_ns))


def _paces_of_rates(job: Job, directions: Sequence[Direction], threads: int) -> PacingRates:
    rates = _rates(job, directions, threads)
    caps = [rate for rate in rates if rate is not None]
    if not caps:
        return PacingRates(ClosedLoop())
    apart = tuple(_pacing(job, rate, one) for rate, one in zip(rates, directions, strict=True))
    if len(apart) == 1:
        return PacingRates(apart[0])
    return _one_pace(job, directions, caps) or PacingRates(None, apart)


def _one_pace(job: Job, directions: Sequence[Direction], rates: Sequence[Capped]) -> PacingRates | None:
    """One cap for a mix that is alike in all directions: its weights are the rates."""
    alike = len({one.where_and_how_much for one in directions}) == 1
    in_sequence = any(one.random_pct < 100 for one in directions)
    if len(rates) < len(directions) or not alike or in_sequence or _is_poisson(job):
        return None
    if sum(_weights(directions, rates)) > _MOST_CARDS:
        return None
    return PacingRates(
        Capped(sum(rate.per_s for rate in rates), rates[0].unit), weights=_weights(directions, rates)
    )


def _weights(directions: Sequence[Direction], rates: Sequence[Capped]) -> tuple[int, ...]:
    """Weights of the job's own mix where the rates agree with it to the unit, or else those of the rates."""
    (first, second), (one, other) = (rate.per_s for rate in rates), (each.weight for each in directions)
    if abs(first * other - second * one) <= max(one, other):
        return one, other
    common = math.gcd(int(first), int(second))
    return int(first) // common, int(second) // common


def _rates(job: Job, directions: Sequence[Direction], threads: int) -> list[Capped | None]:
    """The cap of each direction, all threads together; None without one."""
    named = {CapUnit.IOS: job.numbers("rate_iops"), CapUnit.BYTES: job.numbers("rate")}
    if all(any(rates.values()) for rates in named.values()):
        raise job.error("rate_iops", "beside rate: fio takes one of them")
    return [_cap(one, named, threads) for one in directions]


def _cap(direction: Direction, rates: Mapping[CapUnit, Mapping[str, int]], threads: int) -> Capped | None:
    """fio counts IOPS of several sizes in units of the smallest, which makes them bytes."""
    per_s, bytes_per_s = (rates[unit].get(direction.operation, 0) * threads for unit in CapUnit)
    if per_s and len(direction.block_sizes) > 1:
        return Capped(float(per_s * direction.smallest_bytes), CapUnit.BYTES)
    if per_s:
        return Capped(float(per_s), CapUnit.IOS)
    return Capped(float(bytes_per_s), CapUnit.BYTES) if bytes_per_s else None


def _is_poisson(job: Job) -> bool:
    process = job.text("rate_process", "linear")
    if process not in {"linear", "poisson"}:
        raise job.error("rate_process", "is neither linear nor poisson")
    return process == "poisson"


def _pacing(job: Job, rate: Capped | None, direction: Direction) -> Pacing:
    if rate is None:
        return ClosedLoop()
    if not _is_poisson(job):
        return rate
    if len(direction.block_sizes) > 1:
        raise job.error("rate_process", "with several sizes: fio draws arrivals for the smallest")
    job.note("rate_process", "latency counts from the planned moment, and not from the submission")
    per_s = rate.per_s if rate.unit is CapUnit.IOS else rate.per_s / direction.smallest_bytes
    return Poisson(per_s)


_CLASSES: Final = {1: PriorityClass.REALTIME, 2: PriorityClass.BEST_EFFORT, 3: PriorityClass.IDLE}
_LOWEST_LEVEL: Final = 7
_MOST_HANDLE: Final = 65_535


class JobStream(Struct, frozen=True):
    """A stream without its stop rule, what ends it, and the bytes of its range.

    ``half_of``: the job whose reads or writes alone it has, in a ratio to the others.
    """

    stream: Stream
    ending: StreamEnd
    pass_bytes: int
    half_of: Job | None = None


def streams_of_job(job: Job, target: TargetFacts) -> tuple[JobStream, ...]:
    """What the job issues on that target. Raises JobError."""
    _check_direct(job)
    directions = directions_of_job(job)
    _check_sectors(job, directions, target.sector_bytes)
    return tuple(_Streams(job, directions, target).all())


def _check_direct(job: Job) -> None:
    if job.option("direct") is None and job.option("buffered") is None:
        job.note("direct", "I/O is direct, as all of openpts is")
    elif job.flag("buffered") or (job.has("direct") and not job.flag("direct")):
        name = "buffered" if job.flag("buffered") else "direct"
        raise job.error(name, "openpts measures drives, and not the page cache: use direct=1")


def _check_sectors(job: Job, directions: Sequence[Direction], sector_bytes: int) -> None:
    """Raises JobError for a size, an alignment or a hole that direct I/O can't have on that target."""
    sizes = [size.block_size_bytes for one in directions for size in one.block_sizes]
    named_by = next((name for name in ("bssplit", "bsrange") if job.has(name)), "bs")
    hint = "; openpts check --for commit measures small writes that are flushed"
    is_commit = any(job.has(name) for name in ("fsync", "fdatasync"))
    for name, values in (
        (named_by, sizes),
        ("ba", [one.alignment_bytes or 0 for one in directions]),
        ("rw", [one.stride_bytes or 0 for one in directions]),
    ):
        for number in values:
            if number % sector_bytes:
                reason = f"{number:,} B is no multiple of the sector, {sector_bytes:,} B"
                raise job.error(name, reason + (hint if is_commit else ""))


class _Streams:
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

    def _split(self, part: ThreadsRange, name: str, ending: StreamEnd) -> Iterator[JobStream]:
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
            atomic=True if operations.write and self.job.flag("atomic") else UNSET,
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
    if isinstance(pacing, Batches) and pacing.cap is not None:
        return replace(pacing, cap=_with_syncs(pacing.cap, operations))
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
    if not job.has("plids") or "," in job.text("plids", ""):
        at = "plids" if job.has("plids") else asking
        raise job.error(
            at, "openpts gives a stream one placement handle: name it by plids, in a job for each"
        )
    if job.text("plid_select", "random") == "scheme":
        raise job.error(
            "plid_select", "openpts reads no file of handles: name one by plids, in a job for each"
        )
    if (handle := job.number("plids", 0)) > _MOST_HANDLE:
        raise job.error("plids", f"is above {_MOST_HANDLE:,}")
    return handle


def _priority(job: Job) -> IoPriority | None:
    """Class and level, if any is given; a level alone is of the class best effort."""
    if not job.has("prio") and not job.has("prioclass"):
        return None
    level, number = job.number("prio", 0), job.number("prioclass", 2)
    if number not in _CLASSES:
        raise job.error("prioclass", "is none of 1, 2 and 3")
    if level > _LOWEST_LEVEL:
        raise job.error("prio", f"is above {_LOWEST_LEVEL}")
    return IoPriority(_CLASSES[number], level)
