"""When the jobs of a stream end, in fio's options: run time, ramp-up, and each thread's part of an amount.

Fio knows no limit for all threads together: an amount is dealt out to the threads beforehand. A run time is
written in microseconds: fio reads ``runtime=0.5`` as no limit, and with ``time_based`` it takes no notice of
``number_ios``. It counts each job's run time and ramp-up from the job's own start.
"""

from collections.abc import Sequence
from itertools import pairwise

from openpts.errors import UsageError
from openpts.units import NS_PER_US
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import AccessPattern, Step, Stimulus, Stream
from openpts.vocabulary.stop import ByteAmount, DriveFills, Duration, FirstOf, IoCount, StopRule
from openpts_fio.engine.offsets import ThreadRange, left_out_bytes
from openpts_fio.engine.operations import FioOptions, refusal


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


def _own_ramp_ns(step: Step, stream: Stream) -> int:
    """Part of the step's ramp-up that is left when a delayed stream starts."""
    return max(0, step.ramp_ns - stream.delay_ns)


def _finished(step: Step, stream: Stream, options: FioOptions) -> FioOptions:
    limited = options.keys() & {"io_size", "number_ios"}
    ramp_ns = _own_ramp_ns(step, stream)
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
        name: value if name not in known else min(known[name], value, key=_leading_number)
        for name, value in new.items()
    }


def _leading_number(value: str) -> int:
    return int(value.removesuffix("us"))


def microseconds(duration_ns: int) -> str:
    """A time as fio reads it, rounded up. Raises UsageError for none."""
    if duration_ns <= 0:
        raise UsageError("a time of 0 does nothing")
    return f"{-(-duration_ns // NS_PER_US)}us"
