"""Brings a script to where its run was cut off, by answering its requests from the record."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.vocabulary.requests import (
    Answer,
    Apply,
    CycleFinished,
    DriverAnswer,
    DriverRequest,
    Purge,
    ReadHealth,
    ReadTrimmed,
    Request,
    Script,
    SetWriteCache,
)
from openpts.vocabulary.sample import Phase, Sample, StepPlace, StepState, phase_text
from openpts.vocabulary.stimulus import Step

BEFORE_THE_FIRST: Final = StepPlace(0, Phase.WIPC, 1, 0)
"""The place at which a run begins, before its first purge."""


THE_PURGE: Final = "the purge of cycle"


class ResumePoint(StrEnum):
    """Where a run that was cut off continues.

    CYCLE: with the purge of the cycle that was cut. PHASE: with the first step of the round, or other number
    of a phase, that was cut. PROGRAM: with the request that was cut, as if nothing had happened.
    """

    CYCLE = "cycle"
    PHASE = "phase"
    PROGRAM = "program"


class ReplayedRequest(Struct, frozen=True):
    """A request that the record answers, with the places of its steps; ``cycle`` counts purges before it.

    ``health`` is the position of a reading among all of the record.
    """

    request: Request
    answer: Answer
    cycle: int
    places: tuple[StepPlace, ...] = ()
    health: int | None = None


class Interruption(Struct, frozen=True):
    """Where a run was cut off, and what of it stands: ``kept`` are the requests before ``next``.

    ``next`` is None where only the record was not closed. ``cycle`` is that of ``next``, and ``text`` says in
    words where that is.
    """

    kept: tuple[ReplayedRequest, ...]
    next: Request | None
    cycle: int

    @property
    def text(self) -> str:
        """Place at which the run continues, in words for its record."""
        cycle = max(1, self.cycle)
        match self.next:
            case Purge():
                return f"{THE_PURGE} {self.cycle + 1}"
            case Apply(phase, number):
                return f"{phase_text(phase, number)} of cycle {cycle}"
            case SetWriteCache():
                return f"the setting of the write cache in cycle {cycle}"
            case DriverRequest():
                return self.next.text
            case ReadTrimmed():
                return f"the reads of trimmed LBAs of cycle {cycle}"
            case ReadHealth(phase, number):
                return f"a reading of the drive's log in {phase_text(phase, number)} of cycle {cycle}"
            case _:
                return f"the end of cycle {cycle}, with nothing left to measure in it"

    @property
    def where(self) -> str:
        """Place at which the run continues, with the number of steps kept."""
        return f"{self.text}: {self.steps} {'step is' if self.steps == 1 else 'steps are'} kept"

    def count(self, kind: type[Purge | SetWriteCache | CycleFinished]) -> int:
        """Number of kept requests of a kind."""
        return sum(isinstance(answered.request, kind) for answered in self.kept)

    @property
    def at(self) -> StepPlace:
        """Place after the last kept step."""
        last = next((one.places[-1] for one in reversed(self.kept) if one.places), None)
        return BEFORE_THE_FIRST if last is None else replace(last, position=last.position + 1)

    @property
    def steps(self) -> int:
        """Number of steps kept."""
        return sum(len(one.places) for one in self.kept)

    def kept_health(self, health: Sequence[HealthRecord]) -> set[int]:
        """Which readings of the log stand: what the script asked for, and those around the purges."""
        asked = {one.health for one in self.kept if one.health is not None}
        purges, after = self.count(Purge), set[int]()
        for place, one in enumerate(health):
            # the first one of a cycle comes after its purge, the second before the next purge
            if one.occasion is ReadingPoint.DURING and one.phase is None:
                if one.cycle < purges or (one.cycle == purges and purges not in after):
                    asked.add(place)
                after.add(one.cycle)
        return asked


Recorded = Callable[[DriverRequest, Manifest], tuple[DriverAnswer | None, ...]]
"""The answers of a record to a request of a driver; see ``Driver.recorded``."""


def cut_of(
    script: Script, run: Run, goes_on: ResumePoint, recorded: Recorded, task: str = "resume"
) -> Interruption:
    """Where a run continues with its script; ``recorded`` is that of the test's driver.

    Raises RecordError if the record holds other steps than the script asks for: another version made it. It
    says that the ``task`` can't be done.
    """
    record = _Record(run, recorded, task)
    kept: list[ReplayedRequest] = []
    try:
        request = next(script)
        while (answered := record.answer(request)) is not None:
            kept.append(answered)
            request = script.send(answered.answer)
    except StopIteration:
        return Interruption(tuple(kept), None, record.cycle)
    return _from_where(Interruption(tuple(kept), request, record.cycle), goes_on)


def resumed(script: Script, cut: Interruption) -> Script:
    """The script from where it continues, to be driven as one that begins."""
    try:
        request = next(script)
        for answered in cut.kept:
            request = script.send(answered.answer)
        while True:
            request = script.send((yield request))
    except StopIteration:
        return


def _from_where(cut: Interruption, goes_on: ResumePoint) -> Interruption:
    """Moves the cut back to where the test may continue: the start of its cycle, or of its group of steps."""
    if goes_on is ResumePoint.PROGRAM or cut.next is None or isinstance(cut.next, Purge | CycleFinished):
        return cut  # nothing is left to measure in the cycle, or in any
    if goes_on is ResumePoint.CYCLE:
        purges = [place for place, one in enumerate(cut.kept) if isinstance(one.request, Purge)]
        first = purges[-1] if purges else 0
    elif not isinstance(cut.next, Apply):
        return cut
    else:
        group = (cut.next.phase, cut.next.number)
        first = next(
            (
                place
                for place, one in enumerate(cut.kept)
                if one.cycle == cut.cycle
                and isinstance(one.request, Apply)
                and (one.request.phase, one.request.number) == group
            ),
            len(cut.kept),
        )
    if first == len(cut.kept):
        return cut
    return Interruption(cut.kept[:first], cut.kept[first].request, cut.kept[first].cycle)


class _Record:
    """What a run's record answers to the requests of its script, each in its turn."""

    def __init__(self, run: Run, recorded: Recorded, task: str) -> None:
        manifest = self._manifest = run.manifest
        self._recorded = recorded
        self._task = task
        self.cycle = 0
        self._folder = run.folder
        self._purges = len(manifest.purges)
        self._write_caches = len(manifest.write_caches)
        self._cycles = list(manifest.cycles)
        self._steps = {step.place: step.sample for step in run.steps}
        self._health = {
            place: record for place, record in enumerate(run.health) if record.occasion is ReadingPoint.DURING
        }
        self._at = BEFORE_THE_FIRST

    def answer(self, request: Request) -> ReplayedRequest | None:
        """The request with its answer; None if it has none, or not all of it."""
        cycle = self.cycle
        match request:
            case Purge():
                if cycle == self._purges:
                    return None
                self.cycle += 1
            case SetWriteCache():
                if not self._write_caches:
                    return None
                self._write_caches -= 1
            case CycleFinished():
                if not self._cycles or self._cycles.pop(0) != request:
                    return None
            case ReadHealth(phase, number):
                return self._reading(request, (cycle, phase, number))
            case ReadTrimmed() | DriverRequest():
                return self._kept(request)
            case Apply():
                return self._applied(request)
        return ReplayedRequest(request, None, cycle)

    def _kept(self, request: ReadTrimmed | DriverRequest) -> ReplayedRequest | None:
        """What the manifest has of it."""
        if isinstance(request, ReadTrimmed):
            return None if self._manifest.trimmed is None else ReplayedRequest(request, None, self.cycle)
        found = self._recorded(request, self._manifest)
        return ReplayedRequest(request, found[-1], self.cycle) if found else None

    def _reading(self, request: Request, key: tuple[int, Phase, int]) -> ReplayedRequest | None:
        for place, record in self._health.items():
            if (record.cycle, record.phase, record.number) == key:
                del self._health[place]
                return ReplayedRequest(request, record.reading, self.cycle, health=place)
        return None

    def _applied(self, request: Apply) -> ReplayedRequest | None:
        """The samples of all steps; of those that may fail, up to the one that did."""
        places = places_of(request, self.cycle, self._at)
        samples: list[Sample] = []
        for place, step in zip(places, request.steps, strict=True):
            sample = self._steps.get(place)
            if sample is None:
                return None
            if sample.step != step:
                raise RecordError(
                    f"can't {self._task} {self._folder}: {place} of its record is {sample.step}, and this "
                    f"version of openpts would run {step}{_other_than(sample.step, step)}; "
                    f"{self._task} it with the version that began it"
                )
            samples.append(sample)
            if sample.state is not StepState.COMPLETE:
                if request.may_fail and sample.state is StepState.FAILED:
                    break
                return None
        last = places[len(samples) - 1]
        self._at = replace(last, position=last.position + 1)
        return ReplayedRequest(request, tuple(samples), self.cycle, tuple(places[: len(samples)]))


def _other_than(recorded: Step, requested: Step) -> str:
    """What differs between steps whose texts are the same."""
    if str(recorded) != str(requested):
        return ""
    names = [n for n in Step.__struct_fields__ if getattr(recorded, n) != getattr(requested, n)]
    return f", with other {' and '.join(names)}"


def places_of(apply: Apply, cycle: int, at: StepPlace) -> list[StepPlace]:
    """The places of a request's steps from ``at`` on: pieces of one phase and number count on.

    A run that continues another begins without a purge; its steps are of the first cycle all the same.
    """
    cycle = max(1, cycle)
    goes_on = (at.cycle, at.phase, at.number) == (cycle, apply.phase, apply.number)
    first = at.position if goes_on else 0
    return [StepPlace(cycle, apply.phase, apply.number, first + index) for index in range(len(apply.steps))]
