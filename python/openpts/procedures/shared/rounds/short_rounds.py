"""Rounds of the short form: how long each element has to be, and when its figures are known well enough."""

from collections.abc import Sequence
from statistics import fmean
from typing import Final, TypeAlias

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.analysis.uncertainty import blocks_of, is_known, late_excess, of_short_elements
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import Duration
from openpts.vocabulary.verdict import TrackingVariable

Window: TypeAlias = Sequence[tuple[Sample, ...]]
"""Samples of the last rounds, up to five: one of each element."""

_LENGTHENED: Final = 4
_FEWEST_ROUNDS: Final = 3
_SHARE: Final = 1 / 2
"""What an element may miss, of the width that was asked for: scatter needs the rest."""


def following_round(
    within: float,
    minute_ns: int,
    tracking: Sequence[TrackingVariable],
    window: Window,
    steps: tuple[Step, ...],
) -> tuple[tuple[Step, ...], bool]:
    """The steps of the next round, and whether each variable is known ``within`` such a share of its mean.

    An element that is still on its way when it ends, in three rounds alike, is made four times as long, up to
    a minute: write buffers and collection take their time to get used to another load. So is one of a
    variable that a window of five doesn't know well enough: a stall in one round of five is rare, and not to
    be waited out. The elements of the variables have to be as long in all rounds of the window.
    """
    alike = [
        [samples[place] for samples in window if samples[place].step == step]
        for place, step in enumerate(steps)
    ]
    unknown = [
        any(
            variable.matches(step.stimulus) and not _is_known(within, variable, samples)
            for variable in tracking
        )
        for step, samples in zip(steps, alike, strict=True)
    ]
    following = tuple(
        _lengthened(step, minute_ns)
        if _is_on_its_way(within, samples) or (is_unknown and len(samples) == WINDOW_ROUNDS)
        else step
        for step, samples, is_unknown in zip(steps, alike, unknown, strict=True)
    )
    tracked = (
        step == before and len(samples) == len(window) and not is_unknown
        for step, before, samples, is_unknown in zip(following, steps, alike, unknown, strict=True)
        if any(variable.matches(step.stimulus) for variable in tracking)
    )
    return following, all(tracked)


def _lengthened(step: Step, minute_ns: int) -> Step:
    assert isinstance(step.stop, Duration)  # noqa: S101 so elements are made
    length_ns = max(step.stop.duration_ns, min(minute_ns, _LENGTHENED * step.stop.duration_ns))
    return Step(step.streams, Duration(length_ns))


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
