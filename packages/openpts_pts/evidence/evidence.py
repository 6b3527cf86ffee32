"""A run's record, as the checks use it: complete steps by part and round, windows, cycles."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Concatenate, Final, ParamSpec, TypeVar

from msgspec import Struct

from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.fields.conditions import Conditions
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Outcome
from openpts.vocabulary.sample import Phase, Sample, StepState
from openpts.vocabulary.stimulus import ended_late, planned_length_ns
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pts.evidence.finding import Finding, Status

MINUTE_NS: Final = 60 * NS_PER_S
HOUR_NS: Final = 60 * MINUTE_NS
# A step ends with the first completions after its time, and a clock has a resolution: what is short by no
# more than this share counts as full.
_SLACK: Final = 0.005

_SINGLE_STEPS: Final = frozenset({Phase.WIPC, Phase.ROUND_PREWRITE, Phase.HISTOGRAM_PREWRITE})

C = TypeVar("C", bound=Conditions)


def at_least(measured: float, required: float) -> bool:
    """Whether a length or an amount is reached, with the slack that measuring it has."""
    return measured >= required * (1 - _SLACK)


def about(measured: float, required: float) -> bool:
    """Whether a length is met from both sides, with that slack."""
    return abs(measured - required) <= _SLACK * required


def lasted(sample: Sample, required_ns: int) -> bool:
    """Whether a step was to end after that time, and did.

    It lasts longer by what its last I/Os need to complete, which can't be cut; but not by so much that its
    rate shows it, and not because openpts itself stood still.
    """
    planned_ns = planned_length_ns(sample.step.stop)
    planned = planned_ns is not None and about(planned_ns, required_ns)
    if not planned or not at_least(sample.elapsed_ns, required_ns):
        return False
    return not sample.standstills and not ended_late(sample.elapsed_ns, required_ns)


class RoundRecord(Struct, frozen=True):
    """The complete steps of one number of a phase in one cycle, in the order in which they ran."""

    cycle: int
    number: int
    samples: tuple[Sample, ...]


class Evidence(Struct, frozen=True, dict=True):
    """One run. Steps that were interrupted or failed are in no list: they measured nothing that counts."""

    run: Run

    @property
    def manifest(self) -> Manifest:
        """Everything but the measurements."""
        return self.run.manifest

    @property
    def test(self) -> str:
        """The test's short name."""
        return self.manifest.conditions.test

    @property
    def enterprise(self) -> bool:
        """Whether the class is enterprise, PTS-E."""
        return self.manifest.conditions.drive_class is DriveClass.ENTERPRISE

    @property
    def finished(self) -> bool:
        """Whether the run came to its own end."""
        return self.manifest.state is RunState.COMPLETE

    def conditions(self, kind: type[C]) -> C:
        """As ``Run.conditions``."""
        return self.run.conditions(kind)

    @cached_property
    def steps(self) -> tuple[StepRecord, ...]:
        """All complete steps, in the order in which they ran."""
        return tuple(step for step in self.run.steps if step.sample.state is StepState.COMPLETE)

    def samples(self, *parts: Phase) -> list[Sample]:
        """What the complete steps of these parts measured, those of all without any."""
        if not parts:
            return [step.sample for step in self.steps]
        return [sample for phase in parts for sample in self.of(phase)]

    def of(self, phase: Phase, number: int | None = None) -> list[Sample]:
        """The complete steps of a phase, of all numbers or of one."""
        return [s.sample for s in self._by_phase.get(phase, ()) if number in {None, s.place.number}]

    def in_cycle(self, cycle: int, phase: Phase | None = None) -> list[Sample]:
        """The complete steps of a cycle, of all phases or of one."""
        return self._by_cycle.get((cycle, phase), [])

    @cached_property
    def _by_cycle(self) -> dict[tuple[int, Phase | None], list[Sample]]:
        grouped = defaultdict[tuple[int, Phase | None], list[Sample]](list)
        for step in self.steps:
            grouped[step.place.cycle, None].append(step.sample)
            grouped[step.place.cycle, step.place.phase].append(step.sample)
        return grouped

    def rounds(self, phase: Phase, *, cycle: int | None = None, whole: bool = True) -> list[RoundRecord]:
        """The numbers of a phase, of all cycles or of one.

        ``whole`` leaves out those with a step that did not complete. A killed run has no record of whether
        its last number was whole: it counts if another number of that part has no more steps.
        """
        if (phase, whole) not in self._rounds:
            grouped: dict[int | None, list[RoundRecord]] = {None: self._grouped(phase, whole=whole)}
            for found in grouped[None]:
                grouped.setdefault(found.cycle, []).append(found)
            self._rounds[phase, whole] = grouped
        return self._rounds[phase, whole].get(cycle, [])

    @cached_property
    def _rounds(self) -> dict[tuple[Phase, bool], dict[int | None, list[RoundRecord]]]:
        """Rounds as checks have asked for them, by cycle and all together (None)."""
        return {}

    def _grouped(self, phase: Phase, *, whole: bool) -> list[RoundRecord]:
        broken = self._broken
        if not self.finished and phase not in _SINGLE_STEPS:
            broken |= self._cut_off
        grouped: dict[tuple[int, int], list[Sample]] = {}
        for step in self._by_phase.get(phase, ()):
            if not (whole and _round_key(step) in broken):
                grouped.setdefault((step.place.cycle, step.place.number), []).append(step.sample)
        return [RoundRecord(cycle, number, tuple(samples)) for (cycle, number), samples in grouped.items()]

    @cached_property
    def _by_phase(self) -> dict[Phase, list[StepRecord]]:
        """The complete steps of each part: hundreds of checks ask for one, of thousands of steps."""
        grouped: dict[Phase, list[StepRecord]] = {}
        for step in self.steps:
            grouped.setdefault(step.place.phase, []).append(step)
        return grouped

    @cached_property
    def _broken(self) -> frozenset[tuple[int, Phase, int]]:
        """Rounds with a step that did not complete."""
        return frozenset(
            _round_key(step) for step in self.run.steps if step.sample.state is not StepState.COMPLETE
        )

    @cached_property
    def _cut_off(self) -> set[tuple[int, Phase, int]]:
        keys = Counter(_round_key(step) for step in self.run.steps)
        if not keys:
            return set()
        last = _round_key(self.run.steps[-1])
        others = [count for key, count in keys.items() if key != last and key[1] is last[1]]
        return set() if others and keys[last] >= max(others) else {last}

    @cached_property
    def tested_cycles(self) -> tuple[int, ...]:
        """Cycles in which at least one step was completed."""
        return tuple(dict.fromkeys(step.place.cycle for step in self.steps))

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """How the finished cycles ended."""
        return tuple(finished.outcome for finished in self.manifest.cycles)

    @property
    def steady(self) -> bool:
        """Whether all cycles so far ended in steady state."""
        return bool(self.outcomes) and all(outcome.steady_round is not None for outcome in self.outcomes)

    @property
    def ending(self) -> str:
        """The state of the run, for reasons why something was not reached."""
        reason = f": {self.manifest.state_reason}" if self.manifest.state_reason else ""
        if self.manifest.state is RunState.RUNNING:
            return "the run was never closed (killed, or power lost)"
        return f"the run is {self.manifest.state}{reason}"


def _round_key(step: StepRecord) -> tuple[int, Phase, int]:
    return (step.place.cycle, step.place.phase, step.place.number)


def last_window(
    values: Sequence[float], steady_round: int | None, disturbed: Collection[int] = ()
) -> SteadyStateReport | None:
    """The verdict on the five rounds that end at the steady round, or at the last one; None for fewer."""
    last = len(values) if steady_round is None or steady_round > len(values) else steady_round
    return None if last < WINDOW_ROUNDS else window_ending_at(values, last, disturbed)


Check = Callable[[Evidence], Finding]
Checks = Mapping[str, Check]
"""By the requirement's ID."""

Case = Callable[[Evidence], Finding | None]
"""For a requirement that tests prove: why it does not apply to a run, or was not reached; None if it "
  "applies."""
Cases = Mapping[str, Case]
"""By the requirement's ID."""


A = ParamSpec("A")
R = TypeVar("R")


def with_arguments(
    check: Callable[Concatenate[Evidence, A], R], *arguments: A.args, **named: A.kwargs
) -> Callable[[Evidence], R]:
    """A check, or a case, of a table: the function with all that it takes beside the evidence."""
    return lambda evidence: check(evidence, *arguments, **named)


def binds_where(evidence: Evidence, check: Check) -> Finding | None:
    """A case that applies to a run if a check is met; otherwise the requirement has the check's state."""
    finding = check(evidence)
    return None if finding.status is Status.MET else finding
