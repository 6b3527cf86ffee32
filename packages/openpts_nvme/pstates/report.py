"""The report of power states: the staircase, and the states declared and measured."""

import math
import random
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, stimulus_rows
from openpts.procedures.kit.steps import line_series
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_MS, NS_PER_S, format_block_size, format_duration, format_latency_ms, in_ms
from openpts.vocabulary.power import PowerMode, PowerState, PowerStatesSet, entries
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.stimulus import planned_length_ns
from openpts_nvme.pstates import ALWAYS_ON, AUTONOMOUS, COMMANDED, PowerStateConditions
from openpts_pages import cells, ticks
from openpts_pages.kit import Cells, Plot, PlotName, page, page_of, rows_table, values_of
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Page, Table, Verdict
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology
from openpts_work.dips import RULE, segments_of
from openpts_work.work import DriveWork

_RESAMPLES: Final = 100
LEAST_CHANGE: Final = 0.1
"""Steps of less than this share of the latency before are not distinguished from noise."""
_TOLERANCE: Final = 1.05
"""A declared latency counts as kept up to this, as the host's own part of a latency varies."""


class IdlePoint(Struct, frozen=True):
    """The first reads after an idle time: ``idle_ns`` is the median of what it was in fact."""

    planned_ns: int
    idle_ns: float
    latencies_ns: tuple[int, ...]

    @property
    def median_ns(self) -> float:
        """Median of the latencies."""
        return median(self.latencies_ns)


class LatencyLevel(Struct, frozen=True):
    """Neighboring idle times with one latency, from point ``start`` to before ``end``.

    The drive was in it after ``after_ns`` without I/O at the latest, and not yet after ``not_after_ns``, None
    of the first level. ``exit_ns`` is how much longer a read takes than of a drive that is awake, and lies
    within ``exit_from_ns`` and ``exit_to_ns`` with 95 % confidence. ``confidence`` is the share of
    resamples with this step, to a point of the grid.
    """

    start: int
    end: int
    latency_ns: float
    exit_ns: float
    exit_from_ns: float
    exit_to_ns: float
    after_ns: float
    not_after_ns: float | None
    confidence: float


class FoundState(Struct, frozen=True):
    """A state of the drive, or a level that it declares no state for: ``declared`` is None then.

    ``entered_ns`` is the idle time after which it is entered by what is declared, None where it is entered on
    command only. ``commanded_ns`` is the exit latency of the commanded state, ``power_w`` its power.
    """

    declared: PowerState | None
    entered_ns: int | None
    level: LatencyLevel | None
    commanded_ns: float | None
    power_w: float | None

    @property
    def exit_ns(self) -> float | None:
        """The exit latency as the staircase has it, or else as the commanded state has."""
        return self.commanded_ns if self.level is None else self.level.exit_ns

    @property
    def keeps_exit(self) -> bool | None:
        """Whether leaving takes no longer than is declared; None where either is not known."""
        declared = None if self.declared is None else self.declared.exit_ns
        if declared is None or self.exit_ns is None:
            return None
        return self.exit_ns <= _TOLERANCE * declared

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        declared, level = self.declared, self.level
        entered_ns = None if level is None else (level.not_after_ns, level.after_ns)
        return {
            "state": None if declared is None else declared.number,
            "entered_after_declared_s": _seconds(self.entered_ns),
            "entered_after_s": entered_ns and [_seconds(time_ns) for time_ns in entered_ns],
            "confidence": None if level is None else level.confidence,
            "exit_ms": None if level is None else in_ms(level.exit_ns),
            "exit_commanded_ms": in_ms(self.commanded_ns),
            "exit_declared_ms": None if declared is None else in_ms(declared.exit_ns),
            "power_w": self.power_w,
        }


def _seconds(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_S


class StatesReport(Struct, frozen=True):
    """What was measured: the staircase with transitions and without, and the states."""

    run: Run
    conditions: PowerStateConditions
    autonomous: tuple[IdlePoint, ...]
    always_on: tuple[IdlePoint, ...]
    levels: tuple[LatencyLevel, ...]
    awake_ns: float | None
    states: tuple[FoundState, ...]

    @classmethod
    def of(cls, run: Run) -> "StatesReport":
        """The results, from the samples in the record."""
        conditions = run.conditions(PowerStateConditions)
        autonomous, always_on = (
            points_of(run.phase(Phase.WAIT_STATE, number=number), conditions.per_decade)
            for number in (AUTONOMOUS, ALWAYS_ON)
        )
        awake_ns = _pooled(always_on, 0, len(always_on)) if always_on else None
        levels = levels_of(autonomous, awake_ns, conditions.seed)
        if awake_ns is None and levels:
            awake_ns = levels[0].latency_ns
        found = cls(run, conditions, autonomous, always_on, levels, awake_ns, ())
        return replace(found, states=tuple(found.declared_and_found()))

    def set(self, mode: PowerMode) -> PowerStatesSet | None:
        """What became of a setting, None where it was not asked for."""
        return next((one for one in self.run.manifest.power_states if one.mode is mode), None)

    def declared_and_found(self) -> Iterator[FoundState]:
        """Each declared state, then each level that no declared state explains."""
        autonomous = self.set(PowerMode.AUTONOMOUS)
        states = () if autonomous is None else autonomous.states
        setting = None if autonomous is None else autonomous.setting
        expected = entries(states, setting.table, setting.state) if setting and setting.autonomous else []
        entered = {state.number: at_ns for state, at_ns in expected}
        seen: dict[int, LatencyLevel] = {}
        unexplained = []
        for level in self.levels:
            if not self.awake_ns or level.exit_ns <= LEAST_CHANGE * self.awake_ns:
                continue
            number = min(entered, key=lambda one: _decades_apart(level, entered[one]), default=None)
            near = (
                number is not None
                and _decades_apart(level, entered[number]) <= 1 / self.conditions.per_decade
            )
            if number is not None and near and number not in seen:
                seen[number] = level
            else:
                unexplained.append(FoundState(None, None, level, None, None))
        work = DriveWork(self.run)
        for state in states:
            idle, reads = _commanded(self.run, state.number)
            exits_ns = [read.sample.read.latency_sum_ns - (self.awake_ns or 0) for read in reads]
            yield FoundState(
                state,
                entered.get(state.number),
                seen.get(state.number),
                median(exits_ns) if exits_ns and self.awake_ns is not None else None,
                work.part("", idle).mean_w if idle and work.meter else None,
            )
        yield from unexplained

    def verdicts(self) -> Iterator[Verdict]:
        """Each step of the staircase, declared states without one, settings that were refused."""
        steps = [state for state in self.states if state.level is not None]
        if not self.autonomous:
            yield Verdict("Power states: n/a (nothing was measured).", "fail")
            return
        longest = format_duration(self.conditions.longest_ns)
        if not steps:
            yield Verdict(
                f"An idle drive answers as fast as a busy one, after idle times of up to {longest}."
            )
        for state in steps:
            yield _step_verdict(state)
        for state in self.states:
            entered = state.entered_ns
            if entered is not None and state.level is None and entered <= self.conditions.longest_ns:
                yield Verdict(
                    f"{_name(state)} is to be entered after {_idle_text(entered)} without I/O; the "
                    "latency shows no step there."
                )
        refused = [one.refused for one in self.run.manifest.power_states if one.refused]
        yield from (Verdict(f"Not set: {reason}.") for reason in dict.fromkeys(refused))

    def staircase(self) -> Page:
        """The latency of the first read over the idle time before it."""
        name = PlotName("pstates-staircase", "Plot X-PST-1", "Latency of the First Read v Idle Time")
        if not self.autonomous:
            return page_of(name, absent="no idle time was measured")
        shown = self._points_table()
        awake = _ms(self.awake_ns)
        rule = Verdict(
            f"A drive that is awake takes {awake} ms. Levels: of the medians, as rates are cut elsewhere. "
            f"{RULE} The confidence of a step: of 100 resamples of the reads, the share in which it is "
            "found, to a point of the grid."
        )
        plot = Plot(
            x=ticks.log_axis("Idle time (s)", [point.idle_ns / NS_PER_S for point in self.autonomous]),
            y=lambda values: ticks.log_axis("First read (ms)", values),
            series=line_series(shown)[: 2 if self.always_on else 1],
            alt="{rows} idle times, from {low} to {high} ms.",
            decimals=None,
            height_px=300,
        )
        figure = plot.over(name, shown) if values_of(shown) else None
        return page(name, figure, self._levels_table(), rule, shown)

    def _points_table(self) -> Table:
        awake = {point.planned_ns: cells.latency(point.median_ns) for point in self.always_on}
        return rows_table(
            "pstates-staircase-points",
            "Latency of the first read after an idle time: medians",
            "Idle time (s):0 | Transitions on (ms) | Transitions off (ms) | Shortest (ms) | Longest (ms) | "
            "Reads",
            (
                (
                    Cell(f"{point.idle_ns / NS_PER_S:.4g}", point.idle_ns / NS_PER_S),
                    cells.latency(point.median_ns),
                    awake.get(point.planned_ns, cells.missing("not measured")),
                    cells.latency(min(point.latencies_ns)),
                    cells.latency(max(point.latencies_ns)),
                    cells.count(len(point.latencies_ns)),
                )
                for point in self.autonomous
            ),
        )

    def _levels_table(self) -> Table:
        return rows_table(
            "pstates-staircase-levels",
            "Levels of the staircase",
            "Begins:<0 | Latency (ms) | Longer than awake (ms) | 95 % from (ms) | to (ms) | "
            "Confidence of the step (%)",
            (
                (
                    _entry_text(level),
                    cells.latency(level.latency_ns),
                    *map(_difference, (level.exit_ns, level.exit_from_ns, level.exit_to_ns)),
                    cells.percent(100 * level.confidence, 0),
                )
                for level in self.levels
            ),
        )

    def states_page(self) -> Page:
        """States as the drive declares them, beside what was measured."""
        name = PlotName("pstates-states", "Table X-PST-2", "States, Declared and Measured")
        autonomous = self.set(PowerMode.AUTONOMOUS)
        source = (
            None
            if autonomous is None or not autonomous.source
            else Verdict(f"Declared: {autonomous.source}. Processors: {autonomous.processors}.")
        )
        note = (
            f"A step of less than {100 * LEAST_CHANGE:g} % of the latency before it is taken as noise. "
            "Commanded: feature 02h, then idle time, then a read. Declared latencies are maxima. Power: mean "
            "of the idle times in the commanded state."
        )
        shown = rows_table(
            "pstates-states-table", name.title, _STATE_HEADS, map(_state_row, self.states), note=note
        )
        return page(name, source, shown, *self.verdicts())

    def measures(self) -> Iterator[Measured]:
        """Of each state that is left by a read; a state of the awake drive has no exit."""
        for state in self.states:
            if state.declared is not None and not state.declared.operational:
                subject = Subject(_name(state))
                yield from (measure.of(state, subject) for measure in _MEASURES)

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions = self.conditions
        return stimulus_rows(
            self.run,
            (
                "Test Stimulus",
                f"single RND {format_block_size(conditions.block_size_bytes)} R after idle times",
            ),
            ("Idle times", f"{_idle_text(conditions.shortest_ns)} to {_idle_text(conditions.longest_ns)}"),
            ("Reads", f"{conditions.repeats} after each, {conditions.least_repeats} after the longest"),
            ("TOIO - TC/QD", "TC 1 / QD 1"),
            ("Order", "random"),
            ("Without transitions", f"{conditions.least_repeats} reads after each"),
            (
                "Commanded states",
                f"{conditions.repeats} times each, for {format_duration(conditions.settle_ns)}",
            ),
            ("Steady State", NO_STEADY_STATE),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        return {
            "awake_ms": in_ms(self.awake_ns),
            "staircase": [
                {
                    "idle_s": point.idle_ns / NS_PER_S,
                    "median_ms": point.median_ns / NS_PER_MS,
                    "reads": len(point.latencies_ns),
                }
                for point in self.autonomous
            ],
            "states": [state.figures() for state in self.states],
        }


def points_of(steps: Sequence[StepRecord], per_decade: int) -> tuple[IdlePoint, ...]:
    """The reads by the idle times before them; one that came far later than planned is left out."""
    off_by = 10 ** (0.5 / per_decade)
    found: dict[int, list[tuple[int, int]]] = {}
    last_end_ns = planned_ns = None
    for sample in (step.sample for step in steps):
        if sample.step.is_idle:
            planned_ns = planned_length_ns(sample.step.stop)
            continue
        if planned_ns is not None and last_end_ns is not None and sample.read.ios == 1:
            idle_ns = sample.started_ns - last_end_ns
            if idle_ns < off_by * planned_ns:
                found.setdefault(planned_ns, []).append((idle_ns, sample.read.latency_sum_ns))
        is_whole = sample.state is StepState.COMPLETE
        last_end_ns = sample.started_ns + sample.elapsed_ns if is_whole else None
        planned_ns = None
    return tuple(
        IdlePoint(planned, median(idle for idle, _ in reads), tuple(latency for _, latency in reads))
        for planned, reads in sorted(found.items())
    )


def levels_of(points: Sequence[IdlePoint], awake_ns: float | None, seed: int) -> tuple[LatencyLevel, ...]:
    """The levels of a staircase; without ``awake_ns``, the drive is awake in the first."""
    medians_ns = [point.median_ns for point in points]
    spans = _spans(medians_ns) if all(medians_ns) else []
    if not spans:
        return ()
    latencies_ns = [_pooled(points, *span) for span in spans]
    awake_ns = latencies_ns[0] if awake_ns is None else awake_ns
    starts, resampled = _resampled(points, spans, seed)
    found = []
    for number, (start, end) in enumerate(spans):
        tail = max(1, round(0.025 * len(resampled)))
        ordered = sorted(latencies[number] for latencies in resampled)
        found.append(
            LatencyLevel(
                start,
                end,
                latencies_ns[number],
                latencies_ns[number] - awake_ns,
                ordered[tail - 1] - awake_ns,
                ordered[-tail] - awake_ns,
                points[start].idle_ns,
                points[start - 1].idle_ns if start else None,
                sum(any(abs(start - other) <= 1 for other in one) for one in starts) / len(starts),
            )
        )
    return tuple(found)


def _spans(latencies_ns: Sequence[float]) -> list[tuple[int, int]]:
    """Neighboring points of one level; a point that belongs to none is of the level after it."""
    ends = [segment.end for segment in segments_of(latencies_ns)]
    return list(zip([0, *ends[:-1]], ends, strict=True)) if ends else []


def _pooled(points: Sequence[IdlePoint], start: int, end: int) -> float:
    return median(latency for point in points[start:end] for latency in point.latencies_ns)


def _resampled(
    points: Sequence[IdlePoint], spans: Sequence[tuple[int, int]], seed: int
) -> tuple[list[list[int]], list[list[float]]]:
    """Where levels start, and the latencies of these levels, if the reads of each point are drawn again."""
    chosen = random.Random(seed)  # noqa: S311 a resample, no secret
    starts, latencies = [], []
    for _ in range(_RESAMPLES):
        drawn = [
            IdlePoint(
                one.planned_ns, one.idle_ns, tuple(chosen.choices(one.latencies_ns, k=len(one.latencies_ns)))
            )
            for one in points
        ]
        starts.append([start for start, _ in _spans([one.median_ns for one in drawn])])
        latencies.append([_pooled(drawn, *span) for span in spans])
    return starts, latencies


def _commanded(run: Run, number: int) -> tuple[list[StepRecord], list[StepRecord]]:
    """Idle times in a commanded state, and the reads after them."""
    steps = [
        step
        for step in run.phase(Phase.WAIT_STATE, number=COMMANDED + number)
        if step.sample.state is StepState.COMPLETE
    ]
    idle = [step for step in steps if step.sample.step.is_idle]
    return idle, [step for step in steps if not step.sample.step.is_idle]


def _decades_apart(level: LatencyLevel, at_ns: int) -> float:
    """How far a moment is outside of the two idle times between which a level begins, in decades."""
    low_ns = level.not_after_ns or 0
    if low_ns <= at_ns <= level.after_ns:
        return 0.0
    near_ns = low_ns if at_ns < low_ns else level.after_ns
    return abs(math.log10(at_ns / near_ns))


_UNSEEN: Final = "no step seen"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = StatesReport.of(run)
    return ReportContent(
        verdicts=tuple(found.verdicts()),
        measures=tuple(found.measures()),
        sections=methodology(
            run, "Power States", found.test_rows(), lambda: (found.staircase(), found.states_page())
        ),
        figures=found.figures,
    )


def _name(state: FoundState) -> str:
    return "none declared" if state.declared is None else f"PS{state.declared.number}"


def _step_verdict(state: FoundState) -> Verdict:
    level = state.level
    assert level is not None  # noqa: S101 of steps only
    entered = f"{_name(state)}: entered {_entry_text(level)}"
    text = f"{entered}; the first read then takes {_ms(level.exit_ns)} ms longer"
    if state.declared is None:
        return Verdict(f"{text}. No declared state explains it.", "info")
    if state.keeps_exit is None:
        return Verdict(f"{text}. The drive declares no exit latency.", "info")
    kept = "within the" if state.keeps_exit else "longer than the"
    text += f", {kept} {_ms(state.declared.exit_ns)} ms that are declared."
    return Verdict(text, "pass" if state.keeps_exit else "fail")


def _ms(time_ns: float | None) -> str:
    return "n/a" if time_ns is None else format_latency_ms(max(0.0, time_ns))


def _entry_text(level: LatencyLevel) -> str:
    after = _idle_text(level.after_ns)
    if level.not_after_ns is None:
        return f"within {after} without I/O"
    return f"between {_idle_text(level.not_after_ns)} and {after} without I/O"


def _idle_text(time_ns: float) -> str:
    """An idle time, with three significant digits: ``9.80 ms``."""
    return f"{format_latency_ms(time_ns)} ms" if time_ns < NS_PER_S else format_duration(round(time_ns))


def _difference(time_ns: float) -> Cell:
    return cells.number(time_ns / NS_PER_MS, 3)


_STATE_HEADS: Final = (
    "State:<0 | I/O in it | Entered after, declared:1.4 | measured:2 | Entry, declared (ms) | "
    "Exit, declared (ms) | measured (ms) | commanded (ms) | Idle, declared (W) | measured (W)"
)


def _state_row(state: FoundState) -> Cells:
    declared, level = state.declared, state.level
    figures = (
        (None, None, None) if declared is None else (declared.entry_ns, declared.exit_ns, declared.idle_w)
    )
    return (
        _name(state),
        "" if declared is None else "yes" if declared.operational else "no",
        _entered_cell(state),
        cells.missing(_UNSEEN) if level is None else _entry_text(level),
        cells.number_or("not declared", figures[0], 3, per=NS_PER_MS),
        cells.number_or("not declared", figures[1], 3, per=NS_PER_MS),
        cells.missing(_UNSEEN) if level is None else _difference(level.exit_ns),
        cells.number_or("not commanded", state.commanded_ns, 3, per=NS_PER_MS),
        cells.number_or("not declared", figures[2], 4),
        cells.number_or("no meter", state.power_w, 4),
    )


def _entered_cell(state: FoundState) -> Cell:
    if state.entered_ns is None:
        return cells.words("on command only") if state.declared else cells.missing("not declared")
    return Cell(_idle_text(state.entered_ns), state.entered_ns / NS_PER_S)


_MEASURES: Final[tuple[Measure[FoundState], ...]] = (
    Measure(
        "exit",
        "{name}, exit latency",
        "ms",
        lambda state: state.exit_ns,
        per=NS_PER_MS,
        decimals=3,
        absent=_UNSEEN,
    ),
    Measure(
        "entered_after",
        "{name}, entered after",
        "s",
        lambda state: None if state.level is None else state.level.after_ns,
        per=NS_PER_S,
        decimals=3,
        absent=_UNSEEN,
    ),
)
