"""What a run will do, how long it takes and what it writes, before anything is touched."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.planning.dry_run import AssumedDrives, Ending, PlannedApply, dry_run
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.kit.procedure import Procedure
from openpts.units import format_capacity, format_duration
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Step, Stimulus, Stream, VerifiedData
from openpts.vocabulary.verdict import Deviation

_T = TypeVar("_T")

_LONGEST_PATTERN = 2


class Repeated(Struct, Generic[_T], frozen=True):
    """A pattern of one or two items, and how often it comes without anything between."""

    pattern: tuple[_T, ...]
    count: int


def collapsed(
    items: Sequence[_T], follows: Callable[[_T, _T, int], bool] | None = None
) -> tuple[Repeated[_T], ...]:
    """The items in their order, with repetitions counted.

    ``follows(first, item, n)`` says whether an item is the nth repetition of the pattern's own one; without
    it, equal items are.
    """
    same = follows or (lambda first, item, _number: first == item)
    found: list[Repeated[_T]] = []
    start = 0
    while start < len(items):
        counts = {length: _count(items, start, length, same) for length in range(1, _LONGEST_PATTERN + 1)}
        length = max(counts, key=lambda length: (counts[length] - 1) * length)
        found.append(Repeated(tuple(items[start : start + length]), counts[length]))
        start += length * counts[length]
    return tuple(found)


def _count(items: Sequence[_T], start: int, length: int, same: Callable[[_T, _T, int], bool]) -> int:
    """How often the items from ``start`` on come, at least once."""
    pattern, count = items[start : start + length], 1
    while True:
        begin = start + count * length
        following = items[begin : begin + length]
        if len(following) < length or not all(
            same(first, item, count) for first, item in zip(pattern, following, strict=True)
        ):
            return count
        count += 1


class Extent(Struct, frozen=True):
    """Time on the engine's clock and bytes written; purges count as nothing: their times are unknown."""

    duration_ns: int
    written_bytes: int

    @classmethod
    def of(cls, planned: Sequence[PlannedApply]) -> "Extent":
        """Of all steps together."""
        return cls(
            sum(sum(one.durations_ns) for one in planned), sum(sum(one.written_bytes) for one in planned)
        )

    @classmethod
    def range_of(cls, planned: Sequence[Sequence[PlannedApply]]) -> tuple["Extent", "Extent"]:
        """The least and the most of several ways of a run: a slow drive writes less in a minute."""
        found = [cls.of(one) for one in planned]
        times, amounts = [one.duration_ns for one in found], [one.written_bytes for one in found]
        return cls(min(times), min(amounts)), cls(max(times), max(amounts))


def extents_of_all(plans: Sequence["RunPlan"]) -> tuple[Extent, Extent]:
    """The least and the most of several runs together."""
    found = [(plan.shortest_extent, plan.longest_extent) for plan in plans]
    least, most = (
        Extent(sum(one.duration_ns for one in of), sum(one.written_bytes for one in of))
        for of in zip(*found, strict=True)
    )
    return least, most


def extents_text(extents: tuple[Extent, Extent]) -> str:
    """``takes 40 min to 2 h 0 min, writes 120 GB to 400 GB``."""
    takes = span(*(format_duration(one.duration_ns) for one in extents))
    return f"takes {takes}, writes {span(*(format_capacity(one.written_bytes) for one in extents))}"


def span(least: str, most: str) -> str:
    """From the least to the most; one of them where they read the same."""
    return least if least == most else f"{least} to {most}"


class PhaseExtent(Struct, frozen=True):
    """A part of one cycle at its shortest and its longest; its applies are rounds, wait states and so on."""

    cycle: int
    phase: Phase
    shortest: Extent
    longest: Extent
    shortest_applies: int
    longest_applies: int


class RunPlan(Struct, frozen=True):
    """A planned run, as fast and slow drives may take it: see ``planned_ways``."""

    test: Procedure
    conditions: Conditions
    user_capacity_bytes: int
    drives: AssumedDrives
    ways: tuple[tuple[PlannedApply, ...], ...]
    deviations: tuple[Deviation, ...]
    shortened: bool

    @property
    def longest(self) -> tuple[PlannedApply, ...]:
        """Every step that may come, on a slow drive."""
        return self.ways[-1]

    @property
    def shortest_extent(self) -> Extent:
        """The least time, and the least that is written."""
        return Extent.range_of(self.ways)[0]

    @property
    def longest_extent(self) -> Extent:
        """The most time, and the most that is written."""
        return Extent.range_of(self.ways)[1]

    @property
    def phases(self) -> tuple[PhaseExtent, ...]:
        """Cycle by cycle, in the order in which the parts first come."""
        keys = dict.fromkeys((one.cycle, one.apply.phase) for one in self.longest)
        found = []
        for key in keys:
            parts = [_of(way, *key) for way in self.ways]
            found.append(
                PhaseExtent(*key, *Extent.range_of(parts), len(_whole(parts[0])), len(_whole(parts[-1])))
            )
        return tuple(found)

    @property
    def blocks(self) -> tuple[Repeated[PlannedApply], ...]:
        """The longest run in its order, with equal rounds listed once."""
        return collapsed(_whole(self.longest), _is_repetition)


def planned_ways(
    test: Procedure, conditions: Conditions, user_capacity_bytes: int, drives: AssumedDrives
) -> tuple[tuple[PlannedApply, ...], ...]:
    """The test's own script on the fast and the slow drive, steady at once; then both, steady at last."""
    return tuple(
        dry_run(test.script(conditions, user_capacity_bytes), user_capacity_bytes, drive, ending)
        for ending in (Ending.SHORTEST, Ending.LONGEST)
        for drive in (drives.fast, drives.slow)
    )


def plan_run(
    test: Procedure,
    conditions: Conditions,
    standard: Conditions,
    user_capacity_bytes: int,
    drives: AssumedDrives,
    *,
    full_length: Conditions | None = None,
) -> RunPlan:
    """Drive the test's own script at assumed rates; ``full_length`` is what lengths are judged by."""
    return RunPlan(
        test=test,
        conditions=conditions,
        user_capacity_bytes=user_capacity_bytes,
        drives=drives,
        ways=planned_ways(test, conditions, user_capacity_bytes, drives),
        deviations=deviations(conditions, standard, test.rules),
        shortened=shortened(conditions, full_length or standard),
    )


def _whole(planned: Sequence[PlannedApply]) -> list[PlannedApply]:
    """Pieces of one phase and number put together, of which there may be hundreds of thousands."""
    pieces: dict[tuple[int, Phase, int], list[PlannedApply]] = {}
    for one in planned:
        pieces.setdefault((one.cycle, one.apply.phase, one.apply.number), []).append(one)
    return [
        PlannedApply(
            cycle,
            replace(found[0].apply, steps=tuple(step for one in found for step in one.apply.steps)),
            tuple(duration_ns for one in found for duration_ns in one.durations_ns),
            tuple(written_bytes for one in found for written_bytes in one.written_bytes),
        )
        for (cycle, *_), found in pieces.items()
    ]


def _of(planned: Sequence[PlannedApply], cycle: int, phase: Phase) -> list[PlannedApply]:
    return [one for one in planned if (one.cycle, one.apply.phase) == (cycle, phase)]


def _alike(step: Step) -> tuple[Stream, ...]:
    """The streams of a step, whatever generation their data is of: that counts cycles."""

    def ageless(stimulus: Stimulus) -> Stimulus:
        is_counted = isinstance(stimulus.data, VerifiedData)
        return msgspec.structs.replace(stimulus, data=VerifiedData(0)) if is_counted else stimulus

    return tuple(msgspec.structs.replace(one, stimulus=ageless(one.stimulus)) for one in step.streams)


def _is_repetition(first: PlannedApply, item: PlannedApply, number: int) -> bool:
    """The same stimuli for the same time, one number later; what is left of an amount may differ."""
    return (
        (item.cycle, item.apply.phase) == (first.cycle, first.apply.phase)
        and item.apply.number == first.apply.number + number
        and [_alike(step) for step in item.apply.steps] == [_alike(step) for step in first.apply.steps]
        and (item.durations_ns, item.written_bytes) == (first.durations_ns, first.written_bytes)
    )
