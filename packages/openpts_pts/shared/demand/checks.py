"""Demand variation, of CBW and DIRTH alike, against sections 13.2 and 14.2 (preconditioning and rounds)."""

from itertools import pairwise
from math import fsum
from typing import Final

from openpts.analysis.steady_state import WINDOW_ROUNDS, disturbed_rounds
from openpts.units import format_duration, format_significant
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pts.evidence.check import Check
from openpts_pts.evidence.evidence import MINUTE_NS, Evidence, RoundRecord, at_least, last_window, lasted
from openpts_pts.evidence.finding import (
    Finding,
    all_of,
    deviated,
    met,
    met_if,
    not_applicable,
    not_reached,
    unverified,
)
from openpts_pts.evidence.kept import averages_kept
from openpts_pts.evidence.measured import mixes
from openpts_pts.evidence.settings import active_range, cache, demand, stimuli
from openpts_pts.evidence.tracking import logged_every_minute
from openpts_pts.shared.demand.conditions import DemandConditions

DEMANDS: Final = (32, 16, 8, 6, 4, 2, 1)
_POINTS: Final = sorted(
    ((tc, qd) for tc in DEMANDS for qd in DEMANDS), key=lambda point: (-point[0] * point[1], -point[0])
)
_MOST_ROUNDS: Final = 25
_PREWRITE_CAPACITY: Final = 0.1
_WIPC_FILLS: Final = 2


def full_range(evidence: Evidence) -> Finding:
    """AR 100 %, in both classes."""
    return active_range(evidence, 100)


def cache_off(evidence: Evidence) -> Finding:
    """The write cache is off, as sections 13 and 14 demand for either class."""
    return cache(evidence, enabled=False)


def all_writes(phase: Phase) -> Check:
    """The pattern with 0/100."""

    def check(evidence: Evidence) -> Finding:
        used = mixes(evidence, evidence.of(phase))
        return met_if(used == ["0/100"], "0/100", ", ".join(used) or "none")

    return check


def precondition_demand(phase: Phase) -> Check:
    """TC 32, QD 32."""
    return demand(phase, 32, 32)


def demands(field: str) -> Check:
    """The TCs, or the QDs, of a round."""

    def check(evidence: Evidence) -> Finding:
        used = sorted({getattr(s, field) for s in stimuli(evidence.of(Phase.ROUND))}, reverse=True)
        text = ", ".join(str(value) for value in used)
        return met_if(tuple(used) == DEMANDS, ", ".join(map(str, DEMANDS)), text)

    return check


def round_prewrite(evidence: Evidence) -> Finding:
    """TC 32, QD 32, 0/100; 5 minutes at least; then 30 minutes, or 10 % of the capacity."""
    capacity = evidence.manifest.target.user_capacity_bytes
    findings = []
    for found in evidence.rounds(Phase.ROUND_PREWRITE):
        length_ns = sum(sample.elapsed_ns for sample in found.samples)
        share = sum(sample.write.bytes for sample in found.samples) / capacity
        long_enough = at_least(length_ns, 5 * MINUTE_NS)
        to_its_end = at_least(length_ns, 30 * MINUTE_NS) or at_least(share, _PREWRITE_CAPACITY)
        findings.append(
            met_if(
                long_enough and to_its_end,
                "5 min or more, until 30 min or 10 % of capacity",
                f"{format_duration(length_ns)}, {format_significant(share)} of capacity "
                f"before round {found.number}",
            )
        )
    before = {found.number for found in evidence.rounds(Phase.ROUND_PREWRITE)}
    without = [found.number for found in evidence.rounds(Phase.ROUND) if found.number not in before]
    if without:
        findings.append(deviated("a pre-write before each round", f"none before round {without[0]}"))
    phase = Phase.ROUND_PREWRITE
    return all_of([precondition_demand(phase)(evidence), all_writes(phase)(evidence), *findings])


def operating_points(evidence: Evidence) -> Finding:
    """A minute at each of 49 points, in order of decreasing TOIO."""
    findings = []
    for found in evidence.rounds(Phase.ROUND):
        toios = [stimulus.toio for stimulus in stimuli(list(found.samples))]
        lengths = [sample.elapsed_ns for sample in found.samples]
        right = (
            sorted(_demands_of(found), key=lambda point: (-point[0] * point[1], -point[0])) == _POINTS
            and toios == sorted(toios, reverse=True)
            and all(lasted(sample, MINUTE_NS) for sample in found.samples)
        )
        order = "falling" if toios == sorted(toios, reverse=True) else "mixed"
        used = f"{len(toios)} x {format_duration(min(lengths))}, TOIO {order} from {toios[0]} to {toios[-1]}"
        findings.append(met_if(right, "49 x 1 min, TOIO falling from 1024 to 1", used))
    return all_of(findings)


def ties(evidence: Evidence) -> Finding:
    """Of equal TOIO the higher TC first."""
    rounds = evidence.rounds(Phase.ROUND)
    if not rounds:
        return not_reached("no round was completed")
    for found in rounds:
        points = _demands_of(found)
        for (tc, qd), (next_tc, next_qd) in pairwise(points):
            if tc * qd == next_tc * next_qd and tc < next_tc:
                return deviated("the higher TC first", f"TC {tc} QD {qd} before TC {next_tc} QD {next_qd}")
    return met(f"in all {len(rounds)} rounds")


def until_steady(evidence: Evidence) -> Finding:
    """Rounds until IOPS at TC 32, QD 32 is steady, or 25."""
    if not (evidence.outcomes or evidence.of(Phase.HISTOGRAM_PREWRITE)):
        return not_reached(evidence.ending)
    values = tracked_iops(evidence)
    report = tracked_window(evidence)
    if report is not None and report.steady:
        return met(f"steady in round {len(values)}: range {format_significant(report.range_pct)} %")
    return met_if(
        len(values) >= _MOST_ROUNDS, "until steady, or 25 rounds", f"{len(values)} rounds, not steady"
    )


def tracked_iops(evidence: Evidence) -> list[float]:
    """IOPS of each round at the highest demand of the specification."""
    return [
        sample.iops
        for found in evidence.rounds(Phase.ROUND)
        for sample in found.samples
        if _demand(sample.step.stimulus) == _POINTS[0]
    ]


def tracked_window(evidence: Evidence) -> SteadyStateReport | None:
    """The last window of rounds, judged at the highest demand."""
    disturbed = disturbed_rounds(found.samples for found in evidence.rounds(Phase.ROUND))
    return last_window(tracked_iops(evidence), None, disturbed)


def optional_wipc(evidence: Evidence) -> Finding:
    """The optional 2 x user capacity before WDPC."""
    conditions = evidence.conditions(DemandConditions)
    if not conditions.precondition_passes:
        return not_applicable("no WIPC was requested")
    written = sum(sample.write.bytes for sample in evidence.of(Phase.WIPC))
    fills = written / evidence.manifest.target.user_capacity_bytes
    return met_if(
        at_least(fills, _WIPC_FILLS), "2 x user capacity", f"{format_significant(fills)} x user capacity"
    )


def minutes_kept(phase: Phase) -> Check:
    """Every minute of a phase, with IOPS, average and maximum response time."""
    return lambda evidence: all_of([logged_every_minute(phase)(evidence), averages_kept(phase)(evidence)])


def has_cpu(*parts: Phase) -> Check:
    """Whether the processors' shares are in the record of the steps of these parts, of all without any."""

    def check(evidence: Evidence) -> Finding:
        samples = [sample for phase in parts for sample in evidence.of(phase)] if parts else evidence.samples
        if not samples:
            return not_reached("no such step was completed")
        without = sum(sample.cpu is None for sample in samples)
        if without == len(samples) and evidence.manifest.target.simulation is not None:
            return unverified("a simulated drive in virtual time uses no processor")
        return met_if(
            not without, "CPU system of every step", f"missing in {without} of {len(samples)} steps"
        )

    return check


def average_at(evidence: Evidence) -> dict[tuple[int, int], tuple[float, float]]:
    """IOPS and ART (ns) of each operating point, averaged over the last five rounds."""
    values: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for found in evidence.rounds(Phase.ROUND)[-WINDOW_ROUNDS:]:
        for sample in found.samples:
            point, art_ns = _demand(sample.step.stimulus), sample.mean_latency_ns
            if point is not None and art_ns is not None:
                values.setdefault(point, []).append((sample.iops, art_ns))
    return {
        point: (fsum(iops for iops, _ in at) / len(at), fsum(art for _, art in at) / len(at))
        for point, at in values.items()
    }


def _demands_of(found: RoundRecord) -> list[tuple[int, int]]:
    return [(s.tc, s.qd) for s in stimuli(list(found.samples))]


def _demand(stimulus: Stimulus | None) -> tuple[int, int] | None:
    return None if stimulus is None else (stimulus.tc, stimulus.qd)
