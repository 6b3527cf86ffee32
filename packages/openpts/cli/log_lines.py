"""What happens in a run, said in lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from openpts.analysis.limited_seconds import evidence_words
from openpts.cli.phase_lines import phase_lines
from openpts.cli.simulated_time import simulated_time_text
from openpts.cli.verdict_lines import cycle_line, steady_state_lines
from openpts.fields.conditions import Conditions
from openpts.planning.dry_run import PlannedApply
from openpts.record.manifest import Manifest
from openpts.runner.events import (
    CommandEnded,
    CycleEnded,
    DeviationFound,
    Event,
    FileSystemPrepared,
    Healed,
    HookEnded,
    HostLimited,
    HostStalled,
    IoHangs,
    PowerUnread,
    PowerWasCut,
    PurgeFinished,
    PurgeProgressed,
    PurgeStarted,
    RecordDelayed,
    RunEnded,
    RunGoesOn,
    RunPaused,
    RunStarted,
    SteadyStateJudged,
    StepFinished,
    StepsStarted,
)
from openpts.runner.progress import RunProgress
from openpts.runner.step_faults import HANG_NS, capped_streams, hang_text, standstill_text, what_to_do
from openpts.units import MB, NS_PER_S, format_capacity, format_duration
from openpts.vocabulary.command_run import CommandRun, RunKind, file_system_words
from openpts.vocabulary.facts import PurgeReport, TargetFacts
from openpts.vocabulary.phase import Phase, phase_text
from openpts.vocabulary.power_cut import Cut, losses_text
from openpts.vocabulary.purge import PURGE_STATUS_NAMES
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.stop import Duration

# Those of many rounds say enough when they end.
_ANNOUNCED: Final = frozenset(
    {Phase.WIPC, Phase.WAIT_STATE, Phase.ACCESS_GROUP, Phase.HISTOGRAM_PREWRITE, Phase.HISTOGRAM}
)


def event_lines(event: Event, progress: RunProgress) -> list[str]:
    """What an event says in words; nothing for those that only move a bar."""
    match event:
        case Healed(healing):
            return [healing.text]
        case RunStarted(folder, manifest, plan, resumes_at, host_limits, preparations):
            return [
                _order_line(manifest, plan),
                f"run folder {folder}",
                *preparations,
                *(f"this host may be the limit: {text}" for text in host_limits),
                *([f"resumes at {resumes_at}"] if resumes_at else []),
            ]
        case PurgeStarted() | PurgeProgressed() | RunPaused():
            return [progress.phase]
        case PurgeFinished(report):
            return list(purge_lines(report))
        case RecordDelayed(folder, reason):
            return [
                f"can't write the record in {folder}: {reason}; the run pauses before the next steps until "
                "it can: free space or make it writable, or stop the run"
            ]
        case RunGoesOn(paused_ns):
            return [f"the record is written again: the run goes on after {format_duration(paused_ns)}"]
        case RunEnded():
            return [_end_line(event), *_simulated_lines(progress)]
        case _:
            return _measuring_lines(event, progress)


def _measuring_lines(event: Event, progress: RunProgress) -> list[str]:
    lines = []
    match event:
        case DeviationFound(deviation):
            lines = [f"deviation {deviation.rule_id}: required {deviation.required}; used {deviation.used}"]
        case PowerUnread(text):
            lines = [text]
        case IoHangs() | HostStalled() | HostLimited():
            lines = _disturbance_lines(event)
        case StepsStarted(_, apply) if apply.phase in _ANNOUNCED and not progress.phase_ns:
            lines = [f"{progress.phase}: {_stimuli_text(apply)}"]
        case StepFinished() if progress.step is None and progress.apply is not None:
            lines = [*phase_lines(progress), *_capped_lines(progress)]
        case HookEnded(run):
            moment = f"{run.moment} {run.place}".strip()
            lines = [f"hook {moment}: {run.command}: {run.how_it_ended}"]
        case PowerWasCut() | FileSystemPrepared() | CommandEnded():
            lines = [_line_without_steps(event)]
        case SteadyStateJudged(phase, number, _, _) if progress.conditions is not None:
            judged = progress.conditions.round_word(phase)
            lines = [f"steady state after {judged} {number}? {line}" for line in steady_state_lines(progress)]
        case CycleEnded(cycle, finished):
            lines = [cycle_line(cycle, finished, progress.conditions)]
    return lines


def _capped_lines(progress: RunProgress) -> Iterator[str]:
    """The stream that its queue capped most in the steps that have just ended."""
    assert progress.apply is not None  # noqa: S101 a part that ends was begun
    found = [(one, sample) for sample in progress.finished for one in capped_streams(sample)]
    if not found:
        return
    worst, sample = max(found, key=lambda each: each[0].share)
    part = f", {sample.step}" if len(progress.finished) > 1 else ""
    advice = (
        "raise --depth, or lower --speed" if worst.is_replay else "raise its queue depth, or lower its rate"
    )
    yield f"capped in {phase_text(progress.apply.phase, progress.apply.number)}{part}: {worst.text}; {advice}"


def _disturbance_lines(event: IoHangs | HostStalled | HostLimited) -> list[str]:
    """What was not the drive's, or kept it from answering; each part of the host is named once in a run."""
    match event:
        case IoHangs(io):
            return [hang_text(io)]
        case HostStalled(place, sample, repeated):
            return [f"{standstill_text(sample)} in {place}: {what_to_do(repeated=repeated)}"]
        case HostLimited(place, new=new, evidence=evidence):
            return [f"{host_limit_text(new, evidence_words(evidence))}, in {place}"] if new else []


def host_limit_text(limits: Iterable[str], evidence: Iterable[str]) -> str:
    """``the host, and not the drive, is the limit (link): a link to the drive carried all that it can``."""
    return f"the host, and not the drive, is the limit ({' and '.join(limits)}): {'; '.join(evidence)}"


def _line_without_steps(event: PowerWasCut | FileSystemPrepared | CommandEnded) -> str:
    match event:
        case PowerWasCut(cut):
            return _cut_line(cut)
        case FileSystemPrepared(report):
            return file_system_words(report)
        case CommandEnded(run):
            return _command_line(run)


def _cut_line(cut: Cut) -> str:
    """``cut 3, WCE: 1,204 writes, 37 flushes acknowledged, 980 writes had to survive: nothing lost``."""
    found = losses_text(cut.losses) or "nothing lost"
    return (
        f"cut {cut.number}, {cut.write_cache}: {cut.writes:,} writes, {cut.flushes:,} flushes acknowledged, "
        f"{cut.promised:,} writes had to survive: {found}"
    )


def _command_line(run: CommandRun) -> str:
    """``warm run 1: 1.204 s, 12.0 MB read, 4.2 MB written, drive busy for 31.0 % of the time``."""
    done, synced = run.until_exit, run.synced
    written_bytes = done.written_bytes + synced.written_bytes
    busy_pct = 100 * done.busy_ns / run.elapsed_ns if run.elapsed_ns else 0.0
    cache = f", page cache {run.page_cache}" if run.kind is RunKind.COLD else ""
    failure = "" if run.stands else f"; it {run.failure}"
    figure = "" if run.figure is None else f", figure {run.figure:,.10g}"
    return (
        f"{run.name}: {run.elapsed_ns / NS_PER_S:.3f} s{figure}, {format_capacity(done.read_bytes)} read, "
        f"{format_capacity(written_bytes)} written, drive busy for {busy_pct:.1f} % of the time"
        f"{cache}{failure}"
    )


def now_line(progress: RunProgress) -> str:
    """Progress of the run in one line: phase, step, rate if known, time."""
    step = progress.step_text
    what = f", {step}" if step else ""
    rate = f"{rate_text(progress)}; " if progress.has_rate else ""
    return (
        f"{progress.phase}, step {progress.position + 1} of {len(progress.steps)}{what}: "
        f"{rate}{time_text(progress)}"
    )


def rate_text(progress: RunProgress) -> str:
    """IOPS and throughput of the last second, and the I/O that hangs if there is one."""
    rate = f"{progress.iops_now:,.0f} IOPS, {progress.bytes_per_s_now / MB:,.1f} MB/s"
    oldest = progress.oldest
    return f"{rate}; {hang_text(oldest)}" if oldest and oldest.age_ns >= HANG_NS else rate


def time_text(progress: RunProgress) -> str:
    """Time since the start and the longest time left."""
    return ", ".join(filter(None, (elapsed_text(progress), left_text(progress))))


def elapsed_text(progress: RunProgress) -> str:
    """Time since the start; of a simulated drive, its time and ours."""
    if progress.simulated:
        return simulated_time_text(progress.engine_ns, progress.elapsed_s)
    return f"{_duration_text(progress.elapsed_s)} elapsed"


def left_text(progress: RunProgress) -> str:
    """The longest time left, of a simulated drive its time and ours; empty where it can't be foreseen."""
    time_left = progress.time_left()
    if time_left is None:
        return ""
    left = f"{time_left.words} {_duration_text(time_left.seconds)} left"
    if not (progress.simulated and progress.engine_ns):
        return left
    waiting_s = time_left.seconds * progress.elapsed_s / (progress.engine_ns / NS_PER_S)
    return f"{left} (in {_duration_text(waiting_s)})"


def _duration_text(duration_s: float) -> str:
    return format_duration(round(duration_s * NS_PER_S))


def _order_line(manifest: Manifest, plan: Sequence[PlannedApply]) -> str:
    conditions, target = manifest.conditions, manifest.target
    capacity = f"{_simulation_text(target)}{format_capacity(target.user_capacity_bytes)}"
    longest_ns = sum(sum(planned.durations_ns) for planned in plan)
    return (
        f"{conditions.test.upper()} test, {conditions.class_text}, on {target.name} "
        f"({capacity}, sector {target.sector_bytes} B), {_demand_text(conditions)}seed {conditions.seed}"
        + (f", up to about {format_duration(longest_ns)}{_assumption(plan)}" if plan else "")
    )


def _assumption(plan: Sequence[PlannedApply]) -> str:
    """What the estimate rests on where amounts end steps: no rate of this drive is known yet."""
    by_time = all(isinstance(step.stop, Duration) for planned in plan for step in planned.apply.steps)
    return "" if by_time else " at assumed rates"


def _demand_text(conditions: Conditions) -> str:
    """TC and QD of a test that has one of each."""
    return "TC {} QD {}, ".format(*conditions.demand) if conditions.demand else ""


def _stimuli_text(apply: Apply) -> str:
    """The stimulus of a phase that has one; the phase's name shows idle times between it."""
    kinds = dict.fromkeys(str(step) for step in apply.steps if not step.is_idle)
    return ", ".join(kinds) or "idle"


def _simulation_text(target: TargetFacts) -> str:
    return "" if target.simulation is None else f"SIMULATED, scale 1:{target.scale}, "


def _simulated_lines(progress: RunProgress) -> list[str]:
    return [simulated_time_text(progress.engine_ns, progress.elapsed_s)] if progress.simulated else []


def purge_lines(report: PurgeReport) -> Iterator[str]:
    """What was tried before, what was done, and how far it is proven."""
    for attempt in report.attempts:
        yield f"not {attempt.method}: {attempt.outcome}"
    if not report.name and not report.ran:
        yield f"no purge: {report.detail}"
        return
    word = "purge done" if report.ran else "overwritten, NOT purged"
    proof = f"{report.changed_samples} of {report.samples} marks gone"
    if report.other_samples:
        proof += f", and {report.other_samples} of {report.other_samples} places with older data"
    yield f"{word}: {report.method}, {proof}, {format_duration(report.duration_ns)}"
    for name, fact in report.status.items():
        if fact.value is not None:
            yield f"{PURGE_STATUS_NAMES.get(name, name)}: {_change(fact.value, report.status_was(name))}"


def _change(value: str, before: str | None) -> str:
    return value if before is None else f"{value} (before: {before})"


def _end_line(end: RunEnded) -> str:
    return f"run {end.state}" if end.reason is None else f"run {end.state}: {end.reason}"
