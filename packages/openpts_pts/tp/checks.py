"""Throughput against section 8, with the specification's own numbers."""

from typing import Final

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.units import KIB, format_block_size, format_significant
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, SteadyFigure
from openpts_pts.evidence import settings
from openpts_pts.evidence import stimulus as applied
from openpts_pts.evidence.evidence import Cases, Checks, Evidence, with_arguments
from openpts_pts.evidence.finding import Finding, all_of, deviated, met, met_if, not_reached
from openpts_pts.shared import spec_interpretations as spec
from openpts_pts.shared.rounds import checks as loop
from openpts_pts.shared.rounds.conditions import RoundConditions

_SIZES_BYTES: Final = (128 * KIB, 1024 * KIB)


def _one_cycle_each(evidence: Evidence) -> Finding:
    sizes: dict[int, list[int]] = {}
    for step in evidence.steps:
        if step.place.phase is Phase.ROUND and step.sample.step.stimulus is not None:
            size = step.sample.step.stimulus.block_size_bytes
            if size not in sizes.setdefault(step.place.cycle, []):
                sizes[step.place.cycle].append(size)
    used = [size for of_cycle in sizes.values() for size in of_cycle]
    text = ", ".join(format_block_size(size) for size in used) or "none"
    if not evidence.finished and tuple(used) == _SIZES_BYTES[: len(used)]:
        return not_reached(f"{text} so far: {evidence.ending}")
    right = tuple(used) == _SIZES_BYTES and len(evidence.manifest.purges) >= len(_SIZES_BYTES)
    return met_if(right, "128 KiB, then 1024 KiB, each from its own purge", text)


def _window_of(evidence: Evidence, size_kib: int) -> Finding | None:
    """Pages of a size bind where its cycle came to a window."""
    rounds = [
        found
        for found in evidence.rounds(Phase.ROUND)
        if all(s.block_size_bytes == size_kib * KIB for s in settings.stimuli(list(found.samples)))
    ]
    return not_reached(f"{len(rounds)} rounds of {size_kib} KiB") if len(rounds) < WINDOW_ROUNDS else None


def _tracked(evidence: Evidence) -> Finding:
    tracking = evidence.conditions(RoundConditions).tracking
    right = tracking and all(v.read_pct == 0 and v.figure is SteadyFigure.THROUGHPUT for v in tracking)
    text = ", ".join(f"{variable} ({variable.figure})" for variable in tracking)
    return met_if(bool(right), "MB/s of sequential writes", text)


def _whole_range_in_one_sequence(evidence: Evidence) -> Finding:
    """One thread's stream continues from step to step; the bytes show whether it covered the range."""
    target, covered = evidence.manifest.target, evidence.manifest.conditions.active_range
    start, end = covered.bytes_of(target.user_capacity_bytes, target.sector_bytes)
    findings = []
    for cycle in evidence.tested_cycles:
        samples = evidence.in_cycle(cycle, Phase.ROUND)
        if not samples:
            continue
        if any(
            s.tc != 1 or s.access_pattern is not AccessPattern.SEQUENTIAL for s in settings.stimuli(samples)
        ):
            return deviated("one sequence", "several threads, or random accesses")
        passes = sum(sample.bytes for sample in samples) / (end - start)
        findings.append(
            met(f"{format_significant(passes)} passes over the active range in one sequence")
            if passes >= 1
            else deviated("the entire active range", f"one sequence over {passes:.1%} of it")
        )
    return all_of(findings)


CHECKS: Final[Checks] = {
    "PTS-TP-01": settings.class_settings,
    "PTS-TP-02": _one_cycle_each,
    "PTS-TP-03": applied.purge_first,
    "PTS-TP-04": settings.both_settings,
    "PTS-TP-05": with_arguments(settings.demand, 1, None),
    "PTS-TP-06": with_arguments(settings.recommended, "qd", 32, 32),
    "PTS-TP-07": settings.random_data,
    "PTS-TP-08": with_arguments(loop.wipc, None),
    "PTS-TP-09": with_arguments(settings.same_demand, Phase.WIPC, Phase.ROUND),
    "PTS-TP-10": loop.until_steady,
    "PTS-TP-11": with_arguments(loop.outer_loop, (100, 0)),
    "PTS-TP-12": with_arguments(loop.element, 2, AccessPattern.SEQUENTIAL),
    "PTS-TP-13": with_arguments(settings.averages_kept, Phase.ROUND),
    "PTS-TP-14": _tracked,
    "PTS-TP-15": loop.beyond_round_25,
    "PTS-TP-16": _whole_range_in_one_sequence,
}
CASES: Final[Cases] = {
    "PTS-TP-20": loop.if_not_steady,
    "PTS-TP-21": loop.if_not_steady,
    "PTS-TP-28": with_arguments(_window_of, 1024),
    "PTS-TP-29": with_arguments(_window_of, 128),
    "PTS-TP-31": with_arguments(_window_of, 1024),
    "PTS-TP-32": with_arguments(_window_of, 128),
}
ORDER: Final = with_arguments(loop.outer_loop, (100, 0))
INTERPRETATIONS: Final = (
    *spec.STEADY_STATE,
    *spec.NOT_STEADY,
    spec.Interpretation(
        "8.2 (2.4.1.3), 8.3.5",
        "Steady state of each R/W mix, or of writes alone.",
        "Writes decide; reads are judged and shown as well.",
    ),
    spec.Interpretation(
        "8.2 (2.4.1.5)",
        "Whether sequential access continues across steps of different direction, and across Rounds.",
        "One place for the whole test, which every step takes up; it wraps at the end of the range.",
    ),
)
