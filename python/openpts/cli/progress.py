"""Follows a run's events and knows where it stands; the displays only draw what is here.

Rates and what is left are told in the time of the engine's clock, which is ours unless a drive is simulated.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from openpts.analysis.steady_state import RANGE_LIMIT, SLOPE_LIMIT, WINDOW_ROUNDS
from openpts.cli.step_length import StepCounts, done_fraction, longest_left_s
from openpts.engine.contract import EngineProgress, OutstandingIo
from openpts.runner.events import (
    Event,
    PurgeFinished,
    PurgeStarted,
    RunEnded,
    RunStarted,
    SteadyStateJudged,
    StepFinished,
    StepsStarted,
    Ticked,
)
from openpts.units import NS_PER_S
from openpts.vocabulary.conditions import TestConditions
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import SteadyStateReport

# The rate shown is that of the last second or so: shorter looks nervous, longer lags behind.
_RATE_SPAN_NS = NS_PER_S


@dataclass(slots=True)
class RunProgress:
    """Where the run stands; rates are of the last second.

    ``step_fraction`` is 0 to 1, None for a step whose end can't be foreseen. ``simulated``: time passes for
    the drive as fast as it can be computed.
    """

    phase: str = "starting"
    conditions: TestConditions | None = None
    capacity_bytes: int = 0
    simulated: bool = False
    round_number: int | None = None
    steps: tuple[Step, ...] = ()
    position: int = 0
    step_fraction: float | None = 0.0
    iops_now: float = 0.0
    bytes_per_s_now: float = 0.0
    verdicts: tuple[SteadyStateReport, ...] = ()
    judged_round: int | None = None
    began_s: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108 looked up when called
    _rates: list[tuple[int, int, int]] = field(default_factory=list)
    _ended_ns: int = 0
    _now: EngineProgress = field(default_factory=lambda: EngineProgress(0, 0, 0, 0))
    _ios_before: int = 0
    _bytes_before: int = 0

    def hear(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case RunStarted(_, manifest):
                self.conditions = manifest.conditions
                self.capacity_bytes = manifest.target.user_capacity_bytes
                self.simulated = manifest.target.simulation is not None
            case PurgeStarted():
                self.phase = "purge"
            case PurgeFinished(report):
                self.phase = "purged"
                self._ended_ns += report.duration_ns
            case StepsStarted(round_number, steps):
                self.phase = "preconditioning" if round_number is None else "round"
                self.round_number, self.steps, self.position = round_number, steps, 0
                self._begin_step()
            case Ticked(_, position, step, progress):
                self.position = position
                self._tick(step, progress)
            case StepFinished(_, position, sample):
                self.position = position + 1
                self._ended_ns += sample.elapsed_ns
                if len(self._rates) < 2:  # over before there was a rate, as steps in virtual time are
                    self.iops_now, self.bytes_per_s_now = sample.iops, sample.bandwidth_bytes_per_s
                self._begin_step()
            case SteadyStateJudged(round_number, reports):
                self.judged_round, self.verdicts = round_number, reports
            case RunEnded():
                self.phase = "ended"

    @property
    def elapsed_s(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.began_s

    @property
    def engine_ns(self) -> int:
        """Time of purge and steps on the engine's clock."""
        return self._ended_ns + self._now.step_elapsed_ns

    @property
    def step(self) -> Step | None:
        """The step that runs now."""
        return self.steps[self.position] if self.position < len(self.steps) else None

    @property
    def oldest(self) -> OutstandingIo | None:
        """The I/O that waits longest for its answer."""
        return self._now.oldest

    @property
    def round_fraction(self) -> float:
        """Share of the current round, or of preconditioning, that is done as far as it is known."""
        done = self.position + (self.step_fraction or 0.0)
        return min(1.0, done / len(self.steps)) if self.steps else 0.0

    def remaining_s(self) -> float | None:
        """Longest time still to come on the engine's clock; None while it can't be known.

        Steady state may end it sooner.
        """
        if self.conditions is None:
            return None
        round_s = self.conditions.round_duration_ns / NS_PER_S
        if self.phase == "round" and self.round_number is not None:
            rounds_left = self.conditions.max_rounds - self.round_number
            return round_s * (rounds_left + 1 - self.round_fraction)
        step = self.step
        if step is None:
            return None
        preconditioning_s = longest_left_s(step.stop, self._counts(step), self.capacity_bytes)
        return None if preconditioning_s is None else preconditioning_s + round_s * self.conditions.max_rounds

    def _begin_step(self) -> None:
        self.step_fraction = 0.0
        self._ios_before, self._bytes_before = self._now.ios, self._now.bytes
        self._now = replace(self._now, step_elapsed_ns=0, oldest=None)
        self._rates.clear()

    def _tick(self, step: Step, progress: EngineProgress) -> None:
        now_ns = progress.step_elapsed_ns
        if now_ns < self._now.step_elapsed_ns:
            self._rates.clear()  # it is the next step's already
        self._now = progress
        if now_ns < step.ramp_ns:
            self._ios_before, self._bytes_before = progress.ios, progress.bytes
        self._rates.append((now_ns, progress.ios, progress.bytes))
        while len(self._rates) > 2 and now_ns - self._rates[1][0] >= _RATE_SPAN_NS:
            self._rates.pop(0)
        then_ns, ios, amount_bytes = self._rates[0]
        if now_ns > then_ns:
            self.iops_now = (progress.ios - ios) * NS_PER_S / (now_ns - then_ns)
            self.bytes_per_s_now = (progress.bytes - amount_bytes) * NS_PER_S / (now_ns - then_ns)
        self.step_fraction = done_fraction(step.stop, self._counts(step), self.capacity_bytes)

    def _counts(self, step: Step) -> StepCounts:
        """What the step has done, without its ramp."""
        return StepCounts(
            elapsed_ns=self._now.step_elapsed_ns - step.ramp_ns,
            ios=self._now.ios - self._ios_before,
            bytes=self._now.bytes - self._bytes_before,
            ios_per_s=self.iops_now,
            bytes_per_s=self.bytes_per_s_now,
        )


def steady_state_line(report: SteadyStateReport, label: str) -> str:
    """One tracking variable's verdict in words, with the limits it was held against."""
    return (
        f"{label}: {'steady' if report.steady else 'not steady'}, "
        f"range {report.range_pct:.1f} % (limit {RANGE_LIMIT:.0%}), "
        f"slope {report.slope_excursion_pct:.1f} % (limit {SLOPE_LIMIT:.0%})"
    ).replace("%)", " %)")


def steady_state_lines(progress: RunProgress) -> list[str]:
    """What is known about steady state so far, a line per tracking variable."""
    if progress.conditions is None:
        return []
    if progress.judged_round is None:
        return [f"judged from round {WINDOW_ROUNDS} on"]
    return [
        steady_state_line(report, _label(variable.block_size_bytes, variable.read_pct))
        for variable, report in zip(progress.conditions.tracking, progress.verdicts, strict=True)
    ]


def tracked_iops(progress: RunProgress, samples: Sequence[Sample]) -> str:
    """IOPS of the tracking variables among the samples of a round, in one line."""
    tracking = progress.conditions.tracking if progress.conditions else ()
    return ", ".join(
        f"{_label(variable.block_size_bytes, variable.read_pct)} {sample.iops:,.0f}"
        for variable in tracking
        for sample in samples
        if variable.matches(sample.step.stimulus)
    )


def _label(block_size_bytes: int, read_pct: int) -> str:
    return f"RND {block_size_bytes // 1024} KiB RW{read_pct}"
