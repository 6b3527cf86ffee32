"""The jobs of a file as steps of openpts: one for all jobs up to the next ``stonewall``."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from openpts.config_files.written_file import WrittenFileError
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    ByteAmount,
    Duration,
    FirstOf,
    IoCount,
    OperationWeights,
    Steady,
    Step,
    StopRule,
    Stream,
)
from openpts.vocabulary.translation import Translation
from openpts_fio.jobs.job_file import Job, JobError, JobFile
from openpts_fio.jobs.streams import JobStream, is_verified, steady_of, streams_of_job

_MOST_STREAMS: Final = 64


def translate(job_file: JobFile, target: TargetFacts) -> Translation:
    """What the file does to that target.

    Raises WrittenFileError with the place of each option that openpts can't apply, and why.
    """
    jobs = [Job(section, job_file.values) for section in job_file.sections]
    problems = [problem for job in jobs for problem in job.problems]
    problems += _of_other_targets(jobs, target)
    steps: list[Step] = []
    for group in _groups(jobs):
        streams: list[JobStream] = []
        for job in group:
            try:
                streams += streams_of_job(job, target)
            except JobError as error:
                problems.append(str(error))
        if not problems:
            try:
                steps += _steps(group, streams)
            except JobError as error:
                problems.append(str(error))
    if problems:
        raise WrittenFileError(tuple(dict.fromkeys(problems)))
    return Translation(
        tuple(steps),
        tuple(dict.fromkeys(text for job in jobs for text in job.ignored)),
        tuple(dict.fromkeys(text for job in jobs for text in job.notes)),
    )


def _of_other_targets(jobs: Sequence[Job], target: TargetFacts) -> Iterator[str]:
    """Complaints about jobs for devices or files that are not all the one which openpts is given."""
    parts = {partition.path for partition in target.partitions}
    named = [job for job in jobs if job.text("filename", "") not in {"", *parts}]
    for job in named:
        name = job.text("filename", "")
        if ":" in name.replace("\\:", ""):
            yield str(job.error("filename", "is several targets, and openpts applies a job to one"))
        elif name != (first := named[0].text("filename", "")):
            yield str(
                job.error(
                    "filename",
                    f"is another target than {first}, and openpts applies all jobs to the one that it is "
                    "given: give those of each target a file of their own, or name partitions of one disk",
                )
            )


def _groups(jobs: Sequence[Job]) -> list[list[Job]]:
    groups: list[list[Job]] = []
    for job in jobs:
        if not groups or _begins_step(job):
            groups.append([])
        groups[-1].append(job)
    return groups


def _begins_step(job: Job) -> bool:
    try:
        return job.flag("stonewall")
    except JobError as error:
        job.problems.append(str(error))
        return False


def _steps(group: Sequence[Job], found: Sequence[JobStream]) -> Iterator[Step]:
    """The step of a group, and the one that reads back what it has written. Raises JobError."""
    if len(found) > _MOST_STREAMS:
        raise max(group, key=lambda job: job.number("numjobs", 1)).error(
            "numjobs", f"the jobs of this step are {len(found)} streams, more than {_MOST_STREAMS}"
        )
    sharing = [one for one in found if one.stream.share]
    halves = [one.half_of for one in sharing if one.half_of is not None]
    if halves and len(sharing) > 2:
        raise halves[0].error("rw", "a ratio of reads to writes beside other ratios in a step, which has one")
    named = _named(found)
    ramp_ns = _ramp_ns(group)
    steady = _steady(group)
    if steady is not None:
        ramp_ns += _same(group, "steadystate_ramp_time")
    flowing = [job for job in group if job.number("flow", 0)]
    if len({job.number("flow_id", 0) for job in flowing}) > 1:
        raise flowing[-1].error("flow_id", "is not the same in all jobs side by side that have a flow")
    stop, streams = _ended(named, ramp_ns, steady)
    if ramp_ns and any(one.ending.amount_bytes or one.ending.ios for one in named):
        group[0].note("ramp_time", "an amount counts from the end of the ramp-up")
    yield Step(streams, stop, ramp_ns)
    yield from _reading_back(group, named)


def _named(found: Sequence[JobStream]) -> list[JobStream]:
    """With a number behind a name that occurs again."""
    seen: Counter[str] = Counter()
    named = []
    for one in found:
        name = one.stream.name
        seen[name] += 1
        unlike = name if seen[name] == 1 else f"{name}#{seen[name]}"
        named.append(replace(one, stream=replace(one.stream, name=unlike)))
    return named


def _ramp_ns(group: Sequence[Job]) -> int:
    """The ramp-up of all jobs, which ends for all at once. Raises JobError where each has its own.

    fio counts it from each job's own start.
    """
    ends_ns = {
        job.time_ns("startdelay") + job.time_ns("ramp_time") for job in group if job.time_ns("ramp_time")
    }
    late = [job for job in group if not job.time_ns("ramp_time")]
    if len(ends_ns) == 1 and all(job.time_ns("startdelay") >= max(ends_ns) for job in late):
        return ends_ns.pop()
    ramp_ns = _same(group, "ramp_time")
    if ramp_ns and len(ends_ns) > 1:
        group[0].note("ramp_time", "begins with the step, and not with each job that has a startdelay")
    return ramp_ns


def _same(group: Sequence[Job], name: str) -> int:
    """A time that a step has once. Raises JobError where its jobs have several."""
    times_ns = {job.time_ns(name) for job in group}
    if len(times_ns) > 1:
        longest = max(group, key=lambda job: job.time_ns(name))
        raise longest.error(name, "is not the same in all jobs side by side, and a step has one")
    return times_ns.pop()


def _steady(group: Sequence[Job]) -> Steady | None:
    """The steady state of all jobs together. Raises JobError where each has its own."""
    rules = {steady_of(job) for job in group}
    if rules == {None}:
        return None
    with_rule = next(job for job in group if steady_of(job) is not None)
    if len(rules) > 1:
        raise with_rule.error("steadystate", "is not the same in all jobs side by side, and a step has one")
    if len(group) > 1 and not all(job.flag("group_reporting") for job in group):
        raise with_rule.error("steadystate", "of each of several jobs: use group_reporting")
    return rules.pop()


def _ended(
    found: Sequence[JobStream], ramp_ns: int, steady: Steady | None
) -> tuple[StopRule, tuple[Stream, ...]]:
    """The stop rule of a step, and its streams with theirs; what ends by time at once, ends with the step."""
    first = found[0]
    ends_ns = {
        max(one.stream.delay_ns, ramp_ns) + (one.ending.duration_ns or 0)
        for one in found
        if one.ending.is_timed
    }
    own = (steady,) if steady is not None else ()
    if len(ends_ns) == 1 and all(one.ending.is_timed for one in found):
        rules = (*own, Duration(ends_ns.pop() - ramp_ns))
        return _first_of(rules), tuple(one.stream for one in found)
    if len(found) == 1:
        late_ns = max(0, first.stream.delay_ns - ramp_ns)
        return _first_of((*own, *first.ending.later(late_ns).rules())), (first.stream,)
    streams = tuple(replace(one.stream, stop=_first_of(one.ending.rules())) for one in found)
    return (STREAMS_END if steady is None else steady), streams


def _first_of(rules: tuple[Duration | ByteAmount | IoCount | Steady, ...]) -> StopRule:
    return rules[0] if len(rules) == 1 else FirstOf(rules)


def _reading_back(group: Sequence[Job], found: Sequence[JobStream]) -> Iterator[Step]:
    """fio reads what a verified job has written: of whole sequences, in another step. Raises JobError."""
    verified = [job for job in group if is_verified(job)]
    if not verified:
        return
    writers = [one for one in found if one.stream.stimulus.operations.write]
    if len(group) > 1 and writers:
        raise verified[0].error("verify", "beside other jobs: let each verified job begin with stonewall")
    for one in writers:
        stimulus = one.stream.stimulus
        if stimulus.operations.read or stimulus.random_pct or not _is_whole(one):
            raise verified[0].error("verify", "of anything but the whole of a sequence that is written")
    if not writers or not verified[0].flag("do_verify", default=True):
        return
    readers = [
        replace(
            one.stream,
            stimulus=replace(one.stream.stimulus, operations=OperationWeights(read=1)),
            delay_ns=0,
            stop=ByteAmount(one.pass_bytes),
        )
        for one in writers
    ]
    if len(readers) == 1:
        yield Step((replace(readers[0], stop=None),), ByteAmount(writers[0].pass_bytes))
    else:
        yield Step(tuple(readers), STREAMS_END)


def _is_whole(one: JobStream) -> bool:
    amount = one.ending.amount_bytes
    return (
        amount is not None
        and one.ending.duration_ns is None
        and one.ending.ios is None
        and amount >= one.pass_bytes
    )
