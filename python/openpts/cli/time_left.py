"""How long a run will still take, from its plan and from how fast the step that runs goes now."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from openpts.planning.dry_run import PlannedApply
from openpts.units import NS_PER_S
from openpts.vocabulary.part import Part
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import Duration


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """``bounded``: durations alone end what is to come, so that it can't take longer."""

    seconds: float
    bounded: bool

    @property
    def words(self) -> str:
        """How sure the time is."""
        return "at most" if self.bounded else "about"


@dataclass(slots=True)
class PlanFollower:
    """Knows the place of the running steps in the plan, and what comes behind them."""

    _planned: Sequence[PlannedApply] = ()
    _indexes_of: dict[tuple[int, Part, int], list[int]] = field(default_factory=dict)
    _behind: list[TimeLeft] = field(default_factory=list)
    _index: int | None = None

    def follow(self, plan: Sequence[PlannedApply]) -> None:
        """Take the longest plan of a run that begins."""
        self._planned, self._index = plan, None
        self._indexes_of = {}
        for index, planned in enumerate(plan):
            key = (planned.cycle, planned.apply.part, planned.apply.number)
            self._indexes_of.setdefault(key, []).append(index)
        self._behind = [TimeLeft(0.0, True)]
        for planned in reversed(plan):
            self._behind.append(_added(self._behind[-1], planned, 0))
        self._behind.reverse()

    def begin(self, cycle: int, part: Part, number: int) -> None:
        """These steps run now; a plan that does not have them can't say what follows.

        Steps of one part and number may come in pieces, one behind the other.
        """
        found = self._indexes_of.get((cycle, part, number), [])
        last = -1 if self._index is None else self._index
        self._index = next((index for index in found if index > last), found[-1] if found else None)

    def behind_step(self, position: int) -> TimeLeft | None:
        """What comes after the step at this position; None where the plan doesn't know."""
        if self._index is None or self._index >= len(self._planned):
            return None
        return _added(self._behind[self._index + 1], self._planned[self._index], position + 1)


def _added(behind: TimeLeft, planned: PlannedApply, first: int) -> TimeLeft:
    steps = planned.apply.steps[first:]
    return TimeLeft(
        behind.seconds + sum(planned.durations_ns[first:]) / NS_PER_S,
        behind.bounded and _bounded(planned.apply.part, steps),
    )


def _bounded(part: Part, steps: Sequence[Step]) -> bool:
    """How many minutes of saturation there are depends on what the drive takes in them."""
    return part is not Part.SATURATION and all(isinstance(step.stop, Duration) for step in steps)
