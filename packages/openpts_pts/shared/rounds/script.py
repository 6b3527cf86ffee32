"""What IOPS, throughput and latency share: WIPC, and rounds until steady state or the last one (PTS 4)."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Final, TypeAlias, TypeVar

from msgspec.structs import replace

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.analysis.uncertainty import blocks_of, is_known, late_excess, of_short_elements
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.requests import Apply, Outcome, Script, ScriptPart, samples_in
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, Duration, Step, Stimulus
from openpts.vocabulary.verdict import RoundPoint, TrackingVariable
from openpts.vocabulary.workload import simple_workload
from openpts_pts.shared.one_pass import condition_in_one_pass
from openpts_pts.shared.rounds.conditions import RoundConditions
from openpts_pts.shared.script import JudgedRounds, written_in_sequence

Window: TypeAlias = Sequence[tuple[Sample, ...]]
"""Samples of the last rounds, up to five: one of each element."""

_FEWEST_ROUNDS: Final = 3
_KEY_BLOCK_SIZE_BYTES: Final = 4 * KIB
_KEY_READ_PCTS: Final = (0, 65, 100)
"""Of IOPS and latency: what their reports have on the cover."""
_SHARE: Final = 1 / 2
"""What an element may miss, of the width that was asked for: scatter needs the rest."""


def first_round(
    minute_ns: int, tracking: Sequence[TrackingVariable], steps: tuple[Step, ...]
) -> tuple[Step, ...]:
    """The steps of the first round: elements of variables and key values take a minute."""
    return tuple(
        step if variable is None else _of_a_minute(step, minute_ns)
        for step, variable in zip(steps, _followed(tracking, steps), strict=True)
    )


def following_round(
    within: float,
    lengths_ns: tuple[int, int],
    tracking: Sequence[TrackingVariable],
    window: Window,
    steps: tuple[Step, ...],
) -> tuple[tuple[Step, ...], bool]:
    """The steps of the next round, and whether each variable and key value is known ``within`` such a share.

    ``lengths_ns`` are those of a short element and of one of a minute. Where the minute of the first round
    continued as it began, a short element shows the same, and all that follow are short: some drives take
    longer than that to get used to a load, and look steady in each short element.

    An element that is still on its way when it ends, in three rounds alike, becomes a minute: write buffers
    and collection take their time to get used to another load. So does one of a variable that a window of
    five doesn't know well enough: a stall in one round of five is rare, and not to be waited out. It has to
    be as long in all rounds of the window, so that each length between would cost rounds of all elements.
    That goes for variables and key values; other elements stay short, since longer ones would be most of
    what the rounds write.
    """
    short_ns, minute_ns = lengths_ns
    followed = _followed(tracking, steps)
    if len(window) == 1:
        began = zip(steps, followed, window[0], strict=True)
        return tuple(
            Step(step.streams, Duration(short_ns)) if variable and _continues(within, short_ns, one) else step
            for step, variable, one in began
        ), False
    alike = [
        [samples[place] for samples in window if samples[place].step == step]
        for place, step in enumerate(steps)
    ]
    unknown = [
        variable is not None and not _is_known(within, variable, samples)
        for variable, samples in zip(followed, alike, strict=True)
    ]
    following = tuple(
        _of_a_minute(step, minute_ns)
        if variable and (_is_on_its_way(within, samples) or (is_unknown and len(samples) == WINDOW_ROUNDS))
        else step
        for step, variable, samples, is_unknown in zip(steps, followed, alike, unknown, strict=True)
    )
    known = (
        step == before and len(samples) == len(window) and not is_unknown
        for step, before, variable, samples, is_unknown in zip(
            following, steps, followed, alike, unknown, strict=True
        )
        if variable
    )
    return following, all(known)


def _followed(tracking: Sequence[TrackingVariable], steps: tuple[Step, ...]) -> list[TrackingVariable | None]:
    """What has to be known of each element: its variable, the same figure of a key value, or nothing."""
    return [_variable_of(step.stimulus, tracking) for step in steps]


def _variable_of(stimulus: Stimulus | None, tracking: Sequence[TrackingVariable]) -> TrackingVariable | None:
    own = next((variable for variable in tracking if variable.matches(stimulus)), None)
    if own is None and tracking and stimulus is not None and _is_of_key_value(stimulus):
        return replace(tracking[0], block_size_bytes=stimulus.block_size_bytes, read_pct=stimulus.read_pct)
    return own


def _continues(within: float, short_ns: int, sample: Sample) -> bool:
    """Whether a short element would have shown the rate of the whole one."""
    first = sample.intervals[: max(1, short_ns // sample.interval_ns)]
    if not first:
        return True  # as in a plan
    ios = sum(one.ios for one in first)
    rate = ios * NS_PER_S / (len(first) * sample.interval_ns)
    return abs(rate - sample.iops) <= _SHARE * within * sample.iops


def _is_of_key_value(stimulus: Stimulus) -> bool:
    return stimulus.block_size_bytes == _KEY_BLOCK_SIZE_BYTES and stimulus.read_pct in _KEY_READ_PCTS


def _of_a_minute(step: Step, minute_ns: int) -> Step:
    assert isinstance(step.stop, Duration)  # noqa: S101 so elements are made
    return Step(step.streams, Duration(max(step.stop.duration_ns, minute_ns)))


def _is_on_its_way(within: float, samples: Sequence[Sample]) -> bool:
    if len(samples) < _FEWEST_ROUNDS:
        return False
    blocks = blocks_of(samples, lambda one: one.iops)
    return late_excess(blocks) > _SHARE * within * fmean(one.value for one in blocks)


def _is_known(within: float, variable: TrackingVariable, samples: Sequence[Sample]) -> bool:
    blocks = blocks_of(samples, variable.of)
    return bool(blocks) and is_known(
        of_short_elements(blocks, 0.0), fmean(one.value for one in blocks), within
    )


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
