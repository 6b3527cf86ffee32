"""Runs of a folder and those in progress anywhere on this host: their states by lock and events."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from openpts.errors import NONSENSE, RecordError, failing_as
from openpts.ownership import CLAIM_NAME, is_locked, read_owner
from openpts.record.batch import is_batch, read_batch
from openpts.record.manifest import RunState
from openpts.record.reader import read_manifest
from openpts.record.writer import DATABASE_NAME, EVENTS_NAME
from openpts.run_folder_files import open_file
from openpts.runner import event_lines as lines
from openpts.runner.event_lines import EventLine, event_of
from openpts.system_files import SystemRoots
from openpts.units import format_duration
from openpts.vocabulary.document import Document
from openpts.vocabulary.sample import Phase, phase_text
from openpts_pages.texts import fact_text

_MOST_POINTS: Final = 2048
_MOST_LOGGED: Final = 200


class RatePoint(Struct):
    """Rates at a moment; of many, the means. ``temperature_c`` is the last one."""

    iops: float
    bytes_per_s: float
    temperature_c: float | None = None


class SeenPhase(Struct):
    """A phase of the plan, and how much of it was seen: the numbers that began, the steps that ended."""

    planned: lines.PlannedPhase
    numbers: set[int] = field(default_factory=set)
    steps: set[tuple[int, int]] = field(default_factory=set)
    elapsed_ns: int = 0


class Tracked(Struct):
    """A tracking variable of a cycle: its values by round, and how its last window was judged."""

    values: dict[int, float]
    last: lines.Steadiness


class SeenRun(Struct):
    """The reader of a run's lines; every field is what is known by now.

    ``attempts`` are those that had a run folder, ``steps`` those that ended in the last of them. ``rate`` has
    the latest rates. ``tracked`` is of the phase that was judged last, ``limited_ns`` the time in which a
    part of the host was the limit, ``log`` the last lines of a log.
    """

    run: lines.RunStartedLine | None = None
    attempts: int = 0
    began_at: str = ""
    phases: dict[tuple[int, Phase], SeenPhase] = field(default_factory=dict)
    now: lines.PhaseStartedLine | None = None
    position: int = 0
    purge: str = ""
    progress: lines.RunProgressLine | None = None
    step: lines.StepFinishedLine | None = None
    steps: int = 0
    rate: RatePoint | None = None
    temperature_c: float | None = None
    points: list[RatePoint] = field(default_factory=list)
    tracked: dict[str, Tracked] = field(default_factory=dict)
    deviations: dict[tuple[str, str, str], lines.DeviationFound] = field(default_factory=dict)
    limited_ns: dict[str, int] = field(default_factory=dict)
    evidence: dict[str, None] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    finished: lines.RunEnded | None = None
    _judged: tuple[int, Phase] | None = None
    _each: int = 1
    _gathered: list[RatePoint] = field(default_factory=list)

    def take(self, some: Iterable[EventLine]) -> int:
        """Take in lines, and count them."""
        count = 0
        for line in some:
            count += 1
            self._take(line)
        del self.log[:-_MOST_LOGGED]
        return count

    def _take(self, line: EventLine) -> None:
        match line:
            case lines.ProgramStarted():
                self.finished = None
            case lines.RunStartedLine():
                self._begin(line)
            case lines.PurgeStarted():
                self.purge, self.now, self.progress = "purge", None, None
                self.tracked = {}
            case lines.PurgeProgressed():
                share = "" if line.share is None else f", {line.share:.0%}"
                self.purge = f"purge{share}, {line.text}"
            case lines.PurgeFinishedLine():
                self.purge = ""
                done = f"{line.method}, {line.changed_samples} of {line.samples} marks gone"
                self._say(line, f"purged: {done}" if line.ran else "no purge")
            case lines.RunProgressLine() | lines.SampleLine():
                self.temperature_c = line.temperature_c or self.temperature_c
                self._measure(line)
            case lines.PhaseStartedLine() | lines.StepFinishedLine():
                self._measure(line)
            case lines.SteadyStateJudged():
                self._judge(line)
            case lines.RunEnded():
                self.finished = line
                self._say(line, f"run {line.state}" + (f": {line.reason}" if line.reason else ""))
            case _:
                self._note(line)

    def _begin(self, line: lines.RunStartedLine) -> None:
        self.run, self.attempts = line, self.attempts + 1
        self.began_at = self.began_at or line.at
        for planned in line.plan:
            self.phases.setdefault((planned.cycle, planned.phase), SeenPhase(planned))
        self.now = self.progress = None
        self.steps = 0
        self._say(line, f"resumes at {line.resumes_at}" if line.resumes_at else "began")

    def _measure(self, line: EventLine) -> None:
        match line:
            case lines.PhaseStartedLine():
                self.now, self.position, self.progress, self.purge = line, 0, None, ""
                if (phase := self.phases.get((line.cycle, line.phase))) is not None:
                    phase.numbers.add(line.number)
            case lines.RunProgressLine():
                self.progress, self.position = line, line.place.position
                self._point(RatePoint(line.iops, line.bytes_per_s, line.temperature_c))
            case lines.StepFinishedLine(place=place):
                self.steps += 1
                was_followed = self.progress is not None and self.progress.place == place
                self.step, self.position = line, place.position + 1
                if (phase := self.phases.get((place.cycle, place.phase))) is not None:
                    phase.elapsed_ns += line.elapsed_ns * ((place.number, place.position) not in phase.steps)
                    phase.steps.add((place.number, place.position))
                if not was_followed:  # in virtual time no second passes
                    every = line.operations.values()
                    self._point(
                        RatePoint(sum(one.iops for one in every), sum(one.bytes_per_s for one in every))
                    )

    def _judge(self, line: lines.SteadyStateJudged) -> None:
        where = (self.now.cycle if self.now else 1, line.phase)
        if where != self._judged:
            self._judged, self.tracked = where, {}
        for one in line.variables:
            values = self.tracked[one.name].values if one.name in self.tracked else {}
            values |= dict(zip(one.window, one.values, strict=False))
            self.tracked[one.name] = Tracked(values, one)
        self._say(line, f"{phase_text(line.phase, line.number)}: {'steady' if line.steady else 'not steady'}")

    def _note(self, line: EventLine) -> None:
        match line:
            case lines.DeviationFound():
                self.deviations[line.rule_id, line.clause, line.used] = line
            case lines.HostLimitedLine():
                for part, time_ns in line.limited_ns.items():
                    self.limited_ns[part] = self.limited_ns.get(part, 0) + time_ns
                self.evidence |= dict.fromkeys(line.evidence)
            case lines.Note():
                self._say(line, line.text)
            case lines.CycleEnded():
                self._say(line, f"cycle {line.cycle}, {line.title}: {line.ended_by}".replace(", :", ":"))
            case lines.HookEnded():
                self._say(line, f"hook {line.hook.moment}: {line.hook.how_it_ended}")
            case lines.LimitsJudged():
                for one in line.limits:
                    self._say(line, f"{one.judgement}: {one.name}, {one.limit}")
            case lines.ReportsWritten():
                self._say(line, f"report: {', '.join(line.paths)}")

    def _say(self, line: EventLine, text: str) -> None:
        self.log.append(f"{line.at[:19].replace('T', ' ')}  {text}")

    def _point(self, point: RatePoint) -> None:
        """Keep at most so many points of a complete run: then each is the mean of twice as many."""
        self.rate = point
        self._gathered.append(point)
        if len(self._gathered) >= self._each:
            self.points.append(_mean(self._gathered))
            self._gathered.clear()
        if len(self.points) > _MOST_POINTS:
            self.points = [_mean(self.points[at : at + 2]) for at in range(0, len(self.points), 2)]
            self._each *= 2

    @property
    def elapsed_ns(self) -> int:
        """Time of steps, on the engine's clock."""
        goes_on = self.progress is not None and (self.step is None or self.step.place != self.progress.place)
        running = self.progress.step_elapsed_ns if self.progress is not None and goes_on else 0
        return sum(phase.elapsed_ns for phase in self.phases.values()) + running

    @property
    def left_ns(self) -> int | None:
        """The longest time to come, by the run itself, or by its plan; None where none is known."""
        if self.finished is not None or self.run is None:
            return 0 if self.finished is not None else None
        if self.progress is not None:
            return self.progress.left_ns
        return max(0, self.run.longest_ns - self.elapsed_ns) if self.phases else None

    @property
    def done_share(self) -> float | None:
        """How much of the longest plan is behind, 0 to 1; 1 for a run that is complete."""
        if self.finished is not None and self.finished.state == "complete":
            return 1.0
        if self.run is None or not self.run.longest_ns:
            return None
        is_over = self.finished is not None
        left_ns = max(0, self.run.longest_ns - self.elapsed_ns) if is_over else self.left_ns
        return None if left_ns is None else min(1.0, max(0.0, 1 - left_ns / self.run.longest_ns))

    @property
    def now_text(self) -> str:
        """What is in progress: ``cycle 1, round 3 of at most 25, step 4 of 56: RND 4 KiB RW65``."""
        if self.finished is not None:
            return f"run {self.finished.state}"
        if self.now is None:
            return self.purge or ("starting" if self.run is None else "between phases")
        now = self.now
        text = f"cycle {now.cycle}, {phase_text(now.phase, now.number)}"
        if now.most is not None:
            planned = self.phases.get((now.cycle, now.phase))
            text += f" of {'at most ' if planned and planned.planned.may_end_sooner else ''}{now.most}"
        if self.position < len(now.stimuli):
            text += f", step {self.position + 1} of {len(now.stimuli)}: {now.stimuli[self.position]}"
        return text

    @property
    def left_text(self) -> str:
        """The time left, and why it is no less and no more."""
        left_ns = self.left_ns
        if left_ns is None:
            return "time left unknown: what ends this step can't be foreseen"
        if self.finished is not None:
            is_complete = self.finished.state == "complete"
            return "nothing is left to measure" if is_complete else "`openpts resume` continues it"
        bounded = self.progress is not None and self.progress.left_bounded
        at = "at the rates of now" if self.progress else "at assumed rates"
        why = "durations alone bound it" if bounded else at
        sooner = any(phase.planned.may_end_sooner for phase in self.phases.values())
        steady = ", sooner if steady" if sooner else ""
        return f"{'at most' if bounded else 'about'} {format_duration(left_ns)} left: {why}{steady}"


def _mean(points: list[RatePoint]) -> RatePoint:
    count = len(points)
    iops, rate = sum(one.iops for one in points) / count, sum(one.bytes_per_s for one in points) / count
    return RatePoint(iops, rate, points[-1].temperature_c)


_AT_ONCE_BYTES: Final = 4 << 20
_HEAD_BYTES: Final = 256 << 10
_TAIL_BYTES: Final = 1 << 20


class EventsFile(Struct):
    """The lines behind those that were read; what a run has not ended with a line feed is not read yet.

    ``ends_only``: of a long file, its beginning and its end.
    """

    folder: Path
    ends_only: bool = False
    _offset: int = 0

    def new_lines(self) -> Iterator[EventLine]:
        """All whole lines, or the next megabytes of them. Raises RecordError if the file can't be read."""
        with failing_as(RecordError, f"can't read {self.folder / EVENTS_NAME}"):
            try:
                content = self._content()
            except FileNotFoundError:
                return
        yield from (line for text in content.splitlines() if (line := event_of(text)) is not None)

    def _content(self) -> bytes:
        with open_file(self.folder, EVENTS_NAME) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(self._offset)
            skips = self.ends_only and size - self._offset > _HEAD_BYTES + _TAIL_BYTES
            content = file.read(_HEAD_BYTES if skips else _AT_ONCE_BYTES)
            self._offset += content.rfind(b"\n") + 1
            content = content[: content.rfind(b"\n") + 1]
            if skips:
                file.seek(size - _TAIL_BYTES)
                file.readline()
                self._offset = file.tell()
        return content


def seen_in(folder: Path, *, ends_only: bool = False) -> SeenRun:
    """The run in a folder as its events are by now. Raises RecordError."""
    seen, file = SeenRun(), EventsFile(folder, ends_only)
    while seen.take(file.new_lines()):
        pass
    return seen


RUNS: Final = Path("openpts-runs")
"""Where runs lie if nothing else is said."""

_DEPTH: Final = ("", "*/", "*/*/")


class ListedRun(Struct, frozen=True, kw_only=True):
    """A run, or an entry of a batch that was refused. ``left_ns`` is on the engine's clock."""

    folder: str
    state: RunState
    run: str | None = None
    test: str | None = None
    drive: str | None = None
    serial: str | None = None
    started_at: str | None = None
    done_share: float | None = None
    left_ns: int | None = None
    reason: str | None = None


class RunList(Document, frozen=True, kw_only=True, tag="openpts.run-list/1"):
    """Runs of a folder, and those in progress anywhere."""

    runs: tuple[ListedRun, ...]


def runs_here(folder: Path, roots: SystemRoots) -> list[ListedRun]:
    """Runs below a folder and runs in progress, in the order in which they began."""
    folders = dict.fromkeys(
        path.parent.resolve()
        for below in _DEPTH
        for name in (EVENTS_NAME, CLAIM_NAME, DATABASE_NAME)
        for path in folder.glob(f"{below}{name}")
    )
    found = [run for one in (*folders, *running_folders(roots)) for run in _listed_anyhow(one)]
    every = {run.folder: run for run in found}.values()
    return sorted(every, key=lambda run: (run.started_at or "", run.folder))


def running_folders(roots: SystemRoots) -> list[Path]:
    """Folders of runs that processes in sight have claimed; root sees those of all."""
    found: dict[Path, None] = {}
    for fd in roots.proc.glob("[0-9]*/fd/*"):
        with suppress(OSError, RecordError):
            path = fd.readlink()
            if path.name == CLAIM_NAME and is_locked(path):
                found[path.parent] = None
    return list(found)


def state_of(folder: Path, seen: SeenRun) -> RunState:
    """Running as long as a process holds the folder; one that ended without a word was interrupted."""
    if is_locked(folder / CLAIM_NAME):
        return RunState.RUNNING
    return RunState.INTERRUPTED if seen.finished is None else RunState(seen.finished.state)


def _listed_anyhow(folder: Path) -> list[ListedRun]:
    """What is in a folder, or why that can't be said: the others are listed whatever is in one."""
    try:
        return list(_listed(folder))
    except NONSENSE as error:
        return [ListedRun(folder=str(folder), state=RunState.UNKNOWN, reason=str(error))]


def _listed(folder: Path) -> Iterator[ListedRun]:
    """The run of a folder; of a batch, what has no folder of its own."""
    if is_batch(folder):
        with suppress(RecordError):
            for entry in read_batch(folder).entries:
                if entry.state is RunState.REFUSED:
                    yield ListedRun(
                        folder=str(folder / entry.folder),
                        state=entry.state,
                        test=entry.test,
                        drive=entry.request.target,
                        serial=entry.request.serial,
                        reason=entry.reason,
                    )
        return
    try:
        seen = seen_in(folder, ends_only=True)
    except RecordError:
        seen = SeenRun()
    if seen.run is None:
        yield from _without_events(folder)
        return
    yield ListedRun(
        folder=str(folder),
        state=state_of(folder, seen),
        run=seen.run.run,
        test=seen.run.test,
        drive=seen.run.target.name,
        serial=seen.run.target.serial,
        started_at=seen.began_at,
        done_share=seen.done_share,
        left_ns=seen.left_ns,
        reason=seen.finished.reason if seen.finished else None,
    )


def _without_events(folder: Path) -> Iterator[ListedRun]:
    """An imported run by its record; one that has not begun by its claim."""
    with suppress(RecordError):
        manifest = read_manifest(folder)
        is_left = manifest.state is RunState.RUNNING and not is_locked(folder / CLAIM_NAME)
        yield ListedRun(
            folder=str(folder),
            state=RunState.INTERRUPTED if is_left else manifest.state,
            run=manifest.test_id,
            test=manifest.conditions.test,
            drive=manifest.target.name,
            serial=fact_text(manifest.dut, "serial", "") or None,
            started_at=manifest.started_at,
            reason=manifest.state_reason,
        )
        return
    owner = read_owner(folder / CLAIM_NAME)
    if owner is not None:
        state = RunState.RUNNING if is_locked(folder / CLAIM_NAME) else RunState.UNKNOWN
        yield ListedRun(
            folder=str(folder),
            state=state,
            run=owner.run_id,
            drive=owner.target.partition("?")[0],
            started_at=owner.since,
        )
