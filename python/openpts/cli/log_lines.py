"""What happens in a run, said in lines."""

from openpts.cli.progress import RunProgress, steady_state_lines
from openpts.cli.simulated_time import simulated_time_text
from openpts.engine.contract import OutstandingIo
from openpts.record.manifest import Manifest
from openpts.runner.events import (
    DeviationFound,
    Event,
    IoHangs,
    PurgeFinished,
    PurgeStarted,
    RunEnded,
    RunStarted,
    SteadyStateJudged,
    StepFinished,
    StepsStarted,
)
from openpts.runner.hangs import HANG_NS
from openpts.units import MB, NS_PER_S, format_block_size, format_capacity, format_duration
from openpts.vocabulary.facts import PurgeReport, TargetFacts
from openpts.vocabulary.sample import Sample


def event_lines(event: Event, progress: RunProgress) -> list[str]:
    """What an event says in words; nothing for those that only move a bar."""
    lines = []
    match event:
        case RunStarted(folder, manifest):
            lines = [_order_line(manifest), f"run folder {folder}"]
        case DeviationFound(deviation):
            lines = [f"deviation {deviation.rule_id}: required {deviation.required}; used {deviation.used}"]
        case PurgeStarted():
            lines = ["purge"]
        case PurgeFinished(report):
            lines = [_purge_line(report)]
        case IoHangs(io):
            lines = [hang_text(io)]
        case StepsStarted(None, (step,)):
            lines = [f"preconditioning: {step}"]
        case StepFinished(None, _, sample):
            lines = [_preconditioning_line(sample)]
        case SteadyStateJudged(number, _):
            lines = [f"steady state after round {number}? {line}" for line in steady_state_lines(progress)]
        case RunEnded():
            lines = [_end_line(event), *_simulated_lines(progress)]
    return lines


def now_line(progress: RunProgress) -> str:
    """Where the run stands: phase, step, rate and time in one line."""
    step = progress.step
    where = f"round {progress.round_number}" if progress.phase == "round" else progress.phase
    what = f", {step}" if step else ""
    return (
        f"{where}, step {progress.position + 1} of {len(progress.steps)}{what}: "
        f"{rate_text(progress)}; {time_text(progress)}"
    )


def rate_text(progress: RunProgress) -> str:
    """IOPS and throughput of the last second, and the I/O that hangs if there is one."""
    rate = f"{progress.iops_now:,.0f} IOPS, {progress.bytes_per_s_now / MB:,.1f} MB/s"
    oldest = progress.oldest
    return f"{rate}; {hang_text(oldest)}" if oldest and oldest.age_ns >= HANG_NS else rate


def hang_text(io: OutstandingIo) -> str:
    """What has not been answered, and for how long."""
    place = f" of {format_block_size(io.length_bytes)} at byte {io.offset_bytes}" if io.length_bytes else ""
    return f"{io.operation}{place} has not been answered for {io.age_ns // NS_PER_S:,} s"


def time_text(progress: RunProgress) -> str:
    """Time since the start and the longest time left; of a simulated drive, its time and ours."""
    remaining_s = progress.remaining_s()
    left = "" if remaining_s is None else f", at most {_duration_text(remaining_s)} left"
    if not progress.simulated:
        return f"{_duration_text(progress.elapsed_s)} elapsed{left}"
    if remaining_s is not None and progress.engine_ns:
        waiting_s = remaining_s * progress.elapsed_s / (progress.engine_ns / NS_PER_S)
        left = f"{left} (in {_duration_text(waiting_s)})"
    return f"{simulated_time_text(progress.engine_ns, progress.elapsed_s)}{left}"


def _duration_text(duration_s: float) -> str:
    return format_duration(round(duration_s * NS_PER_S))


def _order_line(manifest: Manifest) -> str:
    conditions, target = manifest.conditions, manifest.target
    capacity = f"{_simulation_text(target)}{format_capacity(target.user_capacity_bytes)}"
    return (
        f"{conditions.test.upper()} test, {conditions.profile.revision}, on {target.name} "
        f"({capacity}, sector {target.sector_bytes} B), "
        f"TC {conditions.tc} QD {conditions.qd}, seed {conditions.seed}"
    )


def _simulation_text(target: TargetFacts) -> str:
    return "" if target.simulation is None else f"SIMULATED, scale 1:{target.scale}, "


def _simulated_lines(progress: RunProgress) -> list[str]:
    return [simulated_time_text(progress.engine_ns, progress.elapsed_s)] if progress.simulated else []


def _purge_line(report: PurgeReport) -> str:
    if not report.ran:
        return f"no purge: {report.detail}"
    return (
        f"purge done: {report.method}, {report.changed_samples} of {report.samples} marks gone, "
        f"{format_duration(report.duration_ns)}"
    )


def _preconditioning_line(sample: Sample) -> str:
    return (
        f"preconditioning done: {format_capacity(sample.bytes)} at "
        f"{sample.bandwidth_bytes_per_s / MB:,.0f} MB/s, {format_duration(sample.elapsed_ns)}"
    )


def _end_line(end: RunEnded) -> str:
    if end.outcome is None:
        return f"run {end.state}: {end.reason}"
    if end.outcome.steady_round is None:
        return f"steady state not reached in {end.outcome.last_round} rounds"
    return f"steady state reached in round {end.outcome.steady_round}"
