"""The report of power states: the staircase, and the states declared and measured."""

from collections.abc import Iterator
from typing import Any, Final

from openpts.analysis.change_points import RULE
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, stimulus_rows
from openpts.procedures.kit.steps import line_series
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S, format_block_size, format_duration, format_latency_ms
from openpts.vocabulary.power_states import PowerMode
from openpts_nvme.pstates.results import LEAST_CHANGE, FoundState, LatencyLevel, StatesRun, states_run
from openpts_pages import cells, ticks
from openpts_pages.kit import Cells, Plot, PlotName, page, page_of, rows_table, values_of
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Figure, Page, Table, Verdict
from openpts_pts.shared.methodology import NO_STEADY_STATE, methodology

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


def _entry_text(level: LatencyLevel) -> str:
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
    awake = {point.planned_ns: cells.latency(point.median_ns) for point in found.always_on}
    return rows_table(
        "pstates-staircase-points",
        "Latency of the first read after an idle time: medians",
        "Idle time (s):0 | Transitions on (ms) | Transitions off (ms) | Shortest (ms) | Longest (ms) | Reads",
        (
            (
                Cell(f"{point.idle_ns / NS_PER_S:.4g}", point.idle_ns / NS_PER_S),
                cells.latency(point.median_ns),
                awake.get(point.planned_ns, cells.missing("not measured")),
                cells.latency(min(point.latencies_ns)),
                cells.latency(max(point.latencies_ns)),
                cells.count(len(point.latencies_ns)),
            )
            for point in found.autonomous
        ),
    )


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
            for level in found.levels
        ),
    )


def _difference(time_ns: float) -> Cell:
    return cells.number(time_ns / NS_PER_MS, 3)


def _states_page(found: StatesRun) -> Page:
    name = PlotName("pstates-states", "Table X-PST-2", "States, Declared and Measured")
    autonomous = found.set(PowerMode.AUTONOMOUS)
    source = (
        None
        if autonomous is None or not autonomous.source
        else Verdict(f"Declared: {autonomous.source}. Processors: {autonomous.processors}.")
    )
    note = (
        f"A step of less than {100 * LEAST_CHANGE:g} % of the latency before it is not told from noise. "
        "Commanded: feature 02h, then idle time, then a read. Declared latencies are maxima. Power: mean of "
        "the idle times in the commanded state."
    )
    shown = rows_table(
        "pstates-states-table", name.title, _STATE_HEADS, map(_state_row, found.states), note=note
    )
    return page(name, source, shown, *_verdicts(found))


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
