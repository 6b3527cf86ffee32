"""What a run will do, how long it takes and what it writes, before anything is touched."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.planning.dry_run import AssumedDrive, Ending, PlannedApply, dry_run
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.kit.procedure import Procedure
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


class PhaseExtent(Struct, frozen=True):
    """A part of one cycle at its shortest and its longest; its applies are rounds, wait states and so on."""

    cycle: int
    phase: Phase
    shortest: Extent
    longest: Extent
    shortest_applies: int
    longest_applies: int


class RunPlan(Struct, frozen=True):
    """A planned run: ``longest`` has every step that may come, ``shortest`` ends as soon as it can."""

    test: Procedure
    conditions: Conditions
    user_capacity_bytes: int
    drive: AssumedDrive
    shortest: tuple[PlannedApply, ...]
    longest: tuple[PlannedApply, ...]
    deviations: tuple[Deviation, ...]
    shortened: bool

    @property
    def shortest_extent(self) -> Extent:
        """If steady state is there at once."""
        return Extent.of(self.shortest)

    @property
    def longest_extent(self) -> Extent:
        """If steady state comes with the last round."""
        return Extent.of(self.longest)

    @property
    def phases(self) -> tuple[PhaseExtent, ...]:
        """Cycle by cycle, in the order in which the parts first come."""
        keys = dict.fromkeys((one.cycle, one.apply.phase) for one in self.longest)
        return tuple(
            PhaseExtent(cycle, phase, Extent.of(few), Extent.of(many), len(_whole(few)), len(_whole(many)))
            for cycle, phase in keys
            for few, many in [(_of(self.shortest, cycle, phase), _of(self.longest, cycle, phase))]
        )

    @property
    def blocks(self) -> tuple[Repeated[PlannedApply], ...]:
        """The longest run in its order, with equal rounds listed once."""
        return collapsed(_whole(self.longest), _is_repetition)


def plan_run(
    test: Procedure,
    conditions: Conditions,
    standard: Conditions,
    user_capacity_bytes: int,
    drive: AssumedDrive,
) -> RunPlan:
    """Drive the test's own script on assumed rates, both ways."""
    shortest, longest = (
        dry_run(test.script(conditions, user_capacity_bytes), user_capacity_bytes, drive, ending)
        for ending in (Ending.SHORTEST, Ending.LONGEST)
    )
    return RunPlan(
        test=test,
        conditions=conditions,
        user_capacity_bytes=user_capacity_bytes,
        drive=drive,
        shortest=shortest,
        longest=longest,
        deviations=deviations(conditions, standard, test.rules),
        shortened=shortened(conditions, standard),
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
