"""The search for the values with which a simulated drive shows what was measured.

Continuous values by Gauss-Newton steps on logarithms of figures, in units of each figure's own scatter;
choices by trying what lies beside them. A figure that chance changes counts less, and one that is far off as
if it were less so: some are what the model does not have.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import mul
from random import Random
from typing import Any, Final

from msgspec import Struct

from openpts.errors import OpenptsError, UsageError
from openpts_twin.twin import parameters as names
from openpts_twin.twin.evidence import Evidence
from openpts_twin.twin.least_squares import Problem, draw, solve
from openpts_twin.twin.parameters import CHOICES, CONTINUOUS, VICTIMS, Values, preset_of, value_of
from openpts_twin.twin.replay import replayed
from openpts_twin.twin.start import dies_of, starts_of

# of a normal distribution, within one deviation of its middle
_WITHIN_ONE: Final = 0.683
# what a figure is off beyond that counts by its logarithm: some are what the model does not have
_FAR: Final = 2.5
# of how far a parameter may be: more of it stands out more clearly from chance
_STEP: Final = 0.25
_MOST_MOVE: Final = 0.5
# what a step is damped by, as Levenberg and Marquardt do: more where less did not lead to less
_DAMPINGS: Final = (0.01, 0.3, 3.0)
_IMPROVES: Final = 0.98
_ALTERNATIVES: Final = 4
_APART: Final = math.log(2)
_HELPS: Final = 0.8
_HOPELESS: Final = 2.5
# replays with other seeds show what chance does to a figure; of three, this much of the range is a deviation
_OTHER_SEEDS: Final = (1, 2)
_OF_RANGE: Final = 1.693
# scatter of figures at the least: a model is not better than that
_FLOORS: Final = {"rate": 0.01, "course": 0.03, "mean": 0.02, "p50": 0.01, "p99": 0.05, "p99.9": 0.1}

Tell = Callable[[str], None]


class Trial(Struct, frozen=True):
    """A candidate, and how far each figure is from what was measured: as logarithms, and in units of its
    scatter.
    """

    values: dict[str, Any]
    logs: tuple[float, ...]
    residuals: tuple[float, ...]
    cost: float


class Found(Struct, frozen=True):
    """The best candidate and others that agree with the figures about as well.

    ``errors`` are what is left of the figures' logarithms beside chance, by kind of figure: as with a
    standard deviation, 68 % of them are within it; and not less than what the search takes for granted.
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
        self.content = content
        self._evidence = evidence
        self._scale = scale
        self._refusal = ""
        self._tell = tell
        self._trials = 0
        self._kinds = [kind_of(name) for _, figures in evidence.steps() for name in figures]
        # what figures have in common that chance changes alike
        self._loads = [
            (name, *((each.operations, each.random_pct, each.toio > 1) for each in step.stimuli))
            for step, figures in evidence.steps()
            for name in figures
        ]
        self._units = [_FLOORS[kind] for kind in self._kinds]
        self._chance = [0.0] * len(self._kinds)
        self._rivals: list[Trial] = []
        self._free = [
            each
            for each in CONTINUOUS
            if each.name not in sure and value_of(content, each.name, 0) > each.least
        ]

    def find(self, begun: Trial) -> Found:
        """The candidate that comes nearest."""
        assumed = tuple(sorted(each.name for each in self._free if each.name not in begun.values))
        best = self.judged_beside_chance(self._collecting(begun, assumed))
        matrix = self._jacobian(best)
        best = self._approach(best, matrix, steps=2)
        chosen = self._choose(best, matrix)
        if chosen is not best:
            best, matrix = chosen, self._jacobian(chosen)
        best = self._approach(best, matrix, steps=3)
        alternatives = tuple(self._alternatives(best, matrix))
        return Found(best.values, assumed, alternatives, self._errors(best), self._trials)

    def begin(self) -> Trial:
        """Where the search begins. Raises UsageError where no candidate can be simulated at all."""
        shipped = dies_of(self.content, self._evidence)
        best: Trial | None = None
        known = {name: value_of(self.content, name) for name in self._sure}
        for dies in (shipped,) if names.DIES in self._sure else (shipped, shipped * 2, max(1, shipped // 2)):
            for values in starts_of(self.content, self._evidence, dies):
                best = self._try({**values, **known}, best.cost if best else math.inf) or best
        if best is None:
            name, scale = self.content["name"], self._scale
            raise UsageError(f"no drive like {name} can be simulated at scale {scale}: {self._refusal}")
        return best

    def _try(self, values: Values, most: float = math.inf) -> Trial | None:
        """A trial; None where the preset can't have such values, or if it costs no less than the most."""
        if (logs := self._logs(values, most)) is None:
            return None
        trial = self._judged(values, logs)
        if trial.cost >= most:
            return None
        self._tell(f"trial {self._trials}: {trial.cost:.3f}")
        return trial

    def _logs(self, values: Values, most: float = math.inf, **seed: int) -> tuple[float, ...] | None:
        self._trials += 1
        found: list[float] = []
        left = most * len(self._units)
        try:
            preset = preset_of(self.content, values)
            for measured, shown in replayed(preset, self._evidence, self._scale, **seed):
                for name, value in measured.items():
                    # a step too short for a percentile on the candidate says nothing
                    log = math.log(shown[name] / value) if shown.get(name) else 0.0
                    left -= _loss(log / self._units[len(found)])
                    found.append(log)
                if left < 0:
                    return None
        except (OpenptsError, ValueError) as error:
            self._refusal = str(error)
            return None
        return tuple(found)

    def _judged(self, values: Values, logs: tuple[float, ...]) -> Trial:
        residuals = tuple(log / unit for log, unit in zip(logs, self._units, strict=True))
        return Trial(dict(values), logs, residuals, sum(map(_loss, residuals)) / max(1, len(residuals)))

    def judged_beside_chance(self, best: Trial) -> Trial:
        """The trial, judged anew: a figure that differs from seed to seed counts so much less."""
        logs = [best.logs]
        logs += [found for seed in _OTHER_SEEDS if (found := self._logs(best.values, seed=seed)) is not None]
        own = [((max(of_seeds) - min(of_seeds)) / _OF_RANGE) ** 2 for of_seeds in zip(*logs, strict=True)]
        alike = defaultdict[object, list[float]](list)
        for key, variance in zip(self._loads, own, strict=True):
            alike[key].append(variance)
        for number, key in enumerate(self._loads):
            # three replays tell little of one figure: those of the same mix of other sizes tell as much again
            variance = (own[number] + sum(alike[key]) / len(alike[key])) / 2
            # the drive's own figure has the same scatter
            unit = math.hypot(self._units[number], math.sqrt(2 * variance))
            self._units[number], self._chance[number] = unit, 2 * variance / unit**2
        judged = self._judged(best.values, best.logs)
        self._tell(f"beside chance: {judged.cost:.3f}")
        return judged

    def _collecting(self, best: Trial, assumed: Sequence[str]) -> Trial:
        """The trial with the rule of collection that comes nearest: the course of all writes depends on it.

        Where no step shows the space by itself, one makes up for the other: each is tried with more and less.
        """
        if names.VICTIM in self._sure:
            return best
        number = next((n for n, one in enumerate(self._free) if one.name == names.SPACE), None)
        away = (0.0, _APART, -_APART) if number is not None and names.SPACE in assumed else (0.0,)
        begun = best
        for victim in VICTIMS:
            for by in away:
                values = {**self._moved(begun.values, self._only(number, by)), names.VICTIM: victim}
                if by or victim != value_of(self.content, names.VICTIM):
                    best = self._try(values, best.cost) or best
        return best

    def _is_better(self, trial: Trial, best: Trial) -> bool:
        """Whether a trial is nearer by more than chance would bring it."""
        far = (min(_FAR, abs(each)) ** 2 for each in best.residuals)
        by_chance = 2 * math.sqrt(sum(map(mul, far, self._chance))) / max(1, len(self._units))
        return trial.cost < best.cost - max((1 - _IMPROVES) * best.cost, by_chance)

    def _approach(self, best: Trial, matrix: list[list[float]], steps: int) -> Trial:
        """Steps towards less; one that does not lead there is damped more."""
        for _ in range(steps):
            before = best.cost
            for damping in _DAMPINGS:
                move = self._move(best, matrix, damping)
                if (trial := self._try(self._moved(best.values, move), before)) is not None:
                    best = trial
                    break
            if best.cost > _IMPROVES * before:
                break
        return best

    def _jacobian(self, best: Trial) -> list[list[float]]:
        """Of each parameter what a step does to every figure."""
        columns: list[list[float]] = []
        for number, each in enumerate(self._free):
            step = _STEP * each.spread
            trial = self._try(self._moved(best.values, self._only(number, step))) or best
            columns.append([by / step for by in self._beyond_chance(best.residuals, trial.residuals)])
        return columns

    def _beyond_chance(self, old: Sequence[float], new: Sequence[float]) -> list[float]:
        """Differences, but for what chance may have done to some of so many (non-negative garrote)."""
        far = 2 * math.log(len(old))
        return [
            (b - a) * max(0.0, 1 - far * chance / (b - a) ** 2) if b != a else 0.0
            for a, b, chance in zip(old, new, self._chance, strict=True)
        ]

    def _problem(self, best: Trial, matrix: list[list[float]]) -> Problem:
        weights = [min(1.0, (_FAR / each) ** 2) if each else 1.0 for each in best.residuals]
        return Problem(matrix, list(best.residuals), weights, [1 / each.spread**2 for each in self._free])

    def _move(self, best: Trial, matrix: list[list[float]], damping: float) -> list[float]:
        move = solve(self._problem(best, matrix), damping)
        return [max(-_MOST_MOVE, min(_MOST_MOVE, each)) for each in move]

    def _moved(self, values: Values, move: Sequence[float]) -> dict[str, Any]:
        changed = dict(values)
        for each, by in zip(self._free, move, strict=True):
            now = changed.get(each.name, value_of(self.content, each.name))
            changed[each.name] = each.value(each.at(now) + by)
        return changed

    def _only(self, number: int | None, by: float) -> list[float]:
        """A move of one parameter."""
        return [by if each == number else 0.0 for each in range(len(self._free))]

    def _choose(self, best: Trial, matrix: list[list[float]]) -> Trial:
        """Try what lies beside each choice, and go on in the direction in which it became better."""
        for name, beside_of in CHOICES.items():
            now = best.values.get(name, value_of(self.content, name))
            if now is None or name in self._sure:
                continue
            tried, beside = [now], list(beside_of(now))
            while beside:
                value = beside.pop(0)
                tried.append(value)
                trial = self._profiled(self._with_choice(best.values, name, value), best, matrix)
                if trial and self._is_better(trial, best):
                    best, beside = trial, [each for each in beside_of(value) if each not in tried]
                elif trial:
                    self._rivals.append(trial)
        return best

    def _profiled(self, values: Values, best: Trial, matrix: list[list[float]]) -> Trial | None:
        """A trial of another choice, or of what the rest would be with it: moved while that helps much."""
        trial = self._try(values, _HOPELESS * best.cost)
        while trial is not None:
            move = self._move(trial, matrix, _DAMPINGS[0])
            moved = self._try(self._moved(trial.values, move), trial.cost)
            if moved is None or moved.cost > _HELPS * trial.cost:
                return moved or trial
            trial = moved
        return None

    def _with_choice(self, values: Values, name: str, value: Any) -> dict[str, Any]:
        """The values with another choice, and what is tied to it: so many programs in a second."""
        changed = {**values, name: value}
        if name == names.DIES:
            factor = value / values[names.DIES]
            programs = (names.PROGRAM, names.SLC_PROGRAM)
            changed |= {name: values[name] * factor for name in programs if name in values}
            changed[names.GROUP] = min(value, values.get(names.GROUP, value))
        return changed

    def _errors(self, best: Trial) -> dict[str, float]:
        found = defaultdict[str, list[float]](list)
        for kind, log, unit, chance in zip(self._kinds, best.logs, self._units, self._chance, strict=True):
            found[kind].append(math.sqrt(max(0.0, log * log - chance * unit * unit)))
        # what chance does to some figures is far from normal: they are not counted with the others
        return {
            kind: max(_FLOORS[kind], sorted(errors)[int(_WITHIN_ONE * len(errors))])
            for kind, errors in found.items()
        }

    def _alternatives(self, best: Trial, matrix: list[list[float]]) -> Iterator[dict[str, Any]]:
        """Candidates drawn from those that agree with the figures about as well.

        Every second has another choice, as near but for chance, and folds in idle time if the twin does not.
        """
        rivals = sorted(self._rivals, key=lambda one: one.cost)
        near = iter([one for one in rivals if not self._is_better(best, one)])
        for number in range(_ALTERNATIVES):
            chance = Random(number)  # noqa: S311 drives, no secret
            base = next(near, best) if number % 2 else best
            values = self._moved(base.values, draw(self._problem(base, matrix), best.cost, chance))
            for each in names.IDLE:
                if (now := value_of(self.content, each.name)) is not None and each.name not in self._sure:
                    values[each.name] = each.value(each.at(now) + each.spread * chance.gauss())
            folds = value_of(self.content, names.FOLDS)
            if number % 2 and folds is not None:
                values[names.FOLDS] = not folds
            yield values


def _loss(residual: float) -> float:
    size = abs(residual)
    return size * size if size <= _FAR else _FAR * _FAR * (1 + 2 * math.log(size / _FAR))
