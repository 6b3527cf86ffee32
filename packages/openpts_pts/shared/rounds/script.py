"""What IOPS, throughput and latency share: WIPC, and rounds until steady state or the last one (PTS 4)."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, Outcome, Script, ScriptPart, samples_in
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, Step, Stimulus
from openpts.vocabulary.stop import Duration
from openpts.vocabulary.verdict import RoundPoint, TrackingVariable
from openpts.vocabulary.workload import simple_workload
from openpts_pts.shared.judged_rounds import JudgedRounds
from openpts_pts.shared.one_pass import condition_in_one_pass
from openpts_pts.shared.rounds.conditions import RoundConditions
from openpts_pts.shared.rounds.short_rounds import Window, first_round, following_round
from openpts_pts.shared.sequential_writes import written_in_sequence

C = TypeVar("C", bound=RoundConditions)


def preconditioning(conditions: RoundConditions, block_size_bytes: int, user_capacity_bytes: int) -> Script:
    """WIPC at the demand of the test, unless it has one of its own; none for 0 passes (PTS 3.3)."""
    return written_in_sequence(
        conditions,
        block_size_bytes,
        conditions.precondition_passes * user_capacity_bytes,
        tc=conditions.precondition_tc or conditions.tc,
        qd=conditions.precondition_qd or conditions.qd,
        phase=Phase.WIPC,
    )


def conditioned(conditions: C, block_size_bytes: int, user_capacity_bytes: int) -> ScriptPart[C]:
    """WIPC, or in the short form one pass; the conditions that follow: full length where it doesn't hold."""
    if conditions.within_pct is None:
        yield from preconditioning(conditions, block_size_bytes, user_capacity_bytes)
        return conditions
    holds = yield from condition_in_one_pass(
        conditions, user_capacity_bytes, conditions.known_flash, only_short=conditions.only_short is True
    )
    if holds:
        return conditions
    conditions = replace(conditions, within_pct=None, minute_ns=conditions.full_minute_ns)
    yield from preconditioning(conditions, block_size_bytes, user_capacity_bytes)
    return conditions


def point_stimulus(conditions: RoundConditions, point: RoundPoint) -> Stimulus:
    """What is applied at a test point."""
    workload = simple_workload(str(point), point.access_pattern, point.block_size_bytes, point.read_pct)
    return conditions.stimulus(workload, tc=conditions.tc, qd=conditions.qd)


def element(conditions: RoundConditions, point: RoundPoint) -> Step:
    """One element of a round: the test point for a minute."""
    return Step.of(point_stimulus(conditions, point), Duration(conditions.minute_ns))


def random_round(conditions: RoundConditions) -> tuple[Step, ...]:
    """A round of IOPS and of latency: the mixes in the outer loop, the block sizes in the inner one."""
    return tuple(
        element(conditions, RoundPoint(AccessPattern.RANDOM, block_size_bytes, read_pct))
        for read_pct in conditions.read_pcts  # 7.2 (3.2.1), 9.2 (3.1)
        for block_size_bytes in conditions.block_sizes_bytes  # 7.2 (3.2.1.1), 9.2 (3.1.1)
    )


def until_steady(
    conditions: RoundConditions, steps: tuple[Step, ...], tracking: Sequence[TrackingVariable]
) -> ScriptPart[tuple[Outcome, tuple[tuple[Sample, ...], ...]]]:
    """Rounds until all tracking variables are steady in the same window, or for the last round.

    Returns the outcome and the samples of the window's rounds.
    """
    names = tuple(str(variable) for variable in tracking)
    figures = partial(_tracked, tracking)
    following = _as_before
    if conditions.within_pct is not None:
        lengths_ns = (conditions.minute_ns, conditions.full_minute_ns)
        steps = first_round(conditions.full_minute_ns, tracking, steps)
        following = partial(following_round, conditions.within_pct / 100, lengths_ns, tracking)
    return (yield from rounds_until_steady(conditions.max_rounds, steps, names, figures, following))


def _as_before(_window: Window, steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], bool]:
    """The steps unchanged; any steady window is enough."""
    return steps, True


def rounds_until_steady(
    max_rounds: int,
    steps: tuple[Step, ...],
    names: tuple[str, ...],
    figures: Callable[[tuple[Sample, ...]], tuple[float, ...]],
    following: Callable[[Window, tuple[Step, ...]], tuple[tuple[Step, ...], bool]] = _as_before,
) -> ScriptPart[tuple[Outcome, tuple[tuple[Sample, ...], ...]]]:
    """As ``until_steady``, for any ``figures`` of a round; ``names`` are theirs.

    ``following`` gives the steps of the next round, and whether the window is enough if it is steady.
    """
    judged = JudgedRounds(Phase.ROUND, names)
    window: deque[tuple[Sample, ...]] = deque(maxlen=WINDOW_ROUNDS)
    looks_inside = following is not _as_before
    for number in range(1, max_rounds + 1):
        request = Apply(Phase.ROUND, number, steps, max_rounds, repeatable=True, with_intervals=looks_inside)
        samples = samples_in((yield request))
        window.append(samples)
        steps, is_enough = following(window, steps)
        if (yield from judged.steady_with(samples, *figures(samples))) and is_enough:
            return Outcome(number, number), tuple(window)
    return Outcome(None, max_rounds), tuple(window)


def _tracked(tracking: Sequence[TrackingVariable], samples: tuple[Sample, ...]) -> tuple[float, ...]:
    return tuple(
        variable.of(sample)
        for variable in tracking
        for sample in samples
        if variable.matches(sample.step.stimulus)
    )


def without_impossible_sizes(conditions: RoundConditions, sector_bytes: int) -> RoundConditions:
    """Leave out the block sizes that are no multiple of the sector; they are kept as skipped."""
    possible = tuple(size for size in conditions.block_sizes_bytes if size % sector_bytes == 0)
    skipped = tuple(size for size in conditions.block_sizes_bytes if size % sector_bytes != 0)
    return replace(conditions, block_sizes_bytes=possible, skipped_block_sizes_bytes=skipped)
