"""What happens in a run, said in lines."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum
from pkgutil import resolve_name
from typing import Any, Final

from openpts.analysis.host_limits import evidence_texts
from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.fields.conditions import Conditions
from openpts.planning.plan import Extent, extents_text
from openpts.procedures.registry import procedure_of
from openpts.procedures.shared.outcome_text import reached_text
from openpts.record.manifest import Manifest
from openpts.runner import event_lines as lines
from openpts.runner import events
from openpts.runner.progress import RunProgress
from openpts.runner.replay import THE_PURGE
from openpts.runner.step_faults import HANG_NS, capped_streams, hang_text, standstill_text, what_to_do
from openpts.units import MB, NS_PER_S, format_capacity, format_duration, format_latency_ms, per_second
from openpts.vocabulary.command_run import CommandRun, RunKind, file_system_text
from openpts.vocabulary.facts import PurgeReport
from openpts.vocabulary.power import Cut, losses_text
from openpts.vocabulary.purge import PURGE_STATUS_NAMES
from openpts.vocabulary.requests import Outcome
from openpts.vocabulary.sample import Measured, Phase, Sample, phase_text
from openpts.vocabulary.stimulus import AccessPattern, Stream
from openpts.vocabulary.verdict import SteadyState


def phase_lines(progress: RunProgress) -> list[str]:
    """What the steps that have just ended measured; nothing for the time between tracked minutes."""
    apply = progress.apply
    assert apply is not None  # noqa: S101 a part that ends was begun
    if apply.phase in _TRACKED and not _ends_with_tracked_minute(progress):
        return []
    where = progress.conditions and procedure_of(progress.conditions.test).phase_line
    text = resolve_name(where)(progress) if where else None  # what the test says itself
    if text == "":
        return []
    text = text or _LINES[apply.phase](progress, progress.finished)
    name = phase_text(apply.phase, apply.number)
    if apply.phase in _IN_PIECES or apply.until_alike:
        # the test decides whether another piece follows, so only the progress of the phase is known
        return [f"{name} at {format_duration(progress.phase_ns)}: {text}"]
    return [f"{name} done: {text}" if text else f"{name} done"]


def _ends_with_tracked_minute(progress: RunProgress) -> bool:
    """A round may come in many pieces, and an amount ends it in any; the first is a minute alone."""
    conditions: Any = progress.conditions
    if conditions is None or conditions.steady_state not in _BY_MINUTES:
        return True
    is_first = progress.apply is not None and progress.apply.number == 1
    return bool(progress.phase_ns >= (conditions.minute_ns if is_first else conditions.tracking_period_ns))


def _filled(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    """An amount that was written: how much, how fast, how long."""
    amount_bytes, elapsed_ns = sum(s.bytes for s in samples), sum(s.elapsed_ns for s in samples)
    rate = per_second(amount_bytes, elapsed_ns)
    return f"{format_capacity(amount_bytes)} at {rate / MB:,.0f} MB/s, {format_duration(elapsed_ns)}"


def _rest(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    return f"{format_duration(sum(sample.elapsed_ns for sample in samples))} without I/O"


def _drive_cycle(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    """The write and the read of the capacity, each at its own rate."""
    reported = []
    for word, of in (("written", "write"), ("read", "read")):
        own = [sample for sample in samples if getattr(sample, of).bytes]
        amount_bytes, elapsed_ns = sum(getattr(s, of).bytes for s in own), sum(s.elapsed_ns for s in own)
        if elapsed_ns:
            rate = amount_bytes * NS_PER_S / elapsed_ns / MB
            reported.append(f"{format_capacity(amount_bytes)} {word} at {rate:,.0f} MB/s")
    return ", ".join([*reported, format_duration(sum(sample.elapsed_ns for sample in samples))])


def _tracking_round(progress: RunProgress, samples: Sequence[Sample]) -> str:
    """The tracked minute, and how far the drive is filled since its purge."""
    fills = progress.written_bytes / progress.capacity_bytes if progress.capacity_bytes else 0.0
    return f"{iops_and_times(samples[-1])}; {fills:.2f} drive fills written"


def _long_stimulus(progress: RunProgress, samples: Sequence[Sample]) -> str:
    busy = [sample for sample in samples if not sample.step.is_idle] or list(samples)
    if any(sample.streams for sample in busy):
        return each_figure(busy)
    elapsed_ns = sum(s.elapsed_ns for s in busy)
    rate = per_second(sum(s.bytes for s in busy), elapsed_ns)
    return f"{busy[0].step}, {rate / MB:,.0f} MB/s, {_steady_access(progress, busy)}"


def _bursts(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    """The accesses between idle times: what the first and the last of them had."""
    busy = [sample for sample in samples if sample.ios]
    if not busy:
        return "no I/O"
    fastest = max(busy, key=lambda sample: sample.iops)
    return (
        f"first access {busy[0].iops:,.0f} IOPS, last {busy[-1].iops:,.0f}, highest {fastest.iops:,.0f}; "
        f"MRT {_ms(max(sample.max_latency_ns or 0 for sample in busy))}"
    )


def each_figure(samples: Sequence[Sample]) -> str:
    """Figures of different accesses, each in its own unit: no sum of them means anything."""
    return ", ".join(
        _stream_figure(stream, part)
        for sample in samples
        for stream, part in zip(sample.step.streams, sample.streams or (sample,), strict=False)
    )


def _stream_figure(stream: Stream, part: Measured) -> str:
    stimulus = stream.stimulus
    sequential = stimulus.access_pattern is AccessPattern.SEQUENTIAL
    figure = f"{part.bandwidth_bytes_per_s / MB:,.0f} MB/s" if sequential else f"{part.iops:,.0f} IOPS"
    threads = f" TC {stimulus.tc}" if stimulus.tc > 1 else ""
    return f"{stream}{threads} QD {stimulus.qd} {figure}"


def _sweep(progress: RunProgress, samples: Sequence[Sample]) -> str:
    return _bursts(progress, samples) if len(samples) > 2 else each_figure(samples)


def _steady_access(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    """A continuous access, whole: the mean weighs by time."""
    elapsed_ns, ios = sum(s.elapsed_ns for s in samples), sum(s.ios for s in samples)
    if not ios:
        return "no I/O"
    iops = ios * NS_PER_S / elapsed_ns
    latency_ns = fsum((s.mean_latency_ns or 0.0) * s.ios for s in samples) / ios
    slowest_ns = max(s.max_latency_ns or 0 for s in samples)
    return f"{iops:,.0f} IOPS, ART {_ms(latency_ns)}, MRT {_ms(slowest_ns)}, {format_duration(elapsed_ns)}"


_TRACKED: Final = frozenset({Phase.WDPC, Phase.SATURATION})
_BY_MINUTES: Final = frozenset({SteadyState.MINUTES, SteadyState.MINUTES_THEN_ROUNDS})
"""Their conditions have a ``tracking_period_ns``."""
_IN_PIECES: Final = frozenset({Phase.LOAD, Phase.REST})

_LINES: Final[dict[Phase, Callable[[RunProgress, Sequence[Sample]], str]]] = {
    Phase.WIPC: _filled,
    Phase.WDPC: _tracking_round,
    Phase.ROUND: lambda _progress, samples: each_figure(samples),
    Phase.SATURATION: _tracking_round,
    Phase.WAIT_STATE: _bursts,
    Phase.RETURN_TO_BASELINE: _steady_access,
    Phase.ACCESS_GROUP: _long_stimulus,
    Phase.ROUND_PREWRITE: _filled,
    Phase.HISTOGRAM_PREWRITE: _filled,
    Phase.HISTOGRAM: _steady_access,
    Phase.CONDITIONING: _filled,
    Phase.PROFILE: lambda _progress, samples: each_figure(samples),
    Phase.SWEEP: _sweep,
    Phase.LOAD: _long_stimulus,
    Phase.FILL: _filled,
    Phase.BURST: _bursts,
    Phase.REST: _rest,
    Phase.DRIVE_CYCLE: _drive_cycle,
    Phase.LATER_READ: _steady_access,
}


def iops_and_times(sample: Sample) -> str:
    """Of one access: its rate, its mean and its longest response time."""
    if not sample.ios:
        return "no I/O"
    return f"{sample.iops:,.0f} IOPS, ART {_ms(sample.mean_latency_ns)}, MRT {_ms(sample.max_latency_ns)}"


def _ms(latency_ns: float | None) -> str:
    return f"{format_latency_ms(latency_ns or 0)} ms"


def steady_state_lines(progress: RunProgress, *, limits: bool = True) -> list[str]:
    """What is known about steady state in this cycle so far, a line per tracking variable."""
    judged = progress.judged
    if judged is not None:
        return [variable.text(limits=limits) for variable in judged.variables]
    conditions = progress.conditions
    if conditions is None or conditions.most_verdicts == 0:
        return []
    phase = Phase.WDPC if conditions.steady_state is SteadyState.MINUTES_THEN_ROUNDS else None
    return [f"judged from {conditions.round_word(phase)} {WINDOW_ROUNDS} on"]


def _cycle_text(cycle: lines.CycleEnded, conditions: Conditions | None) -> str:
    """How a cycle ended: steady state where the test looks for it, and what ended the stimulus."""
    outcome = Outcome(cycle.steady_round, cycle.last_round, cycle.ended_by)
    judged = outcome.last_round and (conditions is None or conditions.most_verdicts)
    found = []
    if outcome.steady_round is not None or judged:
        found.append(f"steady state {reached_text(outcome, conditions)}")
    if outcome.ended_by:
        found.append(f"({outcome.ended_by})" if found else f"ended by: {outcome.ended_by}")
    name = cycle.title or (f"cycle {cycle.cycle}" if cycle.cycle > 1 else "")
    text = " ".join(found) or "all parts done"
    return f"{name}: {text}" if name else text


def simulated_time_text(simulated_ns: int, wall_s: float) -> str:
    """The time that passed for the drive and for its user: ``simulated 14 min 2 s in 3.20 s``."""
    return f"simulated {format_duration(simulated_ns)} in {format_duration(round(wall_s * NS_PER_S))}"


# Those of many rounds say enough when they end.
_ANNOUNCED: Final = frozenset(
    {Phase.WIPC, Phase.WAIT_STATE, Phase.ACCESS_GROUP, Phase.HISTOGRAM_PREWRITE, Phase.HISTOGRAM}
)


_BEGINS_AGAIN: Final = (
    "the specification allows no interruption after a purge, so the cycle begins again. With "
    "--accept-interruption it continues where it was cut off, which is a deviation."
)


def deviations_line(rules: Sequence[str]) -> str:
    """``3 deviations (PTS-GEN-05, PTS-IOPS-07): the report and --verbose list them``."""
    count = "1 deviation" if len(rules) == 1 else f"{len(rules)} deviations"
    return f"{count} ({', '.join(dict.fromkeys(rules))}): the report and --verbose list them"


def event_lines(event: events.Event, progress: RunProgress) -> list[str]:
    """What an event says in words; nothing for those that only move a bar."""
    if (text_of := _TEXTS.get(type(event))) is not None:
        return [text_of(event, progress)]
    found: list[str] = []
    match event:
        case events.RunStarted(folder, manifest, _, extents, resumes_at, host_limits, preparations):
            found = [_first_line(manifest, extents), f"run folder {folder}", *preparations]
            found += [f"this host may be the limit: {text}" for text in host_limits]
            found += [f"resumes at {resumes_at}"] if resumes_at else []
            found += [_BEGINS_AGAIN] if resumes_at.startswith(THE_PURGE) else []
        case events.PurgeFinished(report):
            found = list(purge_lines(report))
        case events.HostLimited(place, new=new, evidence=evidence) if new:
            found = [f"{host_limit_text(new, evidence_texts(evidence))}, in {place}"]
        case events.StepsStarted(_, apply) if apply.phase in _ANNOUNCED and not progress.phase_ns:
            kinds = dict.fromkeys(str(step) for step in apply.steps if not step.is_idle)
            found = [f"{progress.phase}: {', '.join(kinds) or 'idle'}"]
        case events.StepFinished() if progress.step is None and progress.apply is not None:
            found = [*phase_lines(progress), *_capped_lines(progress)]
        case lines.SteadyStateJudged(phase=phase, number=number) if progress.conditions is not None:
            judged = progress.conditions.round_word(phase)
            found = [f"steady state after {judged} {number}? {line}" for line in steady_state_lines(progress)]
        case lines.RunEnded(state=state, reason=reason):
            found = [f"run {state}" if reason is None else f"run {state}: {reason}"]
            found += [elapsed_text(progress)] if progress.simulated else []
    return found


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


def host_limit_text(limits: Iterable[str], evidence: Iterable[str]) -> str:
    """``the host, and not the drive, is the limit (link): a link to the drive carried all that it can``."""
    return f"the host, and not the drive, is the limit ({' and '.join(limits)}): {'; '.join(evidence)}"


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


_TEXTS: Final[Mapping[type, Callable[[Any, RunProgress], str]]] = {
    lines.Note: lambda event, _: event.text,
    lines.PurgeStarted: lambda _, progress: progress.phase,
    lines.PurgeProgressed: lambda _, progress: progress.phase,
    events.RunPaused: lambda _, progress: progress.phase,
    events.RecordDelayed: lambda event, _: (
        f"can't write the record in {event.folder}: {event.reason}; the run pauses before the next steps "
        "until it can: free space or make it writable, or stop the run"
    ),
    events.RunGoesOn: lambda event, _: (
        f"the record is written again: the run continues after {format_duration(event.paused_ns)}"
    ),
    lines.DeviationFound: lambda event, _: (
        f"deviation {event.rule_id}: required {event.required}; used {event.used}"
    ),
    events.IoHangs: lambda event, _: hang_text(event.io),
    events.HostStalled: lambda event, _: (
        f"{standstill_text(event.sample)} in {event.place}: {what_to_do(repeated=event.repeated)}"
    ),
    lines.HookEnded: lambda event, _: (
        f"hook {f'{event.hook.moment} {event.hook.place}'.strip()}: {event.hook.command}: "
        f"{event.hook.how_it_ended}"
    ),
    lines.CycleEnded: lambda event, progress: _cycle_text(event, progress.conditions),
    lines.PowerWasCut: lambda event, _: _cut_line(event.cut),
    lines.FileSystemPrepared: lambda event, _: file_system_text(event.file_system),
    lines.CommandEnded: lambda event, _: _command_line(event.run),
}
"""Events of one line each."""


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


def _first_line(manifest: Manifest, extents: tuple[Extent, Extent] | None) -> str:
    """What is run on what, how long it takes and what it writes, as `openpts plan` says it."""
    conditions, target = manifest.conditions, manifest.target
    simulated = "" if target.simulation is None else f"SIMULATED, scale 1:{target.scale}, "
    demand = "TC {} QD {}, ".format(*conditions.demand) if conditions.demand else ""
    return (
        f"{conditions.test.upper()} test, {conditions.class_text}, on {target.name} "
        f"({simulated}{format_capacity(target.user_capacity_bytes)}, sector {target.sector_bytes} B), "
        f"{demand}seed {conditions.seed}" + (f", {extents_text(extents)}" if extents else "")
    )


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
            before = report.status_was(name)
            was = "" if before is None else f" (before: {before})"
            yield f"{PURGE_STATUS_NAMES.get(name, name)}: {fact.value}{was}"
