"""Progress of a run, derived from its events; the displays only draw it.

Rates and time left follow the engine's clock, which is wall-clock time unless a drive is simulated.
"""

import time
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from openpts.engine.contract import EngineProgress, OutstandingIo
from openpts.fields.conditions import Conditions
from openpts.planning.dry_run import PlannedApply
from openpts.runner.event_lines import PurgeProgressed, PurgeStarted, RunEnded, SteadyStateJudged
from openpts.runner.events import (
    CommandStarted,
    Event,
    PurgeFinished,
    RunPaused,
    RunStarted,
    StepFinished,
    StepsStarted,
    Ticked,
)
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Phase, Sample, phase_text
from openpts.vocabulary.stimulus import ByteAmount, DriveFills, Duration, FirstOf, IoCount, Step, StopRule


class StepCounts(Struct, frozen=True):
    """What a step has done since its ramp; ``elapsed_ns`` is below 0 in the ramp. Rates are those of now."""

    elapsed_ns: int
    ios: int
    bytes: int
    ios_per_s: float
    bytes_per_s: float


def _amounts(stop: StopRule, done: StepCounts, capacity_bytes: int) -> tuple[float, float, float] | None:
    """What of an amount is done, all of it, and how much is done per second; None of other rules."""
    match stop:
        case Duration(duration_ns):
            return done.elapsed_ns, duration_ns, NS_PER_S
        case ByteAmount(amount_bytes):
            return done.bytes, amount_bytes, done.bytes_per_s
        case DriveFills(fills):
            return done.bytes, fills * capacity_bytes, done.bytes_per_s
        case IoCount(ios):
            return done.ios, ios, done.ios_per_s
        case _:
            return None


def done_fraction(stop: StopRule, done: StepCounts, capacity_bytes: int) -> float | None:
    """Share of the step that is done, 0 to 1; None where its end can't be foreseen."""
    if isinstance(stop, FirstOf):
        known = [done_fraction(rule, done, capacity_bytes) for rule in stop.rules]
        fraction = max((share for share in known if share is not None), default=None)
        if fraction is not None and stop.at_least_ns:
            fraction = min(fraction, _share(done.elapsed_ns, stop.at_least_ns))
        return fraction
    amounts = _amounts(stop, done, capacity_bytes)
    return None if amounts is None else _share(*amounts[:2])


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 1.0


def longest_left_s(stop: StopRule, done: StepCounts, capacity_bytes: int) -> float | None:
    """Longest time that the step will still take at the rates of now; None where there is no bound."""
    if isinstance(stop, FirstOf):
        known = [longest_left_s(rule, done, capacity_bytes) for rule in stop.rules]
        left_s = min((time_s for time_s in known if time_s is not None), default=None)
        return None if left_s is None else max(left_s, (stop.at_least_ns - done.elapsed_ns) / NS_PER_S)
    if (amounts := _amounts(stop, done, capacity_bytes)) is None:
        return None
    part, whole, per_s = amounts
    if part >= whole:
        return 0.0
    ramp_left_s = 0.0 if isinstance(stop, Duration) else max(0, -done.elapsed_ns) / NS_PER_S
    return ramp_left_s + (whole - part) / per_s if per_s > 0 else None


class TimeLeft(Struct, frozen=True):
    """``bounded``: durations alone end what is to come, so that it can't take longer."""

    seconds: float
    bounded: bool

    @property
    def words(self) -> str:
        """How sure the time is."""
        return "at most" if self.bounded else "about"


class _Rest(Struct, frozen=True):
    """What a plan has left: seconds of steps that time ends, and of those that end by what the drive does."""

    timed_s: float = 0.0
    rated_s: float = 0.0
    bounded: bool = True

    def with_steps(self, planned: PlannedApply, first: int) -> "_Rest":
        """With the steps of an apply from this position on."""
        steps, lengths_ns = planned.apply.steps[first:], planned.durations_ns[first:]
        timed_ns = sum(ns for step, ns in zip(steps, lengths_ns, strict=True) if _is_timed(step))
        return _Rest(
            self.timed_s + timed_ns / NS_PER_S,
            self.rated_s + (sum(lengths_ns) - timed_ns) / NS_PER_S,
            self.bounded and _bounded(planned.apply.phase, steps),
        )


class _PlanFollower(Struct):
    """Knows the place of the running steps in the plan, what comes behind them, and how far off it was."""

    _planned: Sequence[PlannedApply] = ()
    _indexes_of: dict[tuple[int, Phase, int], list[int]] = field(default_factory=dict)
    _behind: list[_Rest] = field(default_factory=list)
    _index: int | None = None
    _rated_s: float = 0.0
    _taken_s: float = 0.0

    def follow(self, plan: Sequence[PlannedApply]) -> None:
        """Take the longest plan of a run that begins."""
        self._planned, self._index = plan, None
        self._indexes_of = {}
        for index, planned in enumerate(plan):
            key = (planned.cycle, planned.apply.phase, planned.apply.number)
            self._indexes_of.setdefault(key, []).append(index)
        self._behind = [_Rest()]
        for planned in reversed(plan):
            self._behind.append(self._behind[-1].with_steps(planned, 0))
        self._behind.reverse()

    def begin(self, cycle: int, phase: Phase, number: int) -> None:
        """Note that steps of this phase and number run now; a plan without them can't say what follows.

        Steps of one phase and number may come in pieces, one behind the other.
        """
        found = self._indexes_of.get((cycle, phase, number), [])
        last = -1 if self._index is None else self._index
        self._index = next((index for index in found if index > last), found[-1] if found else None)

    def learn(self, step: Step, position: int, taken_s: float) -> None:
        """Note what the step at this position took in all."""
        if (planned_s := self._planned_s(step, position)) is not None:
            self._rated_s, self._taken_s = self._rated_s + planned_s, self._taken_s + taken_s

    def left(self, step: Step | None, position: int, taken_s: float, left_s: float) -> TimeLeft | None:
        """What comes after the step at this position, with the rest of it; None where the plan has none.

        Steps that no time ends are assumed to be as far off the plan as those that were measured.
        """
        if self._index is None or self._index >= len(self._planned):
            return None
        rest = self._behind[self._index + 1].with_steps(self._planned[self._index], position + 1)
        rated_s, measured_s = self._rated_s, self._taken_s
        if step is not None and (planned_s := self._planned_s(step, position)) is not None:
            rated_s, measured_s = rated_s + planned_s, measured_s + taken_s + left_s
        pace = measured_s / rated_s if rated_s else 1.0
        return TimeLeft(left_s + rest.timed_s + pace * rest.rated_s, rest.bounded)

    def _planned_s(self, step: Step, position: int) -> float | None:
        """What was planned for a step that no time ends."""
        if self._index is None or _is_timed(step):
            return None
        lengths_ns = self._planned[self._index].durations_ns
        return lengths_ns[position] / NS_PER_S if position < len(lengths_ns) else None


def _is_timed(step: Step) -> bool:
    return isinstance(step.stop, Duration)


def _bounded(phase: Phase, steps: Sequence[Step]) -> bool:
    """How many minutes of saturation there are depends on what the drive takes in them."""
    return phase is not Phase.SATURATION and all(map(_is_timed, steps))


def _phase_without_steps(event: PurgeProgressed | RunPaused | CommandStarted) -> str:
    match event:
        case CommandStarted(order):
            return f"{order.kind} run {order.number} of the command"
        case PurgeProgressed(share=None, text=text):
            return f"purge, {text}"
        case PurgeProgressed(share=share, text=text):
            return f"purge, {share:.0%}, {text}"
        case RunPaused(folder, reason, paused_ns):
            return f"paused for {format_duration(paused_ns)}, can't write the record in {folder}: {reason}"


# The rate shown is that of the last second or so: shorter looks nervous, longer lags behind.
_RATE_SPAN_NS = NS_PER_S
MAY_END_SOONER: Final = frozenset({Phase.ROUND, Phase.WDPC, Phase.SATURATION, Phase.ROUND_PREWRITE})
"""Steady state ends these."""


class RunProgress(Struct):
    """Progress of the run; rates are of the last second.

    ``phase`` says in words what is in progress. ``finished`` are the samples of the steps that were asked for
    together and run, or have just ended; ``phase_ns`` is the time of all steps of that phase and number.
    ``earlier_passes`` are those of the same row of a benchmark that were asked for before.
    ``step_fraction`` is 0 to 1, None for a step whose end can't be foreseen; ``run_fraction`` is of all steps
    that may come. ``written_bytes`` are those
    since the last purge. ``simulated``: time passes for the drive as fast as it can be computed.
    """

    phase: str = "starting"
    conditions: Conditions | None = None
    capacity_bytes: int = 0
    simulated: bool = False
    cycle: int = 1
    apply: Apply | None = None
    finished: list[Sample] = field(default_factory=list)
    earlier_passes: list[Sample] = field(default_factory=list)
    phase_ns: int = 0
    written_bytes: int = 0
    step_fraction: float | None = 0.0
    iops_now: float = 0.0
    bytes_per_s_now: float = 0.0
    judged: SteadyStateJudged | None = None
    run_fraction: float = 0.0
    began_s: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108 looked up when called
    _plan: _PlanFollower = field(default_factory=_PlanFollower)
    _rates: list[tuple[int, int, int]] = field(default_factory=list)
    _ended_ns: int = 0
    _phase_and_number: tuple[Phase, int] | None = None
    _now: EngineProgress = field(default_factory=lambda: EngineProgress(0, 0, 0, 0))
    _ios_before: int = 0
    _bytes_before: int = 0

    def on_event(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case RunStarted(_, manifest, plan, _):
                self.conditions = manifest.conditions
                self.capacity_bytes = manifest.target.user_capacity_bytes
                self.simulated = manifest.target.simulation is not None
                self._plan.follow(plan)
            case PurgeStarted():
                self.phase, self.apply, self.judged, self.written_bytes = "purge", None, None, 0
            case PurgeProgressed() | RunPaused() | CommandStarted():
                self.phase = _phase_without_steps(event)
                self.iops_now = self.bytes_per_s_now = 0.0
            case PurgeFinished(report):
                self.phase = "purged"
                self._ended_ns += report.duration_ns
            case StepsStarted(cycle, apply):
                self._begin(cycle, apply)
            case Ticked(_, step, progress):
                self._tick(step, progress)
                self._advance()
            case StepFinished(_, sample):
                self._finish_step(sample)
                self._advance()
            case SteadyStateJudged():
                self.judged = event
            case RunEnded():
                self.phase, self.apply = "ended", None

    @property
    def elapsed_s(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.began_s

    @property
    def engine_ns(self) -> int:
        """Time of purge and steps on the engine's clock."""
        return self._ended_ns + self._now.step_elapsed_ns

    @property
    def steps(self) -> Sequence[Step]:
        """The steps of the phase that runs."""
        return self.apply.steps if self.apply else ()

    @property
    def position(self) -> int:
        """Which of ``steps`` runs, from 0; their number when all have ended."""
        return len(self.finished)

    @property
    def step(self) -> Step | None:
        """The step that runs now."""
        return self.steps[self.position] if self.position < len(self.steps) else None

    @property
    def step_text(self) -> str:
        """The step that runs now, with its demand where the steps of a phase differ in it; or empty."""
        if self.step is None:
            return ""
        demands = {(one.tc, one.qd) for step in self.steps for one in step.stimuli}
        stimulus = self.step.stimulus
        demand = f", TC {stimulus.tc} QD {stimulus.qd}" if stimulus is not None and len(demands) > 1 else ""
        return f"{self.step}{demand}"

    @property
    def has_rate(self) -> bool:
        """Whether the rates are those of the step that runs now; else of the one before it."""
        return len(self._rates) > 1

    @property
    def oldest(self) -> OutstandingIo | None:
        """The I/O that waits longest for its answer."""
        return self._now.oldest

    def _advance(self) -> None:
        """Take in how much of the run is done, if that is known now; a bar does not go back."""
        if (left := self.time_left()) is not None:
            done_s = self.engine_ns / NS_PER_S
            self.run_fraction = max(self.run_fraction, _share(done_s, done_s + left.seconds))

    @property
    def drive_fills(self) -> float | None:
        """Written since the last purge, of the step that runs by its share of writes; None before a run."""
        if not self.capacity_bytes:
            return None
        written, step = float(self.written_bytes), self.step
        if step is not None and step.stimulus is not None:
            weights = step.stimulus.operations
            written += self._counts(step).bytes * weights.write / (sum(msgspec.structs.astuple(weights)) or 1)
        return written / self.capacity_bytes

    def time_left(self) -> TimeLeft | None:
        """Time still to come on the engine's clock if steady state is never reached; None if unknown."""
        step, left_s = self.step, 0.0
        if step is not None:
            known_s = longest_left_s(step.stop, self._counts(step), self.capacity_bytes)
            if known_s is None:
                return None
            left_s = known_s
        left = self._plan.left(step, self.position, self._now.step_elapsed_ns / NS_PER_S, left_s)
        if left is None or step is None or _is_timed(step):
            return left
        return replace(left, bounded=False)

    def _begin(self, cycle: int, apply: Apply) -> None:
        self.phase = phase_text(apply.phase, apply.number, cycle)
        if apply.most is not None:
            self.phase += f" of {'at most ' if apply.phase in MAY_END_SOONER else ''}{apply.most}"
        if (self.cycle, self._phase_and_number) != (cycle, (apply.phase, apply.number)):
            self.phase_ns, self._phase_and_number = 0, (apply.phase, apply.number)
            self.earlier_passes.clear()
        elif apply.until_alike and apply is not self.apply:  # a piece that is repeated counts once
            self.earlier_passes += self.finished
        self.cycle, self.apply = cycle, apply
        self.finished.clear()
        self._plan.begin(cycle, apply.phase, apply.number)
        self._begin_step()

    def _finish_step(self, sample: Sample) -> None:
        self._plan.learn(sample.step, self.position, sample.elapsed_ns / NS_PER_S)
        self.finished.append(sample)
        self._ended_ns += sample.elapsed_ns
        self.phase_ns += sample.elapsed_ns
        self.written_bytes += sample.write.bytes
        if len(self._rates) < 2:  # over before there was a rate, as steps in virtual time are
            self.iops_now, self.bytes_per_s_now = sample.iops, sample.bandwidth_bytes_per_s
        self._begin_step()

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
