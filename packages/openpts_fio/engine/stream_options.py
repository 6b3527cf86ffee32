"""A stream in fio's options: what its I/Os do, where they go, when they end; and what fio cannot do.

Fio knows no limit for all threads together: an amount is dealt out to the threads beforehand. A run time is
written in microseconds: fio reads ``runtime=0.5`` as no limit, and with ``time_based`` it takes no notice of
``number_ios``. It counts each job's run time and ramp-up from the job's own start.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from openpts.engine.program import active_bytes
from openpts.errors import UsageError
from openpts.units import NS_PER_US
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Normal,
    Pareto,
    Segments,
    Step,
    Stimulus,
    StopRule,
    Stream,
    Uniform,
    UniqueLbas,
    Zipf,
    Zone,
    Zones,
)


def refusal(what: str, because: str = "") -> UsageError:
    """The error that says that fio has no such thing, and why what it has instead is not the same."""
    return UsageError(f"fio has no {what}{f': {because}' if because else ''}")


def whole_pcts(what: str, weights: Sequence[int]) -> tuple[int, ...]:
    """Weights in per cent of their sum. Raises UsageError unless all are whole, as fio has no others."""
    total = sum(weights)
    if total <= 0:
        raise UsageError(f"the {what} weigh nothing")
    if any(100 * weight % total for weight in weights):
        shares = ", ".join(f"{100 * weight / total:.4g} %" for weight in weights)
        raise refusal(f"fractions of a per cent for {what}", shares)
    return tuple(100 * weight // total for weight in weights)


FioOptions = dict[str, str]

_LAST_ACCESS: Final = "after a random access its sequential ones continue from there"
_TWO_STREAMS: Final = "its reads and its writes each follow a sequence of their own"


def operation_options(stimulus: Stimulus, target: TargetFacts) -> FioOptions:
    """``rw`` and what goes with it. Raises UsageError on mixes that fio has not."""
    operations = stimulus.operations
    if operations.trim:
        return _trim(stimulus, target)
    if not operations.read and not operations.write:
        raise refusal("flushes or fsyncs without writes")
    if not operations.write:
        return {"rw": _in_order(stimulus, "read")} | _syncs(stimulus, target)
    if not operations.read:
        return {"rw": _in_order(stimulus, "write")} | _syncs(stimulus, target)
    read_pct, _ = whole_pcts("reads and writes", (operations.read, operations.write))
    options = {"rw": _in_order(stimulus, "rw"), "rwmixread": str(read_pct)}
    return options | _syncs(stimulus, target)


def _trim(stimulus: Stimulus, target: TargetFacts) -> FioOptions:
    operations = stimulus.operations
    if operations.read or operations.write or operations.flush or operations.fsync:
        raise refusal("trims mixed with other operations")
    if target.kind is TargetKind.FILE:
        raise refusal("trims on files")
    if stimulus.qd > 1:
        raise refusal("trims at a queue depth above 1", "it waits for each of them")
    return {"rw": _in_order(stimulus, "trim")}


def _in_order(stimulus: Stimulus, direction: str) -> str:
    match stimulus.access_pattern:
        case AccessPattern.MIXED:
            raise refusal("mix of random and sequential accesses with a sequence of its own", _LAST_ACCESS)
        case AccessPattern.RANDOM:
            return f"rand{direction}"
        case AccessPattern.SEQUENTIAL:
            if direction == "rw":
                raise refusal("one sequence of reads and writes", _TWO_STREAMS)
            return f"{direction}{_hole(stimulus)}"


def _hole(stimulus: Stimulus) -> str:
    """What fio leaves out behind each sequential access, as its ``rw`` option takes it."""
    if stimulus.stride_bytes is None:
        return ""
    if len(stimulus.block_sizes) > 1:
        raise refusal("strides with several block sizes", "it has a distance from end to start only")
    hole_bytes = stimulus.stride_bytes - stimulus.block_size_bytes
    if hole_bytes < 0:
        raise refusal("strides shorter than a block", "it would run backwards")
    return f":{hole_bytes}" if hole_bytes else ""


def _syncs(stimulus: Stimulus, target: TargetFacts) -> FioOptions:
    operations = stimulus.operations
    if not operations.flush and not operations.fsync:
        return {}
    if operations.flush and operations.fsync:
        raise refusal("flushes and fsyncs in one mix", "it counts them together")
    if operations.read:
        raise refusal("flushes or fsyncs mixed with reads", "it counts the writes between two of them")
    syncs = operations.flush or operations.fsync
    if operations.write % syncs:
        raise refusal(
            "flush or fsync after a fraction of a write",
            f"{operations.write} writes for {syncs} are not a whole number for each",
        )
    # On a drive both are the same command.
    on_a_file = target.kind is TargetKind.FILE
    name = "fdatasync" if operations.flush and on_a_file else "fsync"
    return {name: str(operations.write // syncs)}


def sync_name(stimulus: Stimulus) -> str:
    """What fio's syncs are in our words: the operation that they are counted as."""
    return "flush" if stimulus.operations.flush else "fsync"


def block_size_options(stimulus: Stimulus, sector_bytes: int) -> FioOptions:
    """``bs``, or ``bssplit`` for a mix. Raises UsageError on a size that is no multiple of the sector."""
    for size in stimulus.block_sizes:
        if size.block_size_bytes <= 0 or size.block_size_bytes % sector_bytes:
            raise UsageError(
                f"block size {size.block_size_bytes} B is not a multiple of the sector size {sector_bytes} B"
            )
    if len(stimulus.block_sizes) == 1:
        return {"bs": str(stimulus.block_size_bytes)}
    pcts = whole_pcts("block sizes", [size.weight for size in stimulus.block_sizes])
    parts = [f"{s.block_size_bytes}/{pct}" for s, pct in zip(stimulus.block_sizes, pcts, strict=True)]
    return {"bssplit": ":".join(parts)}


_PAGE_BYTES: Final = 4096
# fio sums no more terms of the zeta function, so that its zipf is another one on more places
_MOST_ZIPF_PLACES: Final = 10_000_000


class ThreadRange(Struct, frozen=True):
    """The bytes that one thread accesses."""

    offset_bytes: int
    size_bytes: int


def parts(stimulus: Stimulus, target: TargetFacts) -> tuple[ThreadRange, ...]:
    """One part for each thread: the whole range at random, tiles of it in sequence.

    A part holds whole blocks. What is left at the end of a sequence is less than one. Raises UsageError
    where the range does not hold a block for each thread.
    """
    if stimulus.tc < 1 or stimulus.qd < 1:
        raise UsageError(f"TC {stimulus.tc} x QD {stimulus.qd} is less than one outstanding I/O")
    start, end = active_bytes(stimulus, target)
    if stimulus.access_pattern is AccessPattern.RANDOM:
        first = _next_multiple(start, alignment_bytes(stimulus, target))
        found = tuple(ThreadRange(first, end - first) for _ in range(stimulus.tc))
    else:
        found = _tiles(stimulus, start, end)
    if min(part.size_bytes for part in found) < stimulus.block_size_bytes:
        raise UsageError(
            f"a range of {end - start} B has no block of {stimulus.block_size_bytes} B for each thread"
        )
    return found


def alignment_bytes(stimulus: Stimulus, target: TargetFacts) -> int:
    """What random offsets are multiples of. Raises UsageError where it is not the same for all sizes."""
    if stimulus.alignment_bytes is not None:
        return stimulus.alignment_bytes
    aligned_to_pages = {size.block_size_bytes >= _PAGE_BYTES for size in stimulus.block_sizes}
    if len(aligned_to_pages) > 1:
        raise refusal("alignment of its own for each block size", "name one for all of them")
    return _PAGE_BYTES if aligned_to_pages == {True} else target.sector_bytes


def placement_options(stimulus: Stimulus, target: TargetFacts) -> FioOptions:
    """Alignment and distribution of random accesses; nothing for a sequence."""
    if stimulus.access_pattern is not AccessPattern.RANDOM:
        return {}
    alignment = alignment_bytes(stimulus, target)
    if alignment <= 0 or alignment % target.sector_bytes:
        raise UsageError(
            f"alignment {alignment} B is not a multiple of the sector size {target.sector_bytes} B"
        )
    return {"blockalign": str(alignment)} | _distribution(stimulus, target)


def _distribution(stimulus: Stimulus, target: TargetFacts) -> FioOptions:
    match stimulus.placement:
        case Uniform():
            return {}
        case Zones(zones):
            return {"random_distribution": f"zoned:{_zones(zones)}"}
        case Zipf(theta):
            if theta == 1:
                raise refusal("zipf of exponent 1")
            if _scattered_places(stimulus, target, "zipf") > _MOST_ZIPF_PLACES:
                raise refusal(f"zipf over more than {_MOST_ZIPF_PLACES:,} places")
            return {"random_distribution": f"zipf:{theta:.17g}"}
        case Pareto(h):
            _scattered_places(stimulus, target, "pareto")
            return {"random_distribution": f"pareto:{h:.17g}"}
        case Normal():
            raise refusal("normal hot spot", "it scatters its normal distribution over the whole range")
        case Segments():
            raise refusal("LBA segments")
        case UniqueLbas():
            raise refusal("limit of the unique LBAs")


def _zones(zones: tuple[Zone, ...]) -> str:
    accesses = whole_pcts("accesses to zones", [zone.weight for zone in zones])
    if any(zone.range_pct != int(zone.range_pct) for zone in zones):
        raise refusal("zones of a fraction of a per cent")
    if sum(zone.range_pct for zone in zones) != 100:
        raise UsageError("the zones' shares of the range do not sum to 100 %")
    return ":".join(f"{pct}/{zone.range_pct:.0f}" for pct, zone in zip(accesses, zones, strict=True))


def _scattered_places(stimulus: Stimulus, target: TargetFacts, name: str) -> int:
    """Places among which fio scatters the hot ones; it does so as we mean it in one case only."""
    if stimulus.tc > 1:
        raise refusal(f"{name} with the same hot places for several threads")
    if {size.block_size_bytes for size in stimulus.block_sizes} != {alignment_bytes(stimulus, target)}:
        raise refusal(f"{name} of blocks that are not aligned to their size", "it counts places in blocks")
    (part,) = parts(stimulus, target)
    places = part.size_bytes // stimulus.block_size_bytes
    if places & (places - 1):
        raise refusal(
            f"{name} over {places:,} places", "unless they are a power of two its hash lets some coincide"
        )
    return places


def _tiles(stimulus: Stimulus, start: int, end: int) -> tuple[ThreadRange, ...]:
    """The same tiles as the native engine's: as many whole strides or largest blocks for each thread."""
    unit = stimulus.stride_bytes or stimulus.block_size_bytes
    smallest = _smallest_bytes(stimulus)
    if any(size.block_size_bytes % smallest for size in stimulus.block_sizes):
        raise refusal("sequence of sizes that are no multiples of the smallest")
    units = -(-(end - start) // unit)
    edges = [min(start + units * thread // stimulus.tc * unit, end) for thread in range(stimulus.tc + 1)]
    # fio reads a block beyond the end of a part that does not hold whole ones.
    return tuple(ThreadRange(first, (last - first) // smallest * smallest) for first, last in pairwise(edges))


def _smallest_bytes(stimulus: Stimulus) -> int:
    return min(size.block_size_bytes for size in stimulus.block_sizes)


def _next_multiple(value: int, of: int) -> int:
    return -(-value // of) * of if of > 0 else value


def ending_options(
    step: Step, stream: Stream, parts: Sequence[ThreadRange], target: TargetFacts
) -> tuple[FioOptions, ...]:
    """The options for each thread. Raises UsageError on rules that fio has not."""
    rules = _rules(step, stream)
    if not rules:
        raise UsageError("nothing ends the step")
    threads: list[FioOptions] = [{} for _ in parts]
    for rule in rules:
        match rule:
            case Duration(duration_ns):
                shares = [{"runtime": microseconds(duration_ns)}] * len(parts)
            case IoCount(ios):
                shares = [{"number_ios": str(share)} for share in _dealt(ios, stream.stimulus, parts)]
            case ByteAmount(amount_bytes):
                shares = _amounts(stream.stimulus, amount_bytes, parts, target)
            case DriveFills(fills):
                amount_bytes = round(fills * target.user_capacity_bytes)
                shares = _amounts(stream.stimulus, amount_bytes, parts, target)
            case _:
                raise refusal("end at a steady state in the specification's sense")
        threads = [_stricter(known, share) for known, share in zip(threads, shares, strict=True)]
    return tuple(_finished(step, stream, options) for options in threads)


def time_limit_ns(step: Step, stream: Stream) -> int | None:
    """How long its figures last at the most; None where no rule names a time."""
    limits_ns = (rule.duration_ns for rule in _rules(step, stream) if isinstance(rule, Duration))
    return min(limits_ns, default=None)


def _rules(step: Step, stream: Stream) -> list[StopRule]:
    """The step's rules and the stream's own, with times from the stream's start or the end of its ramp-up."""
    late_ns = max(0, stream.delay_ns - step.ramp_ns)
    found: list[StopRule] = []
    for rule in _each_rule(step.stop):
        if late_ns and isinstance(rule, Duration):
            if rule.duration_ns <= late_ns:
                raise UsageError("the stream starts when the step is over")
            found.append(Duration(rule.duration_ns - late_ns))
        else:
            found.append(rule)
    return found + ([] if stream.stop is None else _each_rule(stream.stop))


def _each_rule(stop: StopRule) -> list[StopRule]:
    if not isinstance(stop, FirstOf):
        return [stop]
    if stop.at_least_ns:
        raise refusal("least time before a stop rule applies")
    return list(stop.rules)


def _finished(step: Step, stream: Stream, options: FioOptions) -> FioOptions:
    limited = options.keys() & {"io_size", "number_ios"}
    ramp_ns = max(0, step.ramp_ns - stream.delay_ns)  # what is left of it when a delayed stream starts
    if ramp_ns and limited:
        raise refusal("ramp-up before an amount or a number of I/Os", "it counts those of the ramp")
    if "number_ios" in options and "io_size" not in options:
        # fio ends after one pass over the part, unless a larger amount is asked for
        options["io_size"] = str(int(options["number_ios"]) * stream.stimulus.block_size_bytes)
    if not limited:
        options["time_based"] = "1"
    if ramp_ns:
        options["ramp_time"] = microseconds(ramp_ns)
    return options


def _amounts(
    stimulus: Stimulus, amount_bytes: int, parts: Sequence[ThreadRange], target: TargetFacts
) -> list[FioOptions]:
    """Whole blocks of one size; of several sizes, bytes, which the last I/O of a thread may exceed."""
    start, end = active_bytes(stimulus, target)
    if stimulus.access_pattern is not AccessPattern.RANDOM and (end - start) % _smallest_bytes(stimulus):
        raise refusal(
            "shorter last block of a sequence",
            "the range is no multiple of the block, and an amount would not cover its end",
        )
    if len(stimulus.block_sizes) > 1:
        return [{"io_size": str(share)} for share in _dealt(amount_bytes, stimulus, parts)]
    block = stimulus.block_size_bytes
    blocks = -(-amount_bytes // block)
    return [{"io_size": str(share * block)} for share in _dealt(blocks, stimulus, parts)]


def _dealt(total: int, stimulus: Stimulus, parts: Sequence[ThreadRange]) -> list[int]:
    """Shares of the threads: equal at random, by the size of their parts in sequence."""
    in_sequence = stimulus.access_pattern is AccessPattern.SEQUENTIAL
    weights = [part.size_bytes if in_sequence else 1 for part in parts]
    edges = [sum(weights[:thread]) * total // sum(weights) for thread in range(len(parts) + 1)]
    shares = [after - before for before, after in pairwise(edges)]
    if min(shares) == 0:
        raise UsageError(f"an end after so little leaves nothing to do for some of TC {stimulus.tc} threads")
    return shares


def _stricter(known: FioOptions, new: FioOptions) -> FioOptions:
    """The options of two stop rules: of two of one kind, the one that comes first."""
    return known | {
        name: value
        if name not in known
        else min(known[name], value, key=lambda text: int(text.removesuffix("us")))
        for name, value in new.items()
    }


def microseconds(duration_ns: int) -> str:
    """A time as fio reads it, rounded up. Raises UsageError for none."""
    if duration_ns <= 0:
        raise UsageError("a time of 0 does nothing")
    return f"{-(-duration_ns // NS_PER_US)}us"
