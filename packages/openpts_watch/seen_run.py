"""A run as its events tell it: what is planned, done and continuing, and what was measured."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from openpts.runner import event_lines as lines
from openpts.runner.event_lines import EventLine
from openpts.units import format_duration
from openpts.vocabulary.phase import Phase, phase_text

_MOST_POINTS: Final = 2048
_MOST_WORDS: Final = 200


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
    """Takes in lines; every field is what is known by now. ``attempts`` are those that had a run folder.

    ``tracked`` is of the phase that was judged last, ``limited_ns`` the time in which a part of the host was
    the limit, ``words`` the last lines of a log.
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
    points: list[RatePoint] = field(default_factory=list)
    tracked: dict[str, Tracked] = field(default_factory=dict)
    deviations: dict[tuple[str, str, str], lines.DeviationLine] = field(default_factory=dict)
    limited_ns: dict[str, int] = field(default_factory=dict)
    evidence: dict[str, None] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    finished: lines.RunFinishedLine | None = None
    _judged: tuple[int, Phase] | None = None
    _each: int = 1
    _gathered: list[RatePoint] = field(default_factory=list)

    def take(self, some: Iterable[EventLine]) -> int:
        """Take in lines, and count them."""
        count = 0
        for line in some:
            count += 1
            self._take(line)
        del self.words[:-_MOST_WORDS]
        return count

    def _take(self, line: EventLine) -> None:
        match line:
            case lines.StreamStartedLine():
                self.finished = None
            case lines.RunStartedLine():
                self._begin(line)
            case lines.PurgeStartedLine():
                self.purge, self.now, self.progress = "purge", None, None
                self.tracked = {}
            case lines.PurgeProgressLine():
                share = "" if line.share is None else f", {line.share:.0%}"
                self.purge = f"purge{share}, {line.text}"
            case lines.PurgeFinishedLine():
                self.purge = ""
                done = f"{line.method}, {line.changed_samples} of {line.samples} marks gone"
                self._say(line, f"purged: {done}" if line.ran else "no purge")
            case lines.PhaseStartedLine() | lines.RunProgressLine() | lines.StepFinishedLine():
                self._measure(line)
            case lines.SteadyStateLine():
                self._judge(line)
            case lines.RunFinishedLine():
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
        self._say(line, f"resumes at {line.resumes_at}" if line.resumes_at else "began")

    def _measure(self, line: lines.PhaseStartedLine | lines.RunProgressLine | lines.StepFinishedLine) -> None:
        match line:
            case lines.PhaseStartedLine():
                self.now, self.position, self.progress, self.purge = line, 0, None, ""
                if (phase := self.phases.get((line.cycle, line.phase))) is not None:
                    phase.numbers.add(line.number)
            case lines.RunProgressLine():
                self.progress, self.position = line, line.place.position
                self._point(RatePoint(line.iops, line.bytes_per_s, line.temperature_c))
            case lines.StepFinishedLine(place=place):
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

    def _judge(self, line: lines.SteadyStateLine) -> None:
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
            case lines.DeviationLine():
                self.deviations[line.rule_id, line.clause, line.used] = line
            case lines.HostLimitedLine():
                for part, time_ns in line.limited_ns.items():
                    self.limited_ns[part] = self.limited_ns.get(part, 0) + time_ns
                self.evidence |= dict.fromkeys(line.evidence)
            case lines.NoteLine():
                self._say(line, line.text)
            case lines.CycleFinishedLine():
                self._say(line, f"cycle {line.cycle}, {line.title}: {line.ended_by}".replace(", :", ":"))
            case lines.HookFinishedLine():
                self._say(line, f"hook {line.hook.moment}: {line.hook.how_it_ended}")
            case lines.LimitsJudgedLine():
                for one in line.limits:
                    self._say(line, f"{one.judgement}: {one.name}, {one.limit}")
            case lines.ReportWrittenLine():
                self._say(line, f"report: {', '.join(line.paths)}")

    def _say(self, line: EventLine, text: str) -> None:
        self.words.append(f"{line.at[:19].replace('T', ' ')}  {text}")

    def _point(self, point: RatePoint) -> None:
        """Keep at most so many points of a complete run: then each is the mean of twice as many."""
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
    def phase_words(self) -> str:
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
    def left_words(self) -> str:
        """The time left, and why it is no less and no more."""
        left_ns = self.left_ns
        if left_ns is None:
            return "time left unknown: what ends this step can't be foreseen"
        if self.finished is not None:
            is_complete = self.finished.state == "complete"
            return "nothing is left to measure" if is_complete else "`openpts resume` goes on with it"
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
