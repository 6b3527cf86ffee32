"""What ends a step, in fio's options for each thread; fio knows no limit for all threads together.

An amount is dealt out to the threads beforehand. A run time is written in microseconds: fio reads
``runtime=0.5`` as no limit, and with ``time_based`` it takes no notice of ``number_ios``.
"""

from collections.abc import Sequence
from itertools import pairwise

from openpts.engine.fio.offsets import Part, left_out_bytes
from openpts.engine.fio.operations import FioOptions
from openpts.engine.fio.refusal import refusal
from openpts.errors import UsageError
from openpts.units import NS_PER_US
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import AccessPattern, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, DriveFills, Duration, FirstOf, IoCount, Steady


def ending_options(step: Step, parts: Sequence[Part], target: TargetFacts) -> tuple[FioOptions, ...]:
    """The options for each thread. Raises UsageError on rules that fio has not."""
    rules = step.stop.rules if isinstance(step.stop, FirstOf) else (step.stop,)
    if isinstance(step.stop, FirstOf) and step.stop.at_least_ns:
        raise refusal("least time before a stop rule applies")
    if step.stimulus is None or not rules:
        raise UsageError("nothing ends the step")
    threads: list[FioOptions] = [{} for _ in parts]
    for rule in rules:
        match rule:
            case Duration(duration_ns):
                shares = [{"runtime": _microseconds(duration_ns)}] * len(parts)
            case IoCount(ios):
                shares = _counts(step.stimulus, ios, parts)
            case ByteAmount(amount_bytes):
                shares = _amounts(step.stimulus, amount_bytes, parts, target)
            case DriveFills(fills):
                amount_bytes = round(fills * target.user_capacity_bytes)
                shares = _amounts(step.stimulus, amount_bytes, parts, target)
            case Steady():
                raise refusal("end at a steady state in the specification's sense")
        threads = [_stricter(known, share) for known, share in zip(threads, shares, strict=True)]
    return tuple(_finished(step, options) for options in threads)


def _finished(step: Step, options: FioOptions) -> FioOptions:
    limited = options.keys() & {"io_size", "number_ios"}
    if step.ramp_ns and limited:
        raise refusal("ramp-up before an amount or a number of I/Os", "it counts those of the ramp")
    if "number_ios" in options and "io_size" not in options:
        # fio ends after one pass over the part, unless a larger amount is asked for
        largest = 0 if step.stimulus is None else step.stimulus.block_size_bytes
        options["io_size"] = str(int(options["number_ios"]) * largest)
    if not limited:
        options["time_based"] = "1"
    if step.ramp_ns:
        options["ramp_time"] = _microseconds(step.ramp_ns)
    return options


def _counts(stimulus: Stimulus, ios: int, parts: Sequence[Part]) -> list[FioOptions]:
    return [{"number_ios": str(share)} for share in _dealt(ios, stimulus, parts)]


def _amounts(
    stimulus: Stimulus, amount_bytes: int, parts: Sequence[Part], target: TargetFacts
) -> list[FioOptions]:
    """Whole blocks of one size; of several sizes, bytes, which the last I/O of a thread may exceed."""
    if left_out_bytes(stimulus, target):
        raise refusal(
            "shorter last block of a sequence",
            "the range is no multiple of the block, and an amount would not cover its end",
        )
    if len(stimulus.block_sizes) > 1:
        return [{"io_size": str(share)} for share in _dealt(amount_bytes, stimulus, parts)]
    block = stimulus.block_size_bytes
    blocks = -(-amount_bytes // block)
    return [{"io_size": str(share * block)} for share in _dealt(blocks, stimulus, parts)]


def _dealt(total: int, stimulus: Stimulus, parts: Sequence[Part]) -> list[int]:
    """Shares of the threads: equal at random, by the size of their parts in sequence."""
    in_sequence = stimulus.access_pattern is AccessPattern.SEQUENTIAL
    weights = [part.size_bytes if in_sequence else 1 for part in parts]
    edges = [sum(weights[:thread]) * total // sum(weights) for thread in range(len(parts) + 1)]
    shares = [after - before for before, after in pairwise(edges)]
    if min(shares) == 0:
        raise UsageError(f"an end after so little leaves nothing to do for some of TC {stimulus.tc} threads")
    return shares


def _stricter(known: FioOptions, new: FioOptions) -> FioOptions:
    """Both rules: of two of one kind, the one that comes first."""
    return known | {
        name: value if name not in known else min(known[name], value, key=_leading_number)
        for name, value in new.items()
    }


def _leading_number(value: str) -> int:
    return int(value.removesuffix("us"))


def _microseconds(duration_ns: int) -> str:
    if duration_ns <= 0:
        raise UsageError("a time of 0 does nothing")
    return f"{-(-duration_ns // NS_PER_US)}us"
