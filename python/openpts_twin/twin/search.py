"""The search for the values with which a simulated drive shows what was measured.

Continuous values by Gauss-Newton steps on logarithms of figures, in units of each figure's own scatter;
choices by trying what lies beside them. A figure that is far off counts as if it were less so: some are what
the model does not have.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from openpts.errors import OpenptsError, UsageError
from openpts_twin.twin import parameters as names
from openpts_twin.twin.evidence import Evidence, Figures
from openpts_twin.twin.least_squares import Problem, covariance, solve
from openpts_twin.twin.parameters import CHOICES, CONTINUOUS, Continuous, Values, preset_of, value_of
from openpts_twin.twin.replay import Replay
from openpts_twin.twin.start import dies_of, start_of

# residuals beyond count with their size, not with its square
_FAR: Final = 2.5
_STEP: Final = 0.08
_MOST_MOVE: Final = 0.5
_IMPROVES: Final = 0.98
_HOPELESS: Final = 4.0
# scatter of figures at the least: a model is not better than that
_FLOORS: Final = {"rate": 0.01, "course": 0.03, "mean": 0.02, "p50": 0.01, "p99": 0.05, "p99.9": 0.1}

Tell = Callable[[str], None]


class Trial(Struct, frozen=True):
    """A candidate, and how far each figure is from what was measured, in units of its scatter."""

    values: dict[str, Any]
    residuals: tuple[float, ...]
    cost: float


class Found(Struct, frozen=True):
    """The best candidate and others that agree with the figures about as well.

    ``errors`` are what is left of the figures' logarithms, as a standard deviation by kind of figure.
    """

    values: dict[str, Any]
    assumed: tuple[str, ...]
    alternatives: tuple[dict[str, Any], ...]
    errors: dict[str, float]
    trials: int


def kind_of(figure: str) -> str:
    """What a figure is, such as ``p99`` of ``write p99``, or ``course`` of one of its parts."""
    words = figure.split()
    return "course" if words[0] == "rate" and len(words) > 1 else words[-1]


class Search:
    """A search on the evidence; every trial is a replay."""

    def __init__(
        self,
        content: Mapping[str, Any],
        evidence: Evidence,
        scale: int,
        tell: Tell,
        sure: frozenset[str] = frozenset(),
    ) -> None:
        """``sure`` are names of values that the content has from elsewhere: they stay."""
        self._sure = sure
        self._content = content
        self._evidence = evidence
        self._scale = scale
        self._replay = Replay(scale)
        self._tell = tell
        self._trials = 0
        self._scatter: dict[str, float] = dict(_FLOORS)
        self._free: tuple[Continuous, ...] = ()

    def find(self) -> Found:
        """The candidate that comes nearest. Raises UsageError where none can be simulated at all."""
        best, assumed = self.begin()
        self._free = tuple(
            each
            for each in CONTINUOUS
            if each.name not in self._sure and value_of(self._content, each.name, 0) > each.least
        )
        matrix = self._jacobian(best)
        best = self._approach(best, matrix, steps=2)
        chosen = self._choose(best, matrix)
        if chosen is not best:
            best, matrix = chosen, self._jacobian(chosen)
        best = self._approach(best, matrix, steps=3)
        return Found(
            best.values, assumed, tuple(self._alternatives(best, matrix)), self._errors(best), self._trials
        )

    def begin(self) -> tuple[Trial, tuple[str, ...]]:
        """The best of the computed candidates, and what no step shows. Raises as ``find`` does."""
        shipped = dies_of(self._content, self._evidence)
        found: list[tuple[float, Trial, tuple[str, ...]]] = []
        known = {name: value_of(self._content, name) for name in self._sure}
        for dies in (shipped,) if names.DIES in self._sure else (shipped, shipped * 2, shipped // 2):
            if dies < 1:
                continue
            start = start_of(self._content, self._evidence, dies)
            trial = self._try({**start.values, **known})
            if trial is not None:
                found.append((trial.cost, trial, start.assumed))
        if not found:
            raise UsageError(f"no drive like {self._content['name']} can be simulated at scale {self._scale}")
        _, trial, assumed = min(found, key=lambda one: one[0])
        return trial, assumed

    def _try(self, values: Values) -> Trial | None:
        """A trial; None where the preset can't have such values."""
        self._trials += 1
        try:
            pairs = list(self._replay.figures(preset_of(self._content, values), self._evidence))
        except (OpenptsError, ValueError):
            return None
        residuals = tuple(self._residuals(pairs))
        cost = sum(map(_loss, residuals)) / max(1, len(residuals))
        self._tell(f"trial {self._trials}: {cost:.3f}")
        return Trial(dict(values), residuals, cost)

    def _residuals(self, pairs: Sequence[tuple[Figures, Figures]]) -> Iterator[float]:
        for measured, shown in pairs:
            for name, value in measured.items():
                other = shown.get(name)
                # a step too short for a percentile on the candidate says nothing
                yield math.log(other / value) / self._scatter[kind_of(name)] if other else 0.0

    def _approach(self, best: Trial, matrix: list[list[float]], steps: int) -> Trial:
        """Steps towards less, from which the matrix learns; one that does not lead there is tried shorter."""
        for _ in range(steps):
            move = self._move(best, matrix)
            for share in (1.0, 0.4):
                trial = self._try(self._moved(best.values, [share * each for each in move]))
                if trial is not None and trial.cost < best.cost:
                    break
            else:
                return best
            gained = best.cost - trial.cost
            self._learn(matrix, [share * each for each in move], best, trial)
            best = trial
            if gained < (1 - _IMPROVES) * best.cost:
                return best
        return best

    def _jacobian(self, best: Trial) -> list[list[float]]:
        """Of each parameter what a step does to every figure."""
        columns: list[list[float]] = []
        for number in range(len(self._free)):
            move = [_STEP if each == number else 0.0 for each in range(len(self._free))]
            trial = self._try(self._moved(best.values, move))
            columns.append(
                [0.0] * len(best.residuals)
                if trial is None
                else [(b - a) / _STEP for a, b in zip(best.residuals, trial.residuals, strict=True)]
            )
        return columns

    def _learn(self, matrix: list[list[float]], move: list[float], old: Trial, new: Trial) -> None:
        """Broyden's update: what the step did, in place of what was expected of it."""
        length = sum(each * each for each in move)
        if not length:
            return
        for row, (a, b) in enumerate(zip(old.residuals, new.residuals, strict=True)):
            missed = b - a - sum(column[row] * each for column, each in zip(matrix, move, strict=True))
            for column, each in zip(matrix, move, strict=True):
                column[row] += missed * each / length

    def _problem(self, best: Trial, matrix: list[list[float]]) -> Problem:
        weights = [min(1.0, _FAR / abs(each)) if each else 1.0 for each in best.residuals]
        return Problem(matrix, list(best.residuals), weights, [1 / each.spread**2 for each in self._free])

    def _move(self, best: Trial, matrix: list[list[float]]) -> list[float]:
        move = solve(self._problem(best, matrix))
        return [max(-_MOST_MOVE, min(_MOST_MOVE, each)) for each in move]

    def _moved(self, values: Values, move: Sequence[float]) -> dict[str, Any]:
        changed = dict(values)
        for each, by in zip(self._free, move, strict=True):
            now = changed.get(each.name, value_of(self._content, each.name))
            changed[each.name] = each.value(each.at(now) + by)
        return changed

    def _choose(self, best: Trial, matrix: list[list[float]]) -> Trial:
        """Try what lies beside each choice, and go on in the direction in which it became better."""
        for choice in CHOICES:
            if choice.name in self._sure:
                continue
            tried: list[Any] = []
            again = True
            while again:
                again = False
                now = best.values.get(choice.name, value_of(self._content, choice.name))
                if now is None:
                    break
                tried.append(now)
                for value in choice.beside(now):
                    if value in tried:
                        continue
                    tried.append(value)
                    trial = self._profiled(self._with_choice(best.values, choice.name, value), best, matrix)
                    if trial is not None and trial.cost < best.cost * _IMPROVES:
                        best, again = trial, True
                        break
        return best

    def _profiled(self, values: Values, best: Trial, matrix: list[list[float]]) -> Trial | None:
        """A trial of another choice, and one of what the rest would be with it: the better of both."""
        trial = self._try(values)
        if trial is None or trial.cost > _HOPELESS * best.cost:
            return None
        moved = self._try(self._moved(values, self._move(trial, matrix)))
        return trial if moved is None or trial.cost < moved.cost else moved

    def _with_choice(self, values: Values, name: str, value: Any) -> dict[str, Any]:
        """The values with another choice, and what is tied to it: so many programs in a second."""
        changed = {**values, name: value}
        if name == names.DIES:
            factor = value / values[names.DIES]
            for program in (names.PROGRAM, names.SLC_PROGRAM):
                if program in values:
                    changed[program] = values[program] * factor
            changed[names.GROUP] = min(value, values.get(names.GROUP, value))
        return changed

    def _errors(self, best: Trial) -> dict[str, float]:
        found = defaultdict[str, list[float]](list)
        kinds = [kind_of(name) for _, figures in self._evidence.steps() for name in figures]
        for kind, residual in zip(kinds, best.residuals, strict=True):
            found[kind].append(abs(residual) * self._scatter[kind])
        # the middle of the deviations, as that of a normal distribution: some figures are far off
        return {kind: 1.4826 * sorted(all_of)[len(all_of) // 2] for kind, all_of in found.items()}

    def _alternatives(self, best: Trial, matrix: list[list[float]]) -> Iterator[dict[str, Any]]:
        """Candidates along the axes in which the figures leave most room, one deviation to each side."""
        for move in covariance(self._problem(best, matrix), best.cost):
            yield self._moved(best.values, move)
            yield self._moved(best.values, [-each for each in move])


def _loss(residual: float) -> float:
    size = abs(residual)
    return size * size if size <= _FAR else _FAR * (2 * size - _FAR)
