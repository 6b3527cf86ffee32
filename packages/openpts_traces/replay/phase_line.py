"""What was played in a phase of a test, in one line at its end."""

from openpts.runner.progress import RunProgress
from openpts.units import MB, NS_PER_S, format_duration, format_latency_ms
from openpts.vocabulary.sample import StepPlace
from openpts_traces.replay.passes import passes_of


def phase_line(progress: RunProgress) -> str | None:
    """Passes of a trace by their scores, and what the drive did in the last one; None without a pass."""
    busy = [sample for sample in progress.finished if not sample.step.is_idle] or list(progress.finished)
    passes = passes_of([*progress.earlier_passes, *busy])
    if not passes:
        return None
    apply, last = progress.apply, passes[-1]
    assert apply is not None  # noqa: S101 a part that ends was begun
    place = StepPlace(1, apply.phase, apply.number, 0)
    own = progress.conditions.part_name(place) if progress.conditions else None
    scores = ", ".join("n/a" if one.score is None else f"{one.score.score:,}" for one in passes)
    rate = f"{last.trace.bytes * NS_PER_S / last.execution_ns / MB:,.0f} MB/s" if last.execution_ns else "n/a"
    art, mrt = (format_latency_ms(ns or 0) for ns in (last.trace.mean_latency_ns, last.trace.max_latency_ns))
    length = format_duration(sum(one.sample.elapsed_ns for one in passes))
    name = own or last.sample.step.streams[0].name
    return f"{name}: score {scores}; {rate}, ART {art} ms, MRT {mrt} ms, {length}"
