"""What the I/Os do, in fio's options: direction, order, read/write mix, syncs; and what fio cannot do."""

from collections.abc import Sequence
from typing import Final

from openpts.errors import UsageError
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import AccessPattern, Stimulus


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

_LAST_ACCESS: Final = "after a random access its sequential ones go on from there"
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
    if stimulus.is_of_streams:
        raise refusal(
            "mix of whole streams", "it draws sizes, operations and order apart; use --engine native"
        )
    if len(stimulus.block_sizes) == 1:
        return {"bs": str(stimulus.block_size_bytes)}
    pcts = whole_pcts("block sizes", [size.weight for size in stimulus.block_sizes])
    parts = [f"{s.block_size_bytes}/{pct}" for s, pct in zip(stimulus.block_sizes, pcts, strict=True)]
    return {"bssplit": ":".join(parts)}
