"""A continuous stimulus that is judged by single minutes (PTS 10.3.2, 11.2 step 3, 13.2 step 3.2, 14.2)."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from openpts.analysis.steady_state import disturbed_rounds
from openpts.units import format_duration
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stop import planned_length_ns
from openpts.vocabulary.verdict import SteadyState, SteadyStateReport
from openpts_pts.evidence.evidence import MINUTE_NS, Evidence, about, at_least, last_window, lasted
from openpts_pts.evidence.finding import Finding, all_of, met, met_if, not_reached

_PERIOD_NS: Final = 30 * MINUTE_NS
MOST_ROUNDS: Final = 25


class TrackedMinute(Struct, frozen=True):
    """The minute at the end of a tracking round."""

    cycle: int
    number: int
    sample: Sample


def minutes_of(evidence: Evidence) -> list[TrackedMinute]:
    """The tracked minutes of all cycles: the last step of each tracking round that came to its end."""
    by_cycle: dict[int, list[TrackedMinute]] = {}
    for phase in (Phase.WDPC, Phase.SATURATION):
        for record in evidence.rounds(phase):
            minute = TrackedMinute(record.cycle, record.number, record.samples[-1])
            by_cycle.setdefault(record.cycle, []).append(minute)
    return [
        minute
        for minutes in by_cycle.values()
        for minute in (minutes[:-1] if _is_cut(minutes[-1], minutes[0]) else minutes)
    ]


def _is_cut(minute: TrackedMinute, first: TrackedMinute) -> bool:
    """Whether the stimulus ended in the middle of a tracking round, before its minute or within it.

    That can only be the last one of its cycle, which is not its first; its last step is then longer than the
    minutes before it were planned, or it was ended by something else than its time.
    """
    if minute is first:
        return False
    planned_ns = planned_length_ns(minute.sample.step.stop)
    return planned_ns != planned_length_ns(first.sample.step.stop) or not at_least(
        minute.sample.elapsed_ns, planned_ns or 0
    )


def tracked_minutes(evidence: Evidence) -> Finding:
    """The tracked minutes last a minute, and begin 30 minutes after the one before."""
    found = minutes_of(evidence)
    return all_of(_minute(before, each) for before, each in zip([None, *found], found, strict=False))


def _minute(before: TrackedMinute | None, found: TrackedMinute) -> Finding:
    required, used = "1 min, every 30 min", format_duration(found.sample.elapsed_ns)
    right = lasted(found.sample, MINUTE_NS)
    if before is not None and before.cycle == found.cycle:
        distance_ns = found.sample.started_ns - before.sample.started_ns
        right = right and about(distance_ns, _PERIOD_NS)
        used = f"{used}, {format_duration(distance_ns)} after the one before"
    return met_if(right, required, used)


def logged_every_minute(*parts: Phase) -> Callable[[Evidence], Finding]:
    """Each step of these parts is recorded in intervals of a minute or less."""

    def check(evidence: Evidence) -> Finding:
        samples = [sample for phase in parts for sample in evidence.of(phase)]
        coarse = [s for s in samples if min(s.interval_ns, s.elapsed_ns) > MINUTE_NS]
        if not samples:
            return not_reached("no such step was completed")
        longest = max(min(s.interval_ns, s.elapsed_ns) for s in samples)
        return met_if(not coarse, "every minute", f"every {format_duration(longest)}")

    return check


def tracked_verdicts(evidence: Evidence) -> list[tuple[str, SteadyStateReport | None]]:
    """The tracked minutes of each cycle over their last window."""
    found = []
    minutes = defaultdict[int, list[Sample]](list)
    for each in minutes_of(evidence):
        minutes[each.cycle].append(each.sample)
    of_minutes = evidence.manifest.conditions.steady_state is SteadyState.MINUTES
    for cycle in evidence.tested_cycles:
        steady_round = None
        if of_minutes and cycle <= len(evidence.outcomes):
            steady_round = evidence.outcomes[cycle - 1].steady_round
        if minutes[cycle]:
            found.append(("tracked minutes", _window_of(minutes[cycle], steady_round)))
    return found


def _window_of(minutes: Sequence[Sample], steady_round: int | None) -> SteadyStateReport | None:
    disturbed = disturbed_rounds([minute] for minute in minutes)
    return last_window([minute.iops for minute in minutes], steady_round, disturbed)


def preconditioned(evidence: Evidence) -> Finding:
    """WDPC ran until its tracked minutes were steady, or for 25 of them."""
    minutes = [each.sample for each in minutes_of(evidence)]
    went_on = bool(evidence.of(Phase.ROUND) or evidence.of(Phase.WAIT_STATE) or evidence.outcomes)
    if not went_on:
        return not_reached(evidence.ending)
    report = _window_of(minutes, None)
    required = f"until steady, or {MOST_ROUNDS} tracking rounds"
    if report is not None and report.steady:
        return met(f"steady in tracking round {len(minutes)}")
    return met_if(len(minutes) >= MOST_ROUNDS, required, f"{len(minutes)} tracking rounds, not steady")
