"""What the steps of a run say of each other: their places, their times, the names of their streams."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from openpts.record.impossible import is_plain_loop
from openpts.vocabulary.sample import Sample, StepState

if TYPE_CHECKING:
    from openpts.record.reader import StepRecord

Found = Iterator[tuple[object, str]]


def disorder(steps: Sequence["StepRecord"], *, exact: bool) -> Found:
    """Each contradiction, with the place of the step in which it is; ``exact``: times are not nominal."""
    yield from _missing(steps)
    yield from _renamed(steps)
    if exact:
        for before, after in pairwise(steps):
            if found := _of_pair(before.sample, after.sample, adjacent=after.behind == before.behind + 1):
                yield after.place, found


def _missing(steps: Sequence["StepRecord"]) -> Found:
    """Steps of one number of a phase have positions from 0 on: what was repeated took its own place again."""
    positions: dict[tuple[object, ...], int] = defaultdict(int)
    for step in steps:
        place = step.place
        key = (place.cycle, place.phase, place.number)
        if place.position != positions[key]:
            yield place, f"the step before it, at position {positions[key]}, is missing"
            return
        positions[key] += 1


def _renamed(steps: Sequence["StepRecord"]) -> Found:
    """A test names its streams in one order, whatever they do in a step."""
    orders: dict[frozenset[str], tuple[str, ...]] = {}
    for step in steps:
        names = tuple(stream.name for stream in step.sample.step.streams)
        if (other := orders.setdefault(frozenset(names), names)) != names and len(other) == len(names):
            yield step.place, f"its streams are {', '.join(names)}, and in other steps {', '.join(other)}"


def _of_pair(before: Sample, after: Sample, *, adjacent: bool) -> str | None:
    """Steps come one after another; between plain ones lies exactly the gap, between others no more than it.

    Where I/Os are planned the time of a step may end behind its last answer, from which a gap counts, and may
    begin before its first submission; with a ramp-up it begins that long after it.
    """
    distance_ns = after.started_ns - before.started_ns - before.elapsed_ns
    if distance_ns < 0:
        return f"started_ns is {after.started_ns:,}, before the end of the step before it"
    pair = (before, after)
    sound = all(one.state is StepState.COMPLETE and not one.errors for one in pair)
    if not adjacent or not sound or after.gap_ns is None:
        return None
    plain = all(is_plain_loop(one.step) and not one.step.ramp_ns for one in pair)
    if after.gap_ns < distance_ns - after.step.ramp_ns or (plain and after.gap_ns != distance_ns):
        return f"gap_ns is {after.gap_ns:,}, and the step before it ended {distance_ns:,} ns earlier"
    return None
