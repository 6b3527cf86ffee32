"""The report of the cross stimulus recovery test: its header fields, its pages, its order (PTS 12.3)."""

from typing import Any, Final

from msgspec.structs import replace

from openpts.analysis.uncertainty import budget, of_course, places_alike, rectangular, since
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.drive_work.energy_page import power_cell
from openpts.procedures.kit.drive_work.work import DriveWork
from openpts.procedures.kit.header import (
    Rows,
    TestSection,
    demand_text,
    head_line,
    sections_of,
    setup_rows,
    stimulus_rows,
)
from openpts.procedures.kit.steps import ART, IOPS, MRT, THROUGHPUT, values_json
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_S, format_duration
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.uncertainty import Uncertainty
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Page, Verdict
from openpts_pts.shared.preparation_page import preparation_page
from openpts_pts.xsr import CrossStimulusConditions
from openpts_pts.xsr import pages as cross_stimulus_pages
from openpts_pts.xsr.pages import (
    CrossStimulusResults,
    GroupSummary,
    analyze_cross_stimulus,
    group_page,
    response_times_page,
    secondary_page,
    table_page,
    throughput_page,
    transition_page,
)

_NS_PER_MIN: Final = 60 * NS_PER_S
_NO_STEADY_STATE: Final = "n.a."
# A group lasts until its last I/O is answered: a little longer than planned, or shorter if nothing was.
_WHOLE: Final = 0.99

REQUIRED: Final = (*cross_stimulus_pages.REQUIRED, cross_stimulus_pages.TABLE)


def _recovery_uncertainty(results: CrossStimulusResults) -> Uncertainty:
    """The resolution of a minute, unless noise decides which one is the highest."""
    minutes = results.groups[2].whole
    rates = [minute.bandwidth_bytes_per_s for minute in minutes]
    alike, place = places_alike(rates), rates.index(max(rates))
    if alike[0] < place - 1 or alike[-1] > place + 1:
        reason = f"noise decides which minute is the highest: {len(alike)} of them can't be told apart"
        return Uncertainty(reason=reason)
    first, last, best = (minutes[one] for one in (alike[0], alike[-1], place))
    reach_ns = max(best.end_ns - first.start_ns, last.end_ns - best.end_ns)
    whole = (minutes[0].start_ns, minutes[-1].end_ns)
    return budget([rectangular("resolution", reach_ns / _NS_PER_MIN)], spans=(whole,))


_GROUP: Final = Measure[Cell](
    "bandwidth", "Group {name} average", "MB/s", lambda average: average, is_key=False
)
_RECOVERY: Final = Measure[CrossStimulusResults](
    "recovery_to_peak",
    "Recovery to the peak",
    "min",
    lambda results: results.peak_recovery_ns,
    per=_NS_PER_MIN,
    decimals=2,
    absent="not reached",
    words="until sequential writes are at their fastest",
    uncertainty=_recovery_uncertainty,
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(CrossStimulusConditions)
    groups = [_samples(run, number) for number in range(1, len(conditions.groups) + 1)]
    results = analyze_cross_stimulus(groups, conditions.minute_ns)
    if _whole_groups(results, conditions) < len(conditions.groups):
        # the peak of what is there may not be that of the group
        results = replace(results, peak_recovery_ns=None)
    return ReportContent(
        verdicts=(_verdict(results, conditions),),
        measures=_measures(results, conditions, [samples[0].started_ns for samples in groups if samples]),
        sections=sections_of(
            run,
            TestSection(
                test="xsr",
                title="XSR Test",
                bar="Cross Stimulus Recovery Test (REQUIRED) - Report Page",
                heading=f"XSR - {' / '.join(group.name for group in conditions.groups)}",
                setup=_setup_rows(run),
                test_rows=_test_rows(run, conditions),
                pages=lambda: _pages(run, results, groups),
            ),
        ),
        figures=lambda: _figures(results),
    )


def _samples(run: Run, number: int) -> list[Sample]:
    return [step.sample for step in run.phase(Phase.ACCESS_GROUP, number=number)]


def _pages(run: Run, results: CrossStimulusResults, groups: list[list[Sample]]) -> tuple[Page, ...]:
    conditions = run.conditions(CrossStimulusConditions)
    line, work = head_line(run, Phase.ACCESS_GROUP), DriveWork(run)
    return (
        preparation_page(run, "xsr-preparation", "XSR Purge Report"),
        throughput_page(results, conditions),
        *(group_page(group, conditions) for group in results.groups),
        *(
            transition_page(results, conditions, groups[number - 1], groups[number], number)
            for number in range(1, len(conditions.groups))
        ),
        response_times_page(results, conditions),
        table_page(results, conditions, line),
        secondary_page(
            results,
            conditions,
            lambda number: power_cell(work, run.phase(Phase.ACCESS_GROUP, number=number)),
            line,
        ),
    )


def _whole_groups(results: CrossStimulusResults, conditions: CrossStimulusConditions) -> int:
    """How many access groups came to their end."""
    return sum(_is_whole(group, conditions) for group in results.groups)


def _is_whole(group: GroupSummary, conditions: CrossStimulusConditions) -> bool:
    return group.duration_ns >= _WHOLE * conditions.groups[group.number - 1].duration_ns


def _verdict(results: CrossStimulusResults, conditions: CrossStimulusConditions) -> Verdict:
    whole, required = _whole_groups(results, conditions), len(conditions.groups)
    if whole < required or results.peak_recovery_ns is None:
        return Verdict(
            f"{whole} of {required} access groups were completed. Recovery to the peak: n/a.", "fail"
        )
    return Verdict(
        "All access groups were applied. Throughput of group 3 peaked "
        f"{results.peak_recovery_ns / _NS_PER_MIN:.2f} min after the end of group 2."
    )


def _measures(
    results: CrossStimulusResults, conditions: CrossStimulusConditions, starts_ns: list[int]
) -> tuple[Measured, ...]:
    groups = (
        replace(
            _GROUP.of(_average_cell(group, conditions), _subject(str(group.number), f"group{group.number}")),
            words=ordered.workload.title,
            uncertainty=of_course(
                [
                    (start_ns + one.start_ns, one.elapsed_ns, one.bandwidth_bytes_per_s / MB)
                    for one in group.whole
                ]
            ),
        )
        for ordered, group, start_ns in zip(conditions.groups, results.groups, starts_ns, strict=False)
    )
    recovery = _RECOVERY.of(results, _subject())
    if recovery.uncertainty is not None:
        recovery = replace(recovery, uncertainty=since(recovery.uncertainty, starts_ns[2]))
    return (*groups, recovery)


def _subject(name: str = "", key: str = "") -> Subject:
    return Subject(name, key, steady=_NO_STEADY_STATE)


def _average_cell(group: GroupSummary, conditions: CrossStimulusConditions) -> Cell:
    note = "" if _is_whole(group, conditions) else f"cut short: {format_duration(group.duration_ns)}"
    return replace(THROUGHPUT.cell(group), note=note)


def _setup_rows(run: Run) -> Rows:
    return setup_rows(
        run,
        ("Pre Condition 1", "none (purge only)"),
        ("TOIO - TC/QD", "-"),
        ("Duration", "-"),
        ("Pre Condition 2", "none"),
        ("TOIO - TC/QD", "-"),
        ("SS Rounds", _NO_STEADY_STATE),
    )


def _test_rows(run: Run, conditions: CrossStimulusConditions) -> Rows:
    rows: list[tuple[str, str]] = []
    for number, group in enumerate(conditions.groups, start=1):
        rows.append((f"Test Stimulus {number}", f"{group.name} W, {format_duration(group.duration_ns)}"))
        rows.append(("TOIO - TC/QD", demand_text(group.tc, group.qd)))
    return stimulus_rows(run, *rows, ("RW Mix", "0/100"), ("Steady State", _NO_STEADY_STATE))


def _figures(results: CrossStimulusResults) -> dict[str, Any]:
    """Groups and recovery, JSON-ready."""
    return {
        "groups": [
            {
                "number": group.number,
                "bandwidth_bytes_per_s": group.bandwidth_bytes_per_s,
                "peak_bandwidth_bytes_per_s": max(one.bandwidth_bytes_per_s for one in group.whole),
                **values_json(group, (IOPS, ART, MRT)),
                "duration_s": group.duration_ns / NS_PER_S,
            }
            for group in results.groups
        ],
        "recovery_to_peak_min": _minutes(results.peak_recovery_ns),
        "recovery_to_95_pct_min": _minutes(
            results.stable_recovery.after_ns if results.stable_recovery else None
        ),
    }


def _minutes(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / _NS_PER_MIN
