"""Deviations that the figures of CBW and DIRTH show. Preconditioning that did not reach steady state, no
point below 5 ms, shares that are off, lost I/Os.
"""

from collections.abc import Iterator

from msgspec import Struct

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.record.reader import Run, StepRecord
from openpts.units import format_latency_ms
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.verdict import Deviation
from openpts_pts.shared.demand.conditions import DemandConditions
from openpts_pts.shared.demand.distribution import LIMIT_STANDARD_ERRORS, Shares, period_shares
from openpts_pts.shared.demand.results import analyze_demand
from openpts_pts.shared.tracking import TrackedPhase


class Requirements(Struct, frozen=True):
    """The requirement that each finding deviates from, and its clause, by its number in a test."""

    preconditioning: tuple[str, str]
    art_limit: tuple[str, str]
    middle: tuple[str, str]
    capture: tuple[str, str]
    shares: tuple[str, str]


def distributions(run: Run) -> list[tuple[StepRecord, Shares]]:
    """What was counted by size and by range in each complete period whose pattern has several."""
    scale = run.manifest.target.scale
    complete = (step for step in run.steps if step.sample.state is StepState.COMPLETE)
    return [(step, shares) for step in complete for shares in period_shares(step.sample, scale).checked]


def demand_findings(run: Run, requirements: Requirements) -> tuple[Deviation, ...]:
    """Entries for the ledger of a run that came to its end."""
    found = (_of_preconditioning, _of_points, _of_capture, _of_shares)
    return tuple(entry for find in found for entry in find(run, requirements))


def _of_preconditioning(run: Run, requirements: Requirements) -> Iterator[Deviation]:
    """The specification orders no stop, so the test continues; the ledger states on what data."""
    conditions = run.conditions(DemandConditions)
    tracked = TrackedPhase.of(run).results
    if tracked.steady:
        return
    used = f"{len(tracked.minutes)} tracking rounds, too few to judge"
    if tracked.verdict is not None:
        used = (
            f"not steady in {len(tracked.minutes)}: range {tracked.verdict.range_pct:.1f} % and slope "
            f"{tracked.verdict.slope_excursion_pct:.1f} % of the average in the last {WINDOW_ROUNDS}"
        )
    yield Deviation(
        *requirements.preconditioning,
        f"preconditioning that comes to steady state within {conditions.max_rounds} tracking rounds",
        used,
        "demand variation began on a drive that was not in steady state",
    )


def _of_points(run: Run, requirements: Requirements) -> Iterator[Deviation]:
    conditions = run.conditions(DemandConditions)
    steady_round = run.manifest.cycles[0].outcome.steady_round if run.manifest.cycles else None
    numbered = ((step.place.number, step.sample) for step in run.phase(Phase.ROUND))
    chosen = analyze_demand(conditions, numbered, steady_round).chosen
    if chosen is None:
        return
    if not chosen.below_art_limit:
        maximum, limit = chosen.maximum, format_latency_ms(conditions.art_limit_ns)
        art_ns = maximum.mean_latency_ns
        art = "no I/O" if art_ns is None else f"{format_latency_ms(art_ns)} ms"
        yield Deviation(
            *requirements.art_limit,
            f"a MaxIOPS point with an average response time below {limit} ms",
            f"{maximum.point}, the point of the lowest average response time: {art}",
            "the histogram of the maximum is that of a saturated drive",
        )
    if conditions.mid_points and not chosen.middles:
        yield Deviation(
            *requirements.middle,
            "a MidIOPS point, with IOPS between minimum and maximum",
            "none: no operating point lies strictly between",
            "there is no histogram of the middle",
        )


def _of_capture(run: Run, requirements: Requirements) -> Iterator[Deviation]:
    capture = run.manifest.capture
    if capture is not None and capture.lost:
        yield Deviation(
            *requirements.capture,
            "every single completion time of the histograms",
            f"not all of them: {capture.lost}",
            "the files lack I/Os; histograms and figures of the report count all of them",
        )


def _of_shares(run: Run, requirements: Requirements) -> Iterator[Deviation]:
    """One entry for all periods, with the worst of them."""
    periods = distributions(run)
    off = [(step, shares) for step, shares in periods if not shares.hold]
    if not off:
        return
    step, worst = max(off, key=lambda entry: abs(entry[1].errors[entry[1].worst]))
    kind = worst.worst
    yield Deviation(
        *requirements.shares,
        f"shares of block sizes and ranges within {LIMIT_STANDARD_ERRORS:g} standard errors in each period",
        f"{len(off)} of {len(periods)} distributions are off; the worst by "
        f"{abs(worst.errors[kind]):.1f} standard errors ({worst.shares_pct[kind]:.3f} % for "
        f"{worst.expected_pct[kind]:.3g} %, {step.place})",
        "the pattern was not that of the specification",
    )
