"""One workload of write saturation out of a record: its results, and how its stimulus ended (PTS 10.2)."""

from typing import Final

from msgspec.structs import replace

from openpts.analysis.minutes import starts_ns
from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.procedures.kit.header import of_cycle
from openpts.record.reader import Run
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample
from openpts_pages.model import Verdict
from openpts_pts.analysis.saturation import (
    SaturationResults,
    analyze_saturation,
    is_whole_minute,
    steady_round_of,
    tracked_steps,
)
from openpts_pts.shared.rounds.results import one_pass_of
from openpts_pts.shared.tracking.other_minutes import other_minutes, other_minutes_verdicts
from openpts_pts.wsat import WriteSaturationConditions
from openpts_pts.wsat.pages import SaturationCurve

PREFIX: Final = "wsat"


class SaturationCycle:
    """One workload of the run: its results, and how its stimulus ended."""

    def __init__(self, run: Run, conditions: WriteSaturationConditions, number: int) -> None:
        finished = of_cycle(run.manifest.cycles, number)
        self.is_from_fob = conditions.within_pct is None
        self.pass_steps = run.phase(Phase.CONDITIONING, cycle=number)
        # by what share the drive's state may be off in the short form; None at full length
        self.state = (
            None if self.is_from_fob else one_pass_of(self.pass_steps, conditions.known_flash).state_off
        )
        if self.state is not None:
            conditions = conditions.after_the_pass
        steps = run.phase(Phase.SATURATION, cycle=number)
        tracked = tracked_steps(
            ((step.place.number, step.sample) for step in steps),
            conditions.minute_ns,
            conditions.tracking_period_ns,
        )
        histogram = [step.sample for step in run.phase(Phase.HISTOGRAM, cycle=number)]
        self.run, self.conditions, self.number = run, conditions, number
        self.steps = tracked
        self.workload = conditions.workloads[number - 1]
        self.results: SaturationResults = analyze_saturation(
            tracked,
            histogram,
            conditions.minute_ns,
            finished.outcome.steady_round
            if finished
            else steady_round_of(tracked, conditions.minute_ns, self._written_before_steady_state),
        )
        samples = [step.sample for step in tracked]
        starts = zip(starts_ns(samples), tracked, strict=True)
        if not self.is_from_fob:
            self.results = replace(self.results, zones=None)
        self.others = other_minutes(
            samples,
            self.results.verdict,
            list({step.number: start_ns for start_ns, step in starts if step.tracked}.values()),
            minute_ns=conditions.minute_ns,
            period_ns=conditions.tracking_period_ns,
        )
        self.ended_by = finished.outcome.ended_by if finished else ""
        # The stimulus came to its end where its histogram began, also if that was never finished.
        if not self.ended_by and histogram:
            self.ended_by = "one of its end rules"

    @property
    def _written_before_steady_state(self) -> float:
        """Bytes that have to be written before steady state counts; none where nothing is ever written."""
        fills = 0 if self.workload.read_pct >= 100 else self.conditions.steady_after_drive_fills
        return fills * self.run.manifest.target.user_capacity_bytes

    @property
    def tracked(self) -> list[Sample]:
        """The tracked minutes of the window."""
        verdict = self.results.verdict
        rounds = () if verdict is None else verdict.rounds
        minute_ns = self.conditions.minute_ns
        whole = {
            one.number: one.sample
            for one in self.steps
            if one.tracked and is_whole_minute(one.sample, minute_ns)
        }
        return [whole[number] for number in rounds]

    @property
    def prefix(self) -> str:
        """The workload's part of page ids."""
        return f"{PREFIX}-{self.number}" if len(self.conditions.workloads) > 1 else PREFIX

    @property
    def demand(self) -> str:
        """The header's fields TOIO - TC/QD."""
        c, sequential = self.conditions, self.workload.sequential
        return f"TC {c.sequential_tc if sequential else c.tc} / QD {c.sequential_qd if sequential else c.qd}"

    @property
    def course(self) -> SaturationCurve:
        """What is plotted."""
        capacity_bytes = self.run.manifest.target.user_capacity_bytes
        return SaturationCurve(self.prefix, self.workload.title, self.results, capacity_bytes, self.ended_by)

    @property
    def steady_words(self) -> str:
        """The header's field Steady State."""
        verdict = self.results.verdict
        if self.results.steady and verdict is not None:
            return f"{verdict.rounds[0]} - {verdict.rounds[-1]}"
        return "not found" if verdict is not None else f"n/a ({self.tracked_words})"

    @property
    def state_words(self) -> str:
        """Whether Steady State was found, for figures that are shown apart from the rounds."""
        if self.results.steady:
            other = ", at another level than the end" if self.results.ends_elsewhere else ""
            return f"found in Tracking Round {self.results.steady_round}{other}"
        return self.steady_words

    @property
    def between_verdicts(self) -> tuple[Verdict, ...]:
        """A verdict on the minutes between the tracked ones, if they disagree with these."""
        return other_minutes_verdicts(self.others, self.workload.title, self.conditions.tracking_period_ns)

    @property
    def tracked_words(self) -> str:
        """How many tracked minutes there are of those that a window takes."""
        return f"{min(len(self.results.tracked_iops), WINDOW_ROUNDS)} of {WINDOW_ROUNDS} tracked minutes"
