"""The test loop of IOPS, throughput and latency, and its preconditioning (PTS 3.3, 4, 7.2, 8.2, 9.2)."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from openpts.analysis.steady_state import WINDOW_ROUNDS, disturbed_rounds
from openpts.units import KIB, format_block_size, format_duration, format_significant
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, SteadyFigure
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pts.evidence.evidence import MINUTE_NS, Evidence, RoundRecord, at_least, last_window, lasted
from openpts_pts.evidence.finding import Finding, all_of, deviated, met, met_if, not_applicable, not_reached
from openpts_pts.evidence.settings import active_range, stimuli
from openpts_pts.evidence.stimulus import block_size_bytes, mix_text, read_pct
from openpts_pts.shared.rounds.conditions import RoundConditions

MOST_ROUNDS: Final = 25
_WIPC_FILLS: Final = 2

Points = Sequence[tuple[int, int]]
"""Per cent of reads and bytes of a block, in the order of a round."""


def points(read_pcts: Sequence[int], sizes_kib: Sequence[float]) -> Points:
    """A round: mixes in the outer loop, sizes in the inner one."""
    return [(read_pct, round(kib * KIB)) for read_pct in read_pcts for kib in sizes_kib]


def wipc(evidence: Evidence, size_kib: int | None) -> Finding:
    """2 x user capacity in sequential writes of that size; None is the size of each cycle's rounds."""
    capacity = evidence.manifest.target.user_capacity_bytes
    findings = []
    for found in evidence.rounds(Phase.WIPC):
        size_bytes = _size_of_rounds(evidence, found.cycle) if size_kib is None else size_kib * KIB
        written = sum(sample.write.bytes for sample in found.samples)
        right = all(
            s.access_pattern is AccessPattern.SEQUENTIAL for s in stimuli(list(found.samples))
        ) and all(
            sample.ios == sample.write.ios and size_bytes in {None, block_size_bytes(sample)}
            for sample in found.samples
        )
        what = f"SEQ {format_block_size(size_bytes)} 0/100" if size_bytes else "SEQ 0/100"
        findings.append(
            met_if(
                right and at_least(written, _WIPC_FILLS * capacity),
                f"{_WIPC_FILLS} x user capacity, {what}",
                f"{format_significant(written / capacity)} x user capacity, {found.samples[0].step}",
            )
        )
    if not findings:
        return deviated(f"{_WIPC_FILLS} x user capacity", "no WIPC was completed")
    return all_of([*findings, active_range(evidence, 100 if evidence.enterprise else 75, Phase.WIPC)])


def _size_of_rounds(evidence: Evidence, cycle: int) -> int | None:
    sizes = {
        s.block_size_bytes
        for found in evidence.rounds(Phase.ROUND, cycle=cycle, whole=False)
        for s in stimuli(list(found.samples))
    }
    return sizes.pop() if len(sizes) == 1 else None


def outer_loop(evidence: Evidence, read_pcts: Sequence[int]) -> Finding:
    """The mixes of each whole round, in order."""
    required = ", ".join(f"{reads}/{100 - reads}" for reads in read_pcts)
    return all_of(
        met_if((used := _outer(found, evidence.manifest.target.scale)) == required, required, used)
        for found in evidence.rounds(Phase.ROUND)
    )


def inner_loop(evidence: Evidence, sizes_kib: Sequence[float]) -> Finding:
    """The block sizes of each whole round, in order, alike for every mix."""
    required = tuple(round(kib * KIB) for kib in sizes_kib)
    return all_of(
        met_if(
            set(inner := _inner(found, evidence.manifest.target.scale)) == {required},
            _sizes(required),
            " or ".join(map(_sizes, inner)),
        )
        for found in evidence.rounds(Phase.ROUND)
    )


def element(evidence: Evidence, count: int, pattern: AccessPattern) -> Finding:
    """Each whole round has so many elements, of a minute each, in that order of accesses."""
    required = f"{count} x 1 min of {pattern.short}"
    findings = []
    for found in evidence.rounds(Phase.ROUND):
        patterns = dict.fromkeys(s.access_pattern.short for s in stimuli(list(found.samples)))
        lengths = [sample.elapsed_ns for sample in found.samples]
        right = (
            len(lengths) == count
            and list(patterns) == [pattern.short]
            and all(lasted(sample, MINUTE_NS) for sample in found.samples)
        )
        used = f"{len(lengths)} x {format_duration(min(lengths))} of {', '.join(patterns)}"
        findings.append(met_if(right, required, used))
    return all_of(findings)


def order(evidence: Evidence, expected: Points) -> Finding:
    """Each whole round runs these points in this order; sizes that the sectors rule out are left out."""
    skipped = evidence.conditions(RoundConditions).skipped_block_sizes_bytes
    required = [point for point in expected if point[1] not in skipped]
    rounds = evidence.rounds(Phase.ROUND)
    wrong = [found for found in rounds if _points_of(found, evidence.manifest.target.scale) != required]
    if not rounds:
        return not_reached("no round was completed")
    if wrong:
        return deviated("the order of the loops", f"another order in round {wrong[0].number}")
    return met(f"{len(rounds)} rounds of {len(required)} elements, all in that order")


def until_steady(evidence: Evidence) -> Finding:
    """Each cycle ends with steady state, not before round 5, or with round 25 or a later one."""
    if not evidence.outcomes:
        return not_reached(evidence.ending)
    return all_of(
        met_if(
            outcome.last_round >= MOST_ROUNDS
            or (outcome.steady_round is not None and outcome.steady_round >= WINDOW_ROUNDS),
            f"until steady state, or {MOST_ROUNDS} rounds",
            f"steady in round {outcome.steady_round}"
            if outcome.steady_round
            else f"ended with round {outcome.last_round}, not steady",
        )
        for outcome in evidence.outcomes
    )


def verdicts(evidence: Evidence) -> list[tuple[str, SteadyStateReport | None]]:
    """Each tracked variable of each cycle over its window, judged again from the samples."""
    found = []
    by_cycle = {cycle: _complete(evidence, cycle) for cycle in evidence.tested_cycles}
    for cycle, rounds in by_cycle.items():
        finished = evidence.outcomes[cycle - 1] if cycle <= len(evidence.outcomes) else None
        disturbed = disturbed_rounds(record.samples for record in rounds)
        for variable in evidence.conditions(RoundConditions).tracking:
            values = [
                variable.of(sample)
                for record in rounds
                for sample in record.samples
                if variable.matches(sample.step.stimulus)
            ]
            if values:
                steady_round = finished.steady_round if finished else None
                found.append((str(variable), last_window(values, steady_round, disturbed)))
    return found


def if_not_steady(evidence: Evidence) -> Finding | None:
    """Requirements that apply only without steady state."""
    if not evidence.outcomes:
        return not_reached(evidence.ending)
    return not_applicable("steady state was reached") if evidence.steady else None


def beyond_round_25(evidence: Evidence) -> Finding:
    """What the operator may do at round 25 without steady state."""
    if (exempt := if_not_steady(evidence)) is not None:
        return exempt
    last = max(outcome.last_round for outcome in evidence.outcomes if outcome.steady_round is None)
    if last < MOST_ROUNDS:
        return not_reached(f"not steady, but ended with round {last}")
    return met(f"not steady, ended with round {last}")


def tracked(
    evidence: Evidence, required: str, expected: Points, figure: SteadyFigure = SteadyFigure.IOPS
) -> Finding:
    """The tracking variables are these, and each whole round measured them."""
    tracking = evidence.conditions(RoundConditions).tracking
    used = {(variable.read_pct, variable.block_size_bytes) for variable in tracking}
    text = ", ".join(str(variable) for variable in tracking)
    if used != set(expected) or any(variable.figure is not figure for variable in tracking):
        return deviated(required, ", ".join(f"{v} ({v.figure})" for v in tracking))
    rounds, scale = evidence.rounds(Phase.ROUND), evidence.manifest.target.scale
    without = [found.number for found in rounds if not set(expected) <= set(_points_of(found, scale))]
    if without:
        return deviated(required, f"not all of them in round {without[0]}")
    return met(f"{text}, in each of {len(rounds)} rounds")


def window_covers(evidence: Evidence, count: int) -> Finding:
    """All rounds of the window have so many elements."""
    return all_of(
        met_if(len(found.samples) == count, f"{count} elements", f"{len(found.samples)} elements")
        for found in evidence.rounds(Phase.ROUND)[-WINDOW_ROUNDS:]
    )


def _complete(evidence: Evidence, cycle: int) -> list[RoundRecord]:
    return evidence.rounds(Phase.ROUND, cycle=cycle)


def _points_of(found: RoundRecord, scale: int) -> list[tuple[float, int]]:
    """The mix and the size that each step of the round counted."""
    return [(read_pct(sample, scale), block_size_bytes(sample)) for sample in found.samples]


def _outer(found: RoundRecord, scale: int) -> str:
    return ", ".join(mix_text(pct) for pct, _ in groupby(pct for pct, _ in _points_of(found, scale)))


def _inner(found: RoundRecord, scale: int) -> list[tuple[int, ...]]:
    by_mix: dict[float, list[int]] = {}
    for pct, size_bytes in _points_of(found, scale):
        by_mix.setdefault(pct, []).append(size_bytes)
    return list(dict.fromkeys(tuple(sizes) for sizes in by_mix.values()))


def _sizes(sizes_bytes: Sequence[int]) -> str:
    return ", ".join(format_block_size(size).removesuffix(" KiB") for size in sizes_bytes) + " KiB"
