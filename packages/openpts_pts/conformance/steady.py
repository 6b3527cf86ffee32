"""Steady state by definition 2.1.24, judged again from the record (PTS 1.3, 2.1.24, 3.1, 4)."""

from collections.abc import Callable
from typing import Final

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.units import format_significant
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.verdict import SteadyState, SteadyStateReport
from openpts_pts.evidence.check import Cases, Checks
from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import Finding, all_of, deviated, met, not_applicable, not_reached
from openpts_pts.evidence.tracking import tracked_verdicts
from openpts_pts.shared.demand.checks import tracked_iops, tracked_window
from openpts_pts.shared.rounds.checks import if_not_steady, until_steady, verdicts


def _judged(evidence: Evidence) -> list[tuple[str, SteadyStateReport | None]]:
    if evidence.manifest.conditions.steady_state is SteadyState.ROUNDS:
        return verdicts(evidence)
    judged = tracked_verdicts(evidence)
    if tracked_iops(evidence):
        judged.append(("TC 32 QD 32", tracked_window(evidence)))
    return judged


def _never_steady(evidence: Evidence) -> bool:
    return evidence.manifest.conditions.steady_state is SteadyState.NONE


def _rule(
    holds: Callable[[SteadyStateReport], bool], text: Callable[[SteadyStateReport], str]
) -> Callable[[Evidence], Finding]:
    def check(evidence: Evidence) -> Finding:
        if _never_steady(evidence):
            return not_applicable("the test does not look for steady state")
        judged = _judged(evidence)
        reports = [(name, report) for name, report in judged if report is not None]
        if not reports:
            return not_reached(f"no window of {WINDOW_ROUNDS} rounds")
        broken = [(name, report) for name, report in reports if not holds(report)]
        if broken:
            name, report = broken[0]
            return not_reached(f"not steady: {name} {text(report)}")
        return met("; ".join(f"{name} {text(report)}" for name, report in reports))

    return check


def _steady_window(evidence: Evidence) -> Finding:
    if _never_steady(evidence):
        return not_applicable("the test does not look for steady state")
    reports = [report for _, report in _judged(evidence) if report is not None]
    return all_of(
        met(f"rounds {report.rounds[0]} to {report.rounds[-1]}")
        if len(report.rounds) == WINDOW_ROUNDS
        else deviated(f"{WINDOW_ROUNDS} rounds", f"{len(report.rounds)} rounds")
        for report in reports
    )


def _results_are_steady(evidence: Evidence) -> Finding:
    if evidence.manifest.conditions.steady_state in {SteadyState.NONE, SteadyState.MINUTES}:
        return not_applicable("the test shows the course of performance by design")
    if not evidence.outcomes:
        return not_reached(evidence.ending)
    if evidence.steady:
        return met(f"steady in round {evidence.outcomes[0].steady_round}")
    return not_reached(f"not steady after {evidence.outcomes[0].last_round} rounds; reported as such")


def _full_passes(evidence: Evidence) -> Finding:
    sizes = {len(found.samples) for found in evidence.rounds(Phase.ROUND)}
    if not sizes:
        return not_reached("no round was completed")
    if len(sizes) > 1:
        return deviated("all test points in every round", f"between {min(sizes)} and {max(sizes)}")
    return met(f"{sizes.pop()} test points in every round")


def _if_steady(evidence: Evidence) -> Finding | None:
    if not evidence.outcomes:
        return not_reached(evidence.ending)
    return None if evidence.steady else not_applicable("steady state was not reached")


_STEADY: Final = _rule(
    lambda r: r.steady,
    lambda r: (
        f"range {format_significant(r.range_pct)} %, slope {format_significant(r.slope_excursion_pct)} %"
    ),
)


CHECKS: Final[Checks] = {
    "PTS-GEN-06": _results_are_steady,
    "PTS-DEF-05": _steady_window,
    "PTS-DEF-07": _full_passes,
    "PTS-SS-01": _rule(lambda r: r.range_ok, lambda r: f"range {format_significant(r.range_pct)} %"),
    "PTS-SS-02": _rule(
        lambda r: r.slope_ok, lambda r: f"slope {format_significant(r.slope_excursion_pct)} %"
    ),
    "PTS-SS-03": _STEADY,
    "PTS-SS-04": _STEADY,
    "PTS-SS-05": _STEADY,
    "PTS-SS-07": until_steady,
    "PTS-FLOW-03": until_steady,
}
CASES: Final[Cases] = {"PTS-FLOW-04": _if_steady, "PTS-FLOW-05": if_not_steady}
