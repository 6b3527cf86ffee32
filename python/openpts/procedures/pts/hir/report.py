"""The report of the host idle recovery test: its header fields, its pages, its order (PTS 11.3)."""

from dataclasses import replace
from typing import Any, Final

from openpts.pages import cells
from openpts.pages.kit import Required
from openpts.pages.measure import Measure, Measured, Subject
from openpts.pages.model import Cell, Page, Section
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import (
    Rows,
    active_range_text,
    common_header,
    data_text,
    demand_text,
    head_line,
    setup_rows,
    stimulus_rows,
)
from openpts.procedures.kit.standing import Standing
from openpts.procedures.pts.hir.conditions import IdleRecoveryConditions
from openpts.procedures.pts.hir.gain_pages import cycles_page, gain_page
from openpts.procedures.pts.hir.pages import (
    ALL_WAIT_STATES,
    all_wait_states_page,
    secondary_page,
    wait_state_page,
)
from openpts.procedures.pts.hir.results import SegmentSummary
from openpts.procedures.pts.hir.wait_states import IdleRecoveryResults, Segment, analyse_idle_recovery
from openpts.procedures.shared.preparation_page import preparation_page
from openpts.procedures.shared.tracking.other_minutes_words import other_minutes_figures
from openpts.procedures.shared.tracking.pages import (
    TrackedPhase,
    between_verdicts,
    tracked_phase,
    tracking_sentence,
    tracking_time_page,
    tracking_window_page,
)
from openpts.procedures.shared.transfer_size import with_transfer_size
from openpts.record.reader import Run
from openpts.units import NS_PER_S, format_duration, in_ms
from openpts.vocabulary.better import Better
from openpts.vocabulary.phase import Phase

REQUIRED: Final = (Required("1", "Plot 11-1"), Required("2", "Plot 11-2"), ALL_WAIT_STATES)
_PRECONDITIONING: Final = REQUIRED[0].named("hir", "HIR IOPS v Time - Pre-conditioning")
_WINDOW: Final = REQUIRED[1].named("hir", "HIR Pre-conditioning Steady State Measurement Plot")

_LONGEST_WAIT_STATE: Final = 10
_BASELINE: Final = Measure[SegmentSummary](
    "baseline_iops", "Baseline", "IOPS", lambda baseline: baseline.iops
)
_GAIN: Final = Measure[Cell](
    "gain", "Gain of WS {name} over the baseline", "%", lambda gain: gain, better=Better.HIGHER
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(IdleRecoveryConditions)
    tracked = tracked_phase(run, Phase.WDPC)
    results = _analyse(run, conditions, tracked)
    return ReportContent(
        verdicts=(tracking_sentence(tracked), *between_verdicts(tracked)),
        measures=_measures(results, tracked),
        sections=lambda standing, report_date: (
            Section(
                test="hir",
                title="HIR Test",
                header=common_header(
                    run.manifest,
                    report_date,
                    bar="Host Idle Recovery Test (REQUIRED) - Report Page",
                    title=f"HIR - {conditions.workload.title}",
                    setup=_setup_rows(run, conditions, tracked),
                    test=_test_rows(run, conditions, tracked),
                ),
                alerts=_alerts(standing, tracked),
                pages=with_transfer_size(
                    _pages(run, conditions, tracked, results),
                    (size.block_size_bytes for size in conditions.workload.block_sizes),
                ),
            ),
        ),
        figures=_figures(results, tracked),
        conditions=between_verdicts(tracked),
    )


def _analyse(run: Run, conditions: IdleRecoveryConditions, tracked: TrackedPhase) -> IdleRecoveryResults:
    return analyse_idle_recovery(
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
        secondary_page(results, "HIR Secondary Metrics", _head_line(run, conditions)),
        *(
            (
                gain_page(results, "HIR Gain by Wait State"),
                cycles_page(results, "HIR Accesses of Each Wait State"),
            )
            if results.segments
            else ()
        ),
    )


def _alerts(standing: Standing, tracked: TrackedPhase) -> tuple[str, ...]:
    lines = [standing.red_line] if standing.red_line else []
    if not tracked.results.steady:
        lines.append("STEADY STATE NOT REACHED - no wait states were run")
    return tuple(lines)


def _measures(results: IdleRecoveryResults, tracked: TrackedPhase) -> tuple[Measured, ...]:
    """Baseline and gains; the gain of the longest wait state is the key value, also where it is missing."""
    steady = _steady_text(tracked)
    segments = {segment.state.number: segment for segment in results.segments}
    gains = [
        replace(
            _GAIN.of(_gain_cell(results, segment), Subject(str(number), f"ws{number}", steady=steady)),
            is_key=number == _LONGEST_WAIT_STATE,
            on_cover=segment is not None,
        )
        for number in sorted({*segments, _LONGEST_WAIT_STATE})
        for segment in (segments.get(number),)
    ]
    return (_BASELINE.of(results.baseline, Subject(steady=steady)), *gains)


def _gain_cell(results: IdleRecoveryResults, segment: Segment | None) -> Cell:
    gain_pct = None if segment is None else results.gain_pct(segment)
    return cells.missing("not reached") if gain_pct is None else cells.percent(gain_pct, plus=True)


def _steady_text(tracked: TrackedPhase) -> str:
    if tracked.results.steady:
        return f"reached in Tracking Round {tracked.results.window.rounds[-1]}"
    return "not reached" if tracked.results.window.is_full else f"n/a ({tracked.reason})"


def _window_text(tracked: TrackedPhase) -> str:
    return tracked.results.window.label if tracked.results.steady else "NOT REACHED"


def _setup_rows(run: Run, conditions: IdleRecoveryConditions, tracked: TrackedPhase) -> Rows:
    elapsed_ns = sum(sample.elapsed_ns for sample in tracked.samples)
    return setup_rows(
        run,
        ("Pre Condition 1", f"{conditions.workload.title} until steady"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Duration", format_duration(elapsed_ns)),
        ("Pre Condition 2", "none"),
        ("TOIO - TC/QD", "-"),
        ("SS Rounds", _window_text(tracked)),
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
        ("Steady State", _window_text(tracked)),
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
    if summary is None:
        return None
    return {"iops": summary.iops, "art_ms": in_ms(summary.art_ns), "mrt_ms": in_ms(summary.mrt_ns)}
