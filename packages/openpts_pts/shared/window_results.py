"""Rounds with the window of them that counts, as covers and headers name it."""

from msgspec import Struct

from openpts.analysis.rounds import MeasurementWindow
from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.vocabulary.verdict import SteadyStateReport


class WindowResults(Struct, frozen=True, kw_only=True):
    """Rounds of test points, of operating points, or of tracked minutes.

    ``verdicts`` are those of its variables over the window, None for one that can't be judged.
    """

    window: MeasurementWindow
    verdicts: tuple[SteadyStateReport | None, ...]

    @property
    def verdict(self) -> SteadyStateReport | None:
        """The report on the only variable."""
        return self.verdicts[0]

    @property
    def steady(self) -> bool:
        """Steady state: every variable meets both rules in this one window (PTS 7.2)."""
        return bool(self.verdicts) and all(one is not None and one.steady for one in self.verdicts)

    def reason(self, word: str = "Round") -> str:
        """Why there is no full window: ``2 of 5 rounds``; ``word`` is what a round is called."""
        return f"{len(self.window.rounds)} of {WINDOW_ROUNDS} {word.lower()}s"

    def state(self, word: str = "Round") -> str:
        """The cover's field Steady State."""
        if self.steady:
            return f"reached in {word} {self.window.rounds[-1]}"
        return "not reached" if self.window.is_full else f"n/a ({self.reason(word)})"

    @property
    def not_steady(self) -> str:
        """The note of figures that are not of steady state; empty if it was reached."""
        return "" if self.steady else f"Steady State {self.state()}"

    @property
    def steady_rounds(self) -> str:
        """The header's field Steady State."""
        return self.window.label if self.steady else "NOT REACHED"

    @property
    def judged_rounds(self) -> str:
        """The header's field SS Rounds."""
        return self.window.label if self.steady else f"{self.window.label}, not steady"

    @property
    def red_lines(self) -> tuple[str, ...]:
        """What all pages of the test say in red."""
        if not self.window.is_full:
            return (f"STEADY STATE NOT REACHED - {self.reason()} completed",)
        return () if self.steady else ("STEADY STATE NOT REACHED - last five Rounds shown",)
