"""A job file of fio as the steps of a test, shortened as its conditions ask."""

from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.fields.conditions import SHORTEST_NS
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Steady,
    Step,
    StopRule,
    Stream,
)
from openpts.vocabulary.translation import Translation
from openpts_fio.jobs.job_file import parse_jobs
from openpts_fio.jobs.translation import translate
from openpts_fio.workload import WorkloadConditions
from openpts_fio.workload.job import LONGEST_NS, TEMPLATES, FioJob, SuiteWorkload, by_name

_Rule = Duration | ByteAmount | DriveFills | IoCount | Steady


def job_steps(conditions: WorkloadConditions, job: FioJob, user_capacity_bytes: int) -> tuple[Step, ...]:
    """A step for each group of jobs that run together. Raises WrittenFileError for what can't be done."""
    steps = translation_of(conditions, job, user_capacity_bytes).steps
    return tuple(_shortened(step, conditions) for step in steps)


def workload_steps(
    conditions: WorkloadConditions, workload: SuiteWorkload, user_capacity_bytes: int
) -> tuple[Step, ...]:
    """The steps of a workload of the suite. Raises UsageError for what can't be done."""
    suite = conditions.suite
    if not suite.has_template(workload):
        raise UsageError(f"the clone has no template {workload.template} in {TEMPLATES}: complete the clone")
    return job_steps(
        conditions, suite.job(workload, user_capacity_bytes, conditions.seed), user_capacity_bytes
    )


def reason_left_out(conditions: WorkloadConditions, workload: SuiteWorkload, user_capacity_bytes: int) -> str:
    """Why a workload of the suite is left out; empty where it is run."""
    if not conditions.leave_out_refused:
        return ""
    try:
        workload_steps(conditions, workload, user_capacity_bytes)
    except UsageError as error:
        return str(error)
    return ""


def translation_of(conditions: WorkloadConditions, job: FioJob, user_capacity_bytes: int) -> Translation:
    """The job on a device of that capacity, at full length, with what of it means nothing here."""
    target = TargetFacts(TargetKind.BLOCK, job.name, job.name, user_capacity_bytes, conditions.sector_bytes)
    return translate(parse_jobs(job.lines, job.name, by_name(job.values)), target)


def _shortened(step: Step, conditions: WorkloadConditions) -> Step:
    return replace(
        step,
        streams=tuple(_stream(stream, conditions) for stream in step.streams),
        stop=step.stop if step.stop == STREAMS_END else _stop(step.stop, conditions),
        ramp_ns=_scaled(step.ramp_ns, conditions),
    )


def _stream(stream: Stream, conditions: WorkloadConditions) -> Stream:
    stop = None if stream.stop is None else _stop(stream.stop, conditions)
    return replace(stream, delay_ns=_scaled(stream.delay_ns, conditions), stop=stop)


def _stop(stop: StopRule, conditions: WorkloadConditions) -> StopRule:
    """The rule with its times shortened, and one more where nothing else ends the step in time."""
    longest = Duration(conditions.longest_step_ns)
    match stop:
        case Duration(duration_ns):
            shorter_ns = max(_scaled(duration_ns, conditions), min(duration_ns, conditions.minute_ns))
            return Duration(min(shorter_ns, longest.duration_ns))
        case FirstOf(rules, at_least_ns):
            at_least_ns = min(_scaled(at_least_ns, conditions), longest.duration_ns)
            found = tuple(_rule(rule, conditions) for rule in rules)
        case rule:
            at_least_ns, found = 0, (_rule(rule, conditions),)
    if conditions.longest_step_ns < LONGEST_NS:
        found = (*found, longest)
    return FirstOf(found, at_least_ns) if len(found) > 1 or at_least_ns else found[0]


def _rule(rule: _Rule, conditions: WorkloadConditions) -> _Rule:
    match rule:
        case Duration(duration_ns):
            return Duration(_scaled(duration_ns, conditions))
        case Steady():
            return replace(rule, window_ns=_scaled(rule.window_ns, conditions))
        case amount:
            return amount


def _scaled(time_ns: int, conditions: WorkloadConditions) -> int:
    return min(time_ns, max(SHORTEST_NS, round(time_ns * conditions.time_scale)))
