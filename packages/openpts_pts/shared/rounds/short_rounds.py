"""Rounds of the short form: how long each element has to be, and when its figures are known well enough."""

from collections.abc import Sequence
from statistics import fmean
from typing import Final, TypeAlias

from msgspec.structs import replace

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.analysis.uncertainty import blocks_of, is_known, late_excess, of_short_elements
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts.vocabulary.stop import Duration
from openpts.vocabulary.verdict import TrackingVariable

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
            Step(step.streams, Duration(short_ns)) if variable and _goes_on(within, short_ns, one) else step
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


def _goes_on(within: float, short_ns: int, sample: Sample) -> bool:
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
