"""The report of the host idle recovery test: its header fields, its pages, its order (PTS 11.3)."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from openpts.analysis.run_comparison import gain_pct
from openpts.analysis.uncertainty import of_rates, of_ratio
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.drive_work.energy_page import power_cell
from openpts.procedures.kit.drive_work.work import DriveWork
from openpts.procedures.kit.header import (
    Rows,
    TestSection,
    active_range_text,
    data_text,
    demand_text,
    head_line,
    sections_of,
    setup_rows,
    stimulus_rows,
)
from openpts.procedures.kit.steps import ART, CPU_IOWAIT, CPU_SYS, IOPS, MRT, transpose, values_json
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S, format_duration, in_ms
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.uncertainty import Uncertainty
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.kit import Cells, Col, Plot, PlotName, Required, grid, labels_axis, page, rows_table
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import HEIGHT_PX, Band, Cell, Column, Figure, Page, PlotRule, Series, Table, Verdict
from openpts_pages.ticks import TimeAxis
from openpts_pts.hir import IdleRecoveryConditions
from openpts_pts.hir.results import (
    Access,
    IdleRecoveryResults,
    SegmentSummary,
    WaitSegment,
    analyze_idle_recovery,
)
from openpts_pts.shared.minutes_table import list_minutes, with_transfer_size
from openpts_pts.shared.preparation_page import preparation_page
from openpts_pts.shared.rounds.words import steady_rounds
from openpts_pts.shared.tracking.pages import (
    TrackedPhase,
    between_verdicts,
    other_minutes_figures,
    tracked_phase,
    tracking_sentence,
    tracking_time_page,
    tracking_window_page,
)

WAIT_COLOR: Final = 2
RETURN_COLOR: Final = 0
_NO_WAIT_STATE: Final = Verdict(
    "No wait state was run: the test ends if its preconditioning is not steady (PTS 11.2).", "fail"
)
ALL_WAIT_STATES: Final = Required("3", "Plot 11-3")


def all_wait_states_page(results: IdleRecoveryResults, title: str) -> Page:
    """IOPS of each access over time, wait states shaded, with the baseline (Plot 11-3)."""
    name = ALL_WAIT_STATES.named("hir", title)
    if not results.segments:
        return page(name, _NO_WAIT_STATE)
    time = ticks.time_axis("Time", 0, results.segments[-1].ended_ns)
    shown = _accesses_table(f"{name.id}-values", results.segments, time)
    bands = tuple(
        Band(
            "x",
            time.place(segment.began_ns),
            time.place(segment.ended_ns),
            "window" if number % 2 == 0 else "allowed",
            f"WS {segment.state.number}: {idle_text(segment)}",
        )
        for number, segment in enumerate(results.segments)
    )
    plot = _accesses_plot(
        results, time, f"{gains_text(results)} {len(shown.rows):,} accesses.", bands=bands, height_px=420
    )
    return page(name, plot.over(name, shown), Verdict(gains_text(results)), shown)


def wait_state_page(results: IdleRecoveryResults, segment: WaitSegment) -> Page:
    """One wait state and its return to baseline, access by access (11.3.2)."""
    number = segment.state.number
    name = PlotName(
        f"hir-ws{number}",
        f"Plot X-HIR-WS{number}",
        f"HIR IOPS v Time - Wait State {number} ({idle_text(segment)} idle) and Return to Baseline",
    )
    time = ticks.time_axis("Time", segment.began_ns, segment.ended_ns)
    shown = _accesses_table(f"{name.id}-values", (segment,), time)
    alt = f"{len(segment.active)} accesses with pauses, {len(segment.returned)} without."
    return page(name, _accesses_plot(results, time, alt).over(name, shown), *_edges(segment), shown)


def _accesses_plot(
    results: IdleRecoveryResults,
    time: TimeAxis,
    alt: str,
    *,
    bands: tuple[Band, ...] = (),
    height_px: int = HEIGHT_PX,
) -> Plot:
    return Plot(
        x=time.axis,
        y=ticks.linear_axis("IOPS", 0, highest_iops(results)),
        series=(
            Series("Access A (with pauses)", "column", (0,), WAIT_COLOR, style="points"),
            Series("Access C (return to baseline)", "column", (1,), RETURN_COLOR, style="points"),
        ),
        alt=alt,
        rules=baseline_rule(results),
        bands=bands,
        height_px=height_px,
    )


def secondary_page(results: IdleRecoveryResults, powers: Sequence[Cell], title: str, head_line: str) -> Page:
    """IOPS, response times, power and processor use of the baseline and of each wait state (Plot 11-5).

    ``powers`` are average powers in the same order.
    """
    names = ["Baseline", *(f"WS {segment.state.number}" for segment in results.segments)]
    summaries = [results.baseline, *(segment.active_summary for segment in results.segments)]
    found = [None if one is None else (one, power) for one, power in zip(summaries, powers, strict=True)]
    head: Col[str] = Col("", cells.words, align="left", width=1.2)
    shown = transpose(
        "hir-4-values",
        "HIR Secondary Metrics",
        _SECONDARY,
        zip(names, found, strict=True),
        head=head,
        absent="not reached",
        note="IOPS of a wait state count its active time only; its power is that of its pauses as well.",
    )
    return page(PlotName("hir-4", "", title), Verdict(head_line), shown)


def _summary(one: tuple[SegmentSummary, Cell]) -> SegmentSummary:
    return one[0]


_IOPS: Final = replace(IOPS, decimals=0)
_SECONDARY: Final[tuple[Col[tuple[SegmentSummary, Cell]], ...]] = (
    *(metric.column(_summary) for metric in (_IOPS, ART, MRT)),
    Col("Avg Power (mW)", itemgetter(1)),
    *(metric.column(_summary) for metric in (CPU_SYS, CPU_IOWAIT)),
)


def _edges(segment: WaitSegment) -> tuple[Verdict, ...]:
    summary = segment.active_summary
    if summary is None or summary.largest_off_error_ns is None:
        return ()
    return (
        Verdict(
            f"{summary.accesses} bursts. Pauses of {idle_text(segment)}: largest error "
            f"{cells.fixed(summary.largest_off_error_ns / NS_PER_MS, 3)} ms; bursts until the drive's last "
            f"answer: at most {cells.fixed(summary.longest_on_excess_ns / NS_PER_MS, 3)} ms longer than "
            "planned."
        ),
    )


def _accesses_table(table_id: str, segments: Sequence[WaitSegment], time: TimeAxis) -> Table:
    """Each access with whether it is one of the return to baseline."""
    nothing = Cell("")
    accesses = [
        (access, returned)
        for segment in segments
        for returned, of_segment in ((False, segment.active), (True, segment.returned))
        for access in of_segment
    ]
    columns: list[Col[tuple[Access, bool]]] = [
        Col("IOPS, with pauses", lambda one: nothing if one[1] else _IOPS.cell(one[0].sample)),
        Col("IOPS, return to baseline", lambda one: _IOPS.cell(one[0].sample) if one[1] else nothing),
        *(metric.column(_sample_of) for metric in (ART, MRT)),
    ]
    title = "Values plotted: each access at its end"
    return list_minutes(table_id, title, columns, accesses, time=time, end_ns=lambda one: one[0].ended_ns)


def _sample_of(one: tuple[Access, bool]) -> Sample:
    return one[0].sample


def baseline_rule(results: IdleRecoveryResults) -> tuple[PlotRule, ...]:
    """The baseline as a line, if there is one."""
    return (PlotRule("Baseline", results.baseline.iops, "average"),) if results.baseline else ()


def highest_iops(results: IdleRecoveryResults) -> float:
    """The fastest access: where the axes of all plots over accesses end."""
    return max(
        (one.sample.iops for segment in results.segments for one in (*segment.active, *segment.returned)),
        default=1.0,
    )


def idle_text(segment: WaitSegment) -> str:
    """How long the drive idles after each access: ``5 s``."""
    return f"{segment.state.idle_ns / NS_PER_S:g} s"


def gains_text(results: IdleRecoveryResults) -> str:
    """What each wait state gains, in a sentence."""
    if results.baseline is None:
        return "No baseline: steady state was not reached."
    gains = ", ".join(
        f"WS {segment.state.number} {cells.signed(gain, 1)} %"
        for segment in results.segments
        if (gain := results.gain_pct(segment)) is not None
    )
    return f"IOPS against the baseline of {cells.fixed(results.baseline.iops, 0)}: {gains}."


REQUIRED: Final = (Required("1", "Plot 11-1"), Required("2", "Plot 11-2"), ALL_WAIT_STATES)
_PRECONDITIONING: Final = REQUIRED[0].named("hir", "HIR IOPS v Time - Pre-conditioning")
_WINDOW: Final = REQUIRED[1].named("hir", "HIR Pre-conditioning Steady State Measurement Plot")

_NOT_REACHED: Final = "STEADY STATE NOT REACHED - no wait states were run"
_LONGEST_WAIT_STATE: Final = 10
_BASELINE: Final = IOPS.measure(
    "baseline_iops",
    "Baseline",
    decimals=0,
    words="random writes without pauses",
    uncertainty=lambda baseline: IOPS.uncertainty(baseline.minutes),
)
_GAIN: Final = Measure[Cell](
    "gain",
    "Gain of WS {name} over the baseline",
    "%",
    lambda gain: gain,
    better=Better.HIGHER,
    words="faster after a pause",
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(IdleRecoveryConditions)
    tracked = tracked_phase(run, Phase.WDPC)
    results = _analyse(run, conditions, tracked)
    return ReportContent(
        verdicts=(tracking_sentence(tracked), *between_verdicts(tracked)),
        measures=_measures(results, tracked),
        sections=sections_of(
            run,
            TestSection(
                test="hir",
                title="HIR Test",
                bar="Host Idle Recovery Test (REQUIRED) - Report Page",
                heading=f"HIR - {conditions.workload.title}",
                setup=_setup_rows(run, conditions, tracked),
                test_rows=_test_rows(run, conditions, tracked),
                red_lines=() if tracked.results.steady else (_NOT_REACHED,),
                pages=lambda: with_transfer_size(
                    _pages(run, conditions, tracked, results),
                    (size.block_size_bytes for size in conditions.workload.block_sizes),
                ),
            ),
        ),
        figures=lambda: _figures(results, tracked),
        conditions=lambda: between_verdicts(tracked),
    )


def _analyse(run: Run, conditions: IdleRecoveryConditions, tracked: TrackedPhase) -> IdleRecoveryResults:
    return analyze_idle_recovery(
        conditions,
        tracked.results.window_minutes if tracked.results.steady else (),
        lambda phase, number: [step.sample for step in run.phase(phase, number=number)],
        run.manifest.target.scale,
    )


def _pages(
    run: Run, conditions: IdleRecoveryConditions, tracked: TrackedPhase, results: IdleRecoveryResults
) -> tuple[Page, ...]:
    record = (
        f"ActiveRange = {active_range_text(conditions)}; OIO/Thread = {conditions.qd}; "
        f"Thread Count = {conditions.tc}; Data Pattern = {data_text(conditions)} [11.2]."
    )
    return (
        preparation_page(run, "hir-preparation", "HIR Purge Report"),
        tracking_time_page(tracked, _PRECONDITIONING),
        tracking_window_page(tracked, _WINDOW, record),
        all_wait_states_page(results, "IOPS v Time for All Wait States"),
        *(wait_state_page(results, segment) for segment in results.segments),
        secondary_page(
            results, _powers(run, tracked, results), "HIR Secondary Metrics", _head_line(run, conditions)
        ),
        *(
            (
                _gain_page(results, "HIR Gain by Wait State"),
                _cycles_page(results, "HIR Accesses of Each Wait State"),
            )
            if results.segments
            else ()
        ),
    )


def _powers(run: Run, tracked: TrackedPhase, results: IdleRecoveryResults) -> list[Cell]:
    """Of the baseline, and of each wait state with its pauses."""
    work, window = DriveWork(run), set(map(id, tracked.results.window_minutes))
    baseline = [step for step in run.phase(Phase.WDPC) if id(step.sample) in window]
    states = (run.phase(Phase.WAIT_STATE, number=one.state.number) for one in results.segments)
    return [power_cell(work, steps) for steps in (baseline, *states)]


def _measures(results: IdleRecoveryResults, tracked: TrackedPhase) -> tuple[Measured, ...]:
    """Baseline and gains; the gain of the longest wait state is the key value, also where it is missing."""
    steady = _steady_text(tracked)
    segments = {segment.state.number: segment for segment in results.segments}
    gains = [
        replace(
            _GAIN.of(_gain_cell(results, segment), Subject(str(number), f"ws{number}", steady=steady)),
            is_key=number == _LONGEST_WAIT_STATE,
            on_cover=segment is not None,
            uncertainty=_gain_uncertainty(results, segment),
        )
        for number in sorted({*segments, _LONGEST_WAIT_STATE})
        for segment in (segments.get(number),)
    ]
    return (_BASELINE.of(results.baseline, Subject(steady=steady)), *gains)


def _gain_cell(results: IdleRecoveryResults, segment: WaitSegment | None) -> Cell:
    gain_pct = None if segment is None else results.gain_pct(segment)
    return cells.percent_or("not reached", gain_pct, plus=True)


def _gain_uncertainty(results: IdleRecoveryResults, segment: WaitSegment | None) -> Uncertainty | None:
    """In points of per cent, as the gain is."""
    baseline, active = results.baseline, None if segment is None else segment.active_summary
    if baseline is None or segment is None or active is None:
        return None
    bursts = [one.sample for one in segment.active]
    rates = of_rates((one.started_ns, one.elapsed_ns, one.iops) for one in bursts)
    minutes = IOPS.uncertainty(baseline.minutes)
    return of_ratio(("wait state", active.iops, rates), ("baseline", baseline.iops, minutes), unit=100)


def _steady_text(tracked: TrackedPhase) -> str:
    if tracked.results.steady:
        return f"reached in Tracking Round {tracked.results.window.rounds[-1]}"
    return "not reached" if tracked.results.window.is_full else f"n/a ({tracked.reason})"


def _setup_rows(run: Run, conditions: IdleRecoveryConditions, tracked: TrackedPhase) -> Rows:
    elapsed_ns = sum(sample.elapsed_ns for sample in tracked.samples)
    return setup_rows(
        run,
        ("Pre Condition 1", f"{conditions.workload.title} until steady"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Duration", format_duration(elapsed_ns)),
        ("Pre Condition 2", "none"),
        ("TOIO - TC/QD", "-"),
        ("SS Rounds", steady_rounds(tracked.results)),
    )


def _test_rows(run: Run, conditions: IdleRecoveryConditions, tracked: TrackedPhase) -> Rows:
    waits = ", ".join(f"{state.idle_ns / NS_PER_S:g}" for state in conditions.wait_states)
    access = f"{conditions.access_ns / NS_PER_S:g} s"
    return stimulus_rows(
        run,
        ("Test Stimulus 1", f"{access} access, then idle {waits} s, x {conditions.cycles}"),
        ("RW Mix", "0/100"),
        ("Block Sizes", conditions.workload.title.split(" RW")[0]),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Steady State", steady_rounds(tracked.results)),
        ("Test Stimulus 2", f"Return to baseline: {access} x {conditions.cycles}"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Steady State", "-"),
    )


def _head_line(run: Run, conditions: IdleRecoveryConditions) -> str:
    demanded = f"T{conditions.tc}/Q{conditions.qd}"
    return head_line(run, Phase.WDPC, demand=demanded, more=conditions.workload.title)


def _figures(results: IdleRecoveryResults, tracked: TrackedPhase) -> dict[str, Any]:
    """Baseline and wait states, JSON-ready."""
    return {
        "steady_state": {
            "reached": tracked.results.steady,
            "window": list(tracked.results.window.rounds),
            "tracked_iops": list(tracked.results.iops),
            "other_minutes": other_minutes_figures(tracked.others),
        },
        "baseline": _summary_figures(results.baseline),
        "wait_states": [
            {
                "number": segment.state.number,
                "idle_s": segment.state.idle_ns / NS_PER_S,
                **(_summary_figures(segment.active_summary) or {}),
                "gain_pct": results.gain_pct(segment),
                "largest_pause_error_ms": in_ms(
                    segment.active_summary.largest_off_error_ns if segment.active_summary else None
                ),
                "return_to_baseline": _summary_figures(segment.returned_summary),
            }
            for segment in results.segments
        ],
    }


def _summary_figures(summary: SegmentSummary | None) -> dict[str, Any] | None:
    return None if summary is None else values_json(summary, (IOPS, ART, MRT))


_MEAN_GAIN, _LOW_GAIN, _HIGH_GAIN = 4, 5, 6
_BAR_COLOR, _RANGE_COLOR = 6, 0
_PANEL_PX: Final = 105


def _gain_page(results: IdleRecoveryResults, title: str) -> Page:
    """How much each wait state gains over the baseline, and how exact its pauses were."""
    name = PlotName("hir-x1", "Plot X-HIR-1", title)
    shown = _gains_table(results)
    plot = Plot(
        kind="bars",
        x=labels_axis("Idle time after each access", [*map(idle_text, results.segments)]),
        y=lambda gains: ticks.linear_axis("Gain v baseline (%)", min(0.0, *gains), max(0.0, *gains)),
        series=(
            Series("Mean", "column", (_MEAN_GAIN,), _BAR_COLOR, style="bars"),
            Series("5th to 95th percentile", "column", (_LOW_GAIN, _HIGH_GAIN), _RANGE_COLOR, style="range"),
        ),
        alt=gains_text(results),
        rules=(PlotRule("Baseline", 0, "average"),),
        height_px=300,
    )
    known = any(
        cell.value is not None for row in shown.rows for cell in row.cells[_MEAN_GAIN : _HIGH_GAIN + 1]
    )
    figure = plot.over(name, shown) if known else None
    return page(name, figure, Verdict(gains_text(results)), shown, _pauses_table(results), mandatory=False)


def _cycles_page(results: IdleRecoveryResults, title: str) -> Page:
    """The accesses of each wait state in a plot of its own, all on the same axes."""
    shown = _cycles_table(results)
    y = ticks.linear_axis("IOPS", 0, highest_iops(results))
    y = msgspec.structs.replace(y, ticks=y.ticks[::2])  # the plots are low
    figures = tuple(
        Figure(
            id=f"hir-x2-ws{segment.state.number}-plot",
            number=f"Plot X-HIR-2{letter}",
            title=f"Wait State {segment.state.number}: {idle_text(segment)} idle",
            kind="lines",
            table_id=shown.id,
            x=ticks.span_axis("Cycle", 1, max(2, len(shown.rows))),
            y=y,
            alt=f"{title}, {idle_text(segment)} idle: IOPS of {len(segment.active)} accesses.",
            series=(Series("Access", "column", (n,), WAIT_COLOR, style="points"),),
            rules=baseline_rule(results),
            height_px=_PANEL_PX,
            zoom_group="hir-cycles",
        )
        for n, (segment, letter) in enumerate(zip(results.segments, "abcdefgh", strict=False))
    )
    return page(PlotName("hir-x2", "", title), *figures, shown, mandatory=False)


def _idle_s(segment: WaitSegment) -> float:
    return segment.state.idle_ns / NS_PER_S


def _gains_table(results: IdleRecoveryResults) -> Table:
    return rows_table(
        "hir-x1-values",
        "IOPS of each wait state beside the baseline and its return to baseline",
        "Wait state:<0.8 | Idle (s) | IOPS | 5th percentile | 95th percentile | Gain v baseline (%) | "
        "at the 5th (%) | at the 95th (%) | Return: IOPS",
        (_gain_row(results, segment) for segment in results.segments),
        note="Percentiles are those of the accesses' IOPS.",
    )


def _gain_row(results: IdleRecoveryResults, segment: WaitSegment) -> Cells:
    active, returned = segment.active_summary, segment.returned_summary
    found = (active.iops, active.low_iops, active.high_iops) if active else (None, None, None)
    return (
        Cell(f"WS {segment.state.number}", _idle_s(segment)),
        Cell(f"{_idle_s(segment):g}", _idle_s(segment)),
        *(_whole(iops) for iops in found),
        *(_gain(results, iops) for iops in found),
        _whole(returned.iops if returned else None),
    )


def _gain(results: IdleRecoveryResults, iops: float | None) -> Cell:
    if iops is None or results.baseline is None:
        return cells.missing("too few accesses" if iops is None else "no baseline")
    gain = gain_pct(results.baseline.iops, iops)
    return cells.percent_or("no baseline", gain, plus=True)


def _whole(value: float | None) -> Cell:
    return cells.number_or("too few accesses", value, 0)


def _pauses_table(results: IdleRecoveryResults) -> Table:
    return rows_table(
        "hir-x1-pauses",
        "How exact the pauses and the accesses were",
        "Wait state:<0.8 | Pause, mean error (ms) | Pause, largest error (ms) | Access, longest excess (ms)",
        (_pause_row(segment) for segment in results.segments),
        note="Excess of an access: the time in which the drive completed the I/Os outstanding at its end.",
    )


def _pause_row(segment: WaitSegment) -> Cells:
    active = segment.active_summary
    values = (
        (active.mean_off_error_ns, active.largest_off_error_ns, active.longest_on_excess_ns)
        if active
        else (None, None, None)
    )
    return (Cell(f"WS {segment.state.number}", _idle_s(segment)), *(_ms(value) for value in values))


def _ms(value_ns: float | None) -> Cell:
    return cells.number_or("no pause", value_ns, 3, per=NS_PER_MS)


def _cycles_table(results: IdleRecoveryResults) -> Table:
    """A row for each cycle, a column for each wait state."""
    length = max((len(segment.active) for segment in results.segments), default=0)
    return grid(
        "hir-x2-values",
        "Values plotted: IOPS of each access",
        Col("Cycle", lambda number: Cell(str(number), float(number)), width=0),
        [(Column(f"WS {segment.state.number}"), segment.active) for segment in results.segments],
        range(1, length + 1),
        cell=lambda number, active: (
            cells.number(active[number - 1].sample.iops, 0) if number <= len(active) else cells.none()
        ),
        printed=False,
    )
