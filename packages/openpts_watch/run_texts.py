"""What is known of a run, in texts: for the screen, and for a pipe that gets one block of them."""

from collections.abc import Iterator
from typing import Final

from openpts.analysis.steady_state import BAND
from openpts.escaped_text import visible_line
from openpts.record.manifest import RunState
from openpts.units import MB, format_duration, format_latency_ms
from openpts.vocabulary.sample import Phase, phase_text
from openpts_watch.runs_here import SeenPhase, SeenRun, Tracked

DONE, NOW, TO_COME = "x", ">", " "
_SHOWN_ROUNDS: Final = 5


def title(seen: SeenRun, state: RunState) -> str:
    """Test, profile, drive and state on one line."""
    run = seen.run
    if run is None:
        return f"no events yet, {state}"
    serial = f" {run.target.serial}" if run.target.serial else ""
    attempts = f", attempt {seen.attempts}" if seen.attempts > 1 else ""
    drive = visible_line(f"{run.target.name}{serial}")
    return f"{run.test.upper()}, {run.profile}, on {drive}: {state}{attempts}"


def figures(seen: SeenRun) -> list[tuple[str, str]]:
    """Rates of now, response times of the last step, and how the drive is, by name."""
    now, step = seen.points[-1] if seen.points else None, seen.step
    times = list(step.operations.values()) if step is not None else []
    slowest = max((one.latency_max_ns or 0 for one in times), default=0)
    means = [(one.latency_mean_ns or 0.0) * one.ios for one in times]
    mean_ns = sum(means) / (sum(one.ios for one in times) or 1)
    tails = [one.percentiles_ns["p99.9"] for one in times if "p99.9" in one.percentiles_ns]
    fills = None if seen.progress is None else seen.progress.drive_fills
    temperature = None if now is None else now.temperature_c
    return [
        ("IOPS", "-" if now is None else f"{now.iops:,.0f}"),
        ("MB/s", "-" if now is None else f"{now.bytes_per_s / MB:,.1f}"),
        ("Mean", f"{format_latency_ms(mean_ns)} ms" if times else "-"),
        ("p99.9", f"{format_latency_ms(max(tails))} ms" if tails else "-"),
        ("Max", f"{format_latency_ms(slowest)} ms" if times else "-"),
        ("Temp", "-" if temperature is None else f"{temperature:.0f} °C"),
        ("Fills", "-" if fills is None else f"{fills:.2f}"),
    ]


def plan_lines(seen: SeenRun) -> Iterator[tuple[int, str, str]]:
    """The plan, cycle by cycle: the cycle, what of it is done, running or to come, and its text."""
    for (cycle, _), phase in seen.phases.items():
        yield cycle, _mark(seen, phase), planned_text(phase)


def planned_text(phase: SeenPhase) -> str:
    """``round 3 of 25, 5 h 10 min``: what began, of the most that may come, and what they take at most."""
    planned = phase.planned
    of = f" {len(phase.numbers)} of {planned.numbers}"
    name = _name(planned.phase)
    return f"{name}{of if planned.numbers > 1 else ''}, {format_duration(planned.longest_ns)}"


def _name(phase: Phase) -> str:
    return phase_text(phase, 0).replace(" 0", "")


def _mark(seen: SeenRun, phase: SeenPhase) -> str:
    """A phase is done with the run, with its last step, or when the plan is behind it."""
    order, now = list(seen.phases), seen.now
    here = (phase.planned.cycle, phase.planned.phase)
    if now is not None and seen.finished is None and here == (now.cycle, now.phase):
        return NOW
    at = order.index((now.cycle, now.phase)) if now and (now.cycle, now.phase) in order else -1
    is_over = seen.finished is not None or order.index(here) < at or len(phase.steps) >= phase.planned.steps
    return DONE if phase.numbers and is_over else TO_COME


def tracked_lines(seen: SeenRun) -> list[str]:
    """Each tracking variable: its verdict, its last rounds, the band and the line of best fit."""
    if not seen.tracked:
        return ["judged from round 5 on" if seen.finished is None else "no window was judged"]
    return [text for tracked in seen.tracked.values() for text in _of_variable(tracked)]


def _of_variable(tracked: Tracked) -> Iterator[str]:
    last = tracked.last
    yield visible_line(last.text())
    values = list(tracked.values.items())[-_SHOWN_ROUNDS:]
    half = BAND * last.average
    yield "  " + "  ".join(f"{number}: {_number(value)}" for number, value in values)
    slope = "" if last.slope is None else f", slope {_number(last.slope)} a round"
    band = " to ".join(_number(last.average + sign * half) for sign in (-1, 1))
    yield f"  band {band} around {_number(last.average)}{slope}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"


def deviation_lines(seen: SeenRun) -> list[str]:
    """The ledger so far."""
    every = [
        f"{one.rule_id}: required {one.required}; used {one.used}" + f" ({one.steps} steps)" * (one.steps > 1)
        for one in seen.deviations.values()
    ]
    return [visible_line(text) for text in every] or ["none"]


def host_lines(seen: SeenRun) -> list[str]:
    """What of the host may be the limit, and for how long it was."""
    expected = seen.run.host_limits if seen.run is not None else ()
    was = [f"{part}: the limit for {format_duration(time_ns)}" for part, time_ns in seen.limited_ns.items()]
    every = [*was, *seen.evidence, *(f"expected: {text}" for text in expected)]
    return [visible_line(text) for text in every] or ["the host was no limit so far"]


def block(seen: SeenRun, state: RunState) -> Iterator[str]:
    """All of it, for what is no terminal."""
    yield title(seen, state)
    yield visible_line(seen.now_text)
    share = seen.done_share
    yield f"{'' if share is None else f'{share:.0%} done, '}{seen.left_text}"
    yield from ("", *(f"{name:6} {value}" for name, value in figures(seen)), "", "Plan")
    yield from (f"  [{mark}] cycle {cycle}, {text}" for cycle, mark, text in plan_lines(seen))
    for heading, texts in (
        ("Steady state", tracked_lines(seen)),
        ("Deviations", deviation_lines(seen)),
        ("Host", host_lines(seen)),
    ):
        yield from ("", heading, *(f"  {text}" for text in texts))
