"""Rounds that a script judges while they come in: the last five, whenever one has ended (PTS 2.1.24)."""

from collections.abc import Sequence

from msgspec import Struct, field

from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.vocabulary.requests import ScriptPart, SteadyStateChecked
from openpts.vocabulary.sample import Phase, Sample


class JudgedRounds(Struct):
    """The figures of all rounds so far; ``names`` are those of the variables, without any it is never steady.

    ``before`` other rounds of the same phase lie before the first.
    """

    phase: Phase
    names: tuple[str, ...]
    before: int = 0
    history: list[tuple[float, ...]] = field(default_factory=list)
    disturbed: set[int] = field(default_factory=set)

    def steady_with(self, samples: Sequence[Sample], *figures: float) -> ScriptPart[bool]:
        """Add a round; whether the window that ends with it is steady in each variable."""
        self.history.append(figures)
        number = len(self.history)
        if any(sample.standstills for sample in samples):
            self.disturbed.add(number)
        if number < WINDOW_ROUNDS or not self.names:
            return False
        reports = tuple(
            window_ending_at(series, number, self.disturbed) for series in zip(*self.history, strict=True)
        )
        yield SteadyStateChecked(self.phase, self.before + number, self.names, reports)
        return all(report.steady for report in reports)
