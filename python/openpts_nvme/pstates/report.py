"""The report of power states: the staircase, and the states declared and measured."""

from collections.abc import Iterator
from typing import Any, Final

from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, page, page_of, table, values_of
from openpts.pages.measure import Measure, Measured, Subject
from openpts.pages.model import Cell, Figure, Page, Table, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, stimulus_rows
from openpts.procedures.kit.steps import line_series
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S, format_block_size, format_duration, format_latency_ms
from openpts.vocabulary.power_states import PowerMode
from openpts_nvme.pstates.results import LEAST_CHANGE, FoundState, Level, Point, StatesRun, states_run
from openpts_practice.fill.change_points import RULE

_TITLE: Final = "Power States"
_UNSEEN: Final = "no step seen"
_UNDECLARED: Final = "none declared"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = states_run(run)
    return ReportContent(
        verdicts=tuple(_verdicts(found)),
        measures=tuple(_measures(found)),
        sections=methodology(run, _TITLE, _test_rows(found), lambda: _pages(found)),
        figures=lambda: _key_numbers(found),
    )


def _name(state: FoundState) -> str:
    return _UNDECLARED if state.declared is None else f"PS{state.declared.number}"


def _verdicts(found: StatesRun) -> Iterator[Verdict]:
    steps = [state for state in found.states if state.level is not None]
    if not found.autonomous:
        yield Verdict("Power states: n/a (nothing was measured).", "fail")
        return
    longest = format_duration(found.asked.longest_ns)
    if not steps:
        yield Verdict(f"An idle drive answers as fast as a busy one, after idle times of up to {longest}.")
    for state in steps:
        yield _step_verdict(state)
    for state in found.states:
        entered = state.entered_ns
        if entered is not None and state.level is None and entered <= found.asked.longest_ns:
            yield Verdict(
                f"{_name(state)} is to be entered after {_idle_text(entered)} without I/O; the "
                "latency shows no step there."
            )
    refused = [one.refused for one in found.run.manifest.power_states if one.refused]
    yield from (Verdict(f"Not set: {reason}.") for reason in dict.fromkeys(refused))


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


def _entry_text(level: Level) -> str:
    after = _idle_text(level.after_ns)
    if level.not_after_ns is None:
        return f"within {after} without I/O"
    return f"between {_idle_text(level.not_after_ns)} and {after} without I/O"


def _idle_text(time_ns: float) -> str:
    """An idle time, with three significant digits: ``9.80 ms``."""
    return f"{format_latency_ms(time_ns)} ms" if time_ns < NS_PER_S else format_duration(round(time_ns))


def _pages(found: StatesRun) -> tuple[Page, ...]:
    return _staircase_page(found), _states_page(found)


def _staircase_page(found: StatesRun) -> Page:
    name = PlotName("pstates-staircase", "Plot X-PST-1", "Latency of the First Read v Idle Time")
    if not found.autonomous:
        return page_of(name, absent="no idle time was measured")
    shown = _points_table(found)
    awake = _ms(found.awake_ns)
    rule = Verdict(
        f"A drive that is awake takes {awake} ms. Levels: of the medians, as rates are cut elsewhere. {RULE} "
        f"The confidence of a step is the share of 100 resamples of the reads in which it is found, to a "
        "point of the grid."
    )
    return page(name, _figure(found, name, shown), _levels_table(found), rule, shown)


def _points_table(found: StatesRun) -> Table:
    awake = {point.planned_ns: point for point in found.always_on}
    head: Col[Point] = Col(
        "Idle time (s)",
        lambda point: Cell(f"{point.idle_ns / NS_PER_S:.4g}", point.idle_ns / NS_PER_S),
        width=0,
    )

    def without(point: Point) -> Cell:
        other = awake.get(point.planned_ns)
        return cells.missing("not measured") if other is None else cells.latency(other.median_ns)

    columns: list[Col[Point]] = [
        Col("Transitions on (ms)", lambda point: cells.latency(point.median_ns)),
        Col("Transitions off (ms)", without),
        Col("Shortest (ms)", lambda point: cells.latency(min(point.latencies_ns))),
        Col("Longest (ms)", lambda point: cells.latency(max(point.latencies_ns))),
        Col("Reads", lambda point: cells.count(len(point.latencies_ns))),
    ]
    title = "Latency of the first read after an idle time: medians"
    return table("pstates-staircase-points", title, head, columns, found.autonomous)


def _figure(found: StatesRun, name: PlotName, shown: Table) -> Figure | None:
    if not values_of(shown):
        return None
    series = line_series(shown)[: 2 if found.always_on else 1]
    plot = Plot(
        x=ticks.log_axis("Idle time (s)", [point.idle_ns / NS_PER_S for point in found.autonomous]),
        y=lambda values: ticks.log_axis("First read (ms)", values),
        series=series,
        alt="{rows} idle times, from {low} to {high} ms.",
        decimals=None,
        height_px=300,
    )
    return plot.over(name, shown)


def _levels_table(found: StatesRun) -> Table:
    columns: list[Col[Level]] = [
        Col("Latency (ms)", lambda level: cells.latency(level.latency_ns)),
        Col("Longer than awake (ms)", lambda level: _difference(level.exit_ns)),
        Col("95 % from (ms)", lambda level: _difference(level.exit_from_ns)),
        Col("to (ms)", lambda level: _difference(level.exit_to_ns)),
        Col("Confidence of the step (%)", lambda level: cells.percent(100 * level.confidence, 0)),
    ]
    head: Col[Level] = Col("Begins", lambda level: Cell(_entry_text(level)), align="left", width=0)
    return table("pstates-staircase-levels", "Levels of the staircase", head, columns, found.levels)


def _difference(time_ns: float) -> Cell:
    return cells.number(time_ns / NS_PER_MS, 3)


def _states_page(found: StatesRun) -> Page:
    name = PlotName("pstates-states", "Table X-PST-2", "States, Declared and Measured")
    told = found.set(PowerMode.AUTONOMOUS)
    source = (
        None
        if told is None or not told.source
        else Verdict(f"Declared: {told.source}. Processors: {told.processors}.")
    )
    note = (
        f"A step of less than {100 * LEAST_CHANGE:g} % of the latency before it is not told from noise. "
        "Commanded: feature 02h, then idle time, then a read. Declared latencies are maxima. Power: mean of "
        "the idle times in the commanded state."
    )
    head: Col[FoundState] = Col("State", lambda state: Cell(_name(state)), align="left", width=0)
    shown = table("pstates-states-table", name.title, head, _STATE_COLUMNS, found.states, note=note)
    return page(name, source, shown, *_verdicts(found))


def _declared(name: str, per: int = NS_PER_MS, decimals: int = 3) -> Any:
    def cell(state: FoundState) -> Cell:
        value = None if state.declared is None else getattr(state.declared, name)
        return cells.number_or("not declared", value, decimals, per=per)

    return cell


def _entry_cell(state: FoundState) -> Cell:
    return cells.missing(_UNSEEN) if state.level is None else cells.words(_entry_text(state.level))


def _entered_cell(state: FoundState) -> Cell:
    if state.entered_ns is None:
        return cells.words("on command only") if state.declared else cells.missing("not declared")
    return Cell(_idle_text(state.entered_ns), state.entered_ns / NS_PER_S)


def _exit_cell(state: FoundState) -> Cell:
    return cells.missing(_UNSEEN) if state.level is None else _difference(state.level.exit_ns)


_STATE_COLUMNS: Final[tuple[Col[FoundState], ...]] = (
    Col(
        "I/O in it",
        lambda state: cells.words(
            "" if state.declared is None else "yes" if state.declared.operational else "no"
        ),
    ),
    Col("Entered after, declared", _entered_cell, width=1.4),
    Col("measured", _entry_cell, width=2),
    Col("Entry, declared (ms)", _declared("entry_ns")),
    Col("Exit, declared (ms)", _declared("exit_ns")),
    Col("measured (ms)", _exit_cell),
    Col(
        "commanded (ms)", lambda state: cells.number_or("not commanded", state.commanded_ns, 3, per=NS_PER_MS)
    ),
    Col("Idle, declared (W)", _declared("idle_w", 1, 4)),
    Col("measured (W)", lambda state: cells.number_or("no meter", state.power_w, 4)),
)

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


def _measures(found: StatesRun) -> Iterator[Measured]:
    """Of each state that idle time leads to, or that is commanded; a state of the awake drive has no exit."""
    for state in found.states:
        if state.declared is not None and not state.declared.operational:
            subject = Subject(_name(state))
            yield from (measure.of(state, subject) for measure in _MEASURES)


def _test_rows(found: StatesRun) -> Rows:
    asked = found.asked
    return stimulus_rows(
        found.run,
        ("Test Stimulus", f"single RND {format_block_size(asked.block_size_bytes)} R after idle times"),
        ("Idle times", f"{_idle_text(asked.shortest_ns)} to {_idle_text(asked.longest_ns)}"),
        ("Reads", f"{asked.repeats} after each, {asked.least_repeats} after the longest"),
        ("TOIO - TC/QD", "TC 1 / QD 1"),
        ("Order", "random"),
        ("Without transitions", f"{asked.least_repeats} reads after each"),
        ("Commanded states", f"{asked.repeats} times each, for {format_duration(asked.settle_ns)}"),
        ("Steady State", NO_STEADY_STATE),
    )


def _key_numbers(found: StatesRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "awake_ms": None if found.awake_ns is None else found.awake_ns / NS_PER_MS,
        "staircase": [
            {
                "idle_s": point.idle_ns / NS_PER_S,
                "median_ms": point.median_ns / NS_PER_MS,
                "reads": len(point.latencies_ns),
            }
            for point in found.autonomous
        ],
        "states": [
            {
                "state": None if state.declared is None else state.declared.number,
                "entered_after_declared_s": None if state.entered_ns is None else state.entered_ns / NS_PER_S,
                "entered_after_s": None
                if state.level is None
                else [
                    None if state.level.not_after_ns is None else state.level.not_after_ns / NS_PER_S,
                    state.level.after_ns / NS_PER_S,
                ],
                "confidence": None if state.level is None else state.level.confidence,
                "exit_ms": None if state.level is None else state.level.exit_ns / NS_PER_MS,
                "exit_commanded_ms": None if state.commanded_ns is None else state.commanded_ns / NS_PER_MS,
                "exit_declared_ms": None
                if state.declared is None or state.declared.exit_ns is None
                else state.declared.exit_ns / NS_PER_MS,
                "power_w": state.power_w,
            }
            for state in found.states
        ],
    }
