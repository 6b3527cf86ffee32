"""A job file of fio as the steps of a test, shortened as its conditions ask."""

from msgspec.structs import replace

from openpts.fields.time_scale import SHORTEST_NS
from openpts.fio_jobs.job_file import parse_jobs
from openpts.fio_jobs.translation import Translation, translate
from openpts.procedures.shared.fio_job.conditions import LONGEST_NS, FioJob, FioJobConditions
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import Step, Stream
from openpts.vocabulary.stop import (
    STREAMS_END,
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Steady,
    StopRule,
)

_Rule = Duration | ByteAmount | DriveFills | IoCount | Steady
_Rules = tuple[_Rule, ...]


def job_steps(conditions: FioJobConditions, job: FioJob, user_capacity_bytes: int) -> tuple[Step, ...]:
    """A step for each group of jobs that run together. Raises WrittenFileError for what can't be done."""
    steps = translation_of(conditions, job, user_capacity_bytes).steps
    return tuple(_shortened(step, conditions.time_scale, conditions.longest_step_ns) for step in steps)


def translation_of(conditions: FioJobConditions, job: FioJob, user_capacity_bytes: int) -> Translation:
    """The job on a device of that capacity, at full length, with what of it means nothing here."""
    target = TargetFacts(TargetKind.BLOCK, job.name, job.name, user_capacity_bytes, conditions.sector_bytes)
    return translate(parse_jobs(job.lines, job.name, dict(job.values)), target)


def _shortened(step: Step, scale: float, longest_ns: int) -> Step:
    return replace(
        step,
        streams=tuple(_stream(stream, scale, longest_ns) for stream in step.streams),
        stop=step.stop if step.stop == STREAMS_END else _stop(step.stop, scale, longest_ns),
        ramp_ns=_scaled(step.ramp_ns, scale),
    )


def _stream(stream: Stream, scale: float, longest_ns: int) -> Stream:
    stop = None if stream.stop is None else _stop(stream.stop, scale, longest_ns)
    return replace(stream, delay_ns=_scaled(stream.delay_ns, scale), stop=stop)


def _stop(stop: StopRule, scale: float, longest_ns: int) -> StopRule:
    """A rule with its times scaled, and one more if nothing else ends what it is of in time."""
    match stop:
        case Duration(duration_ns):
            return Duration(min(_scaled(duration_ns, scale), longest_ns))
        case FirstOf(rules, at_least_ns):
            scaled = tuple(_rule(rule, scale) for rule in rules)
            return FirstOf(_in_time(scaled, longest_ns), min(_scaled(at_least_ns, scale), longest_ns))
        case rule:
            found = _in_time((_rule(rule, scale),), longest_ns)
            return FirstOf(found) if len(found) > 1 else found[0]


def _in_time(rules: _Rules, longest_ns: int) -> _Rules:
    return rules if longest_ns == LONGEST_NS else (*rules, Duration(longest_ns))


def _rule(rule: _Rule, scale: float) -> _Rule:
    match rule:
        case Duration(duration_ns):
            return Duration(_scaled(duration_ns, scale))
        case Steady():
            return replace(rule, window_ns=_scaled(rule.window_ns, scale))
        case amount:
            return amount


def _scaled(time_ns: int, scale: float) -> int:
    return min(time_ns, max(SHORTEST_NS, round(time_ns * scale)))
