"""The short form of preconditioning in a script: one pass for the state after long random writing."""

from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import Final

from msgspec.structs import replace

from openpts.analysis.one_pass import (
    JUDGED,
    WINDOWS,
    amplification,
    at_rest,
    collection_began,
    drift,
    pieces,
    warms_up,
)
from openpts.fields.conditions import Conditions
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, ScriptPart, samples_in
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, OperationWeights, Step
from openpts.vocabulary.stop import ByteAmount
from openpts.vocabulary.workload import simple_workload

IN_SEQUENCE, UNTIL_COLLECTION, PASS, AFTERWARDS, EMPTIED = 1, 2, 3, 4, 5
"""Numbers of the parts of Phase.CONDITIONING; EMPTIED comes before PASS."""

_SEQUENTIAL_BYTES: Final = 128 * KIB
_RANDOM_BYTES: Final = 4 * KIB
_TRIM_BYTES: Final = 16 * MIB
_TC, _QD = 4, 32
_WINDOW: Final = 0.0025
_MOST_WINDOWS: Final = 400
_PIECES: Final = 100
_LATER_WINDOW: Final = 0.01
_MOST_LATER_WINDOWS: Final = 60
_MOST_UNEXPLAINED: Final = 1.6
"""Collection reads what it moves, and erases, beside the writes that amplification counts."""


def condition_in_one_pass(conditions: Conditions, user_capacity_bytes: int) -> ScriptPart[bool]:
    """Find how much the flash holds, then bring the active range into the steady state of random writes.

    Writes twice what the flash holds, and trims the range once. Returns whether the drive behaved as the
    state of random writes has it (``why_not``).
    """
    whole = _Range(conditions, user_capacity_bytes)

    # All LBAs, in sequence: blocks that are full of valid pages, and the spare ones free
    yield Apply(Phase.CONDITIONING, IN_SEQUENCE, (whole.sequential(0, 1),))

    # Random writes until free blocks run out: that is what the flash holds beyond the range
    first: list[Sample] = []
    while (flash := flash_found([one.iops for one in first])) is None and len(first) < _MOST_WINDOWS:
        window = _window(UNTIL_COLLECTION, whole.random(1, _WINDOW))
        first.append(samples_in((yield window))[-1])

    # Empty flash, so that the pass makes no collection: what it moves would have another age than the rest
    yield Apply(Phase.CONDITIONING, EMPTIED, (whole.trimmed(),))
    if flash is None:
        return False

    steps = [
        step
        for piece in pieces(flash, _PIECES)
        for step in (whole.sequential(piece.start, piece.end), whole.random(piece.end, piece.overwritten))
    ]
    yield Apply(Phase.CONDITIONING, PASS, tuple(steps))

    later: list[Sample] = []
    while len(later) < _MOST_LATER_WINDOWS and not _is_at_rest(later):
        window = _window(AFTERWARDS, whole.random(1, _LATER_WINDOW))
        later.append(samples_in((yield window))[-1])
    return not why_not(first, later)


def _window(number: int, step: Step) -> Apply:
    return Apply(Phase.CONDITIONING, number, (step,), with_intervals=True)


def why_not(until_collection: Sequence[Sample], afterwards: Sequence[Sample]) -> str:
    """Why the short form doesn't hold, by the windows before and after the pass; empty if it does."""
    windows = (*until_collection, *afterwards)
    if any(interval.throttled for one in windows for interval in one.intervals):
        return "heat slowed the drive down, and may do so at other times than at full length"
    fresh = [one.iops for one in until_collection]
    flash = flash_found(fresh)
    if flash is None:
        return "the rate never fell for good, as it does where collection of full flash begins"
    rates = [one.iops for one in afterwards]
    if not at_rest(rates):
        return (
            "the rate after the pass does not come to rest, as with a cache that is folded, a map of blocks, "
            f"compression or heat: it still moves by {100 * drift(rates):.0f} % over {JUDGED} windows"
        )
    if _warms_up(afterwards):
        celsius = _temperatures_c(afterwards)[-1]
        return f"the drive gets warmer, {celsius:g} °C by now: heat may slow it down later"
    fell, explained = median(fresh) / fmean(rates[-WINDOWS:]), amplification(flash)
    if fell > _MOST_UNEXPLAINED * explained:
        return (
            f"the rate fell to 1/{fell:.1f} and collection explains 1/{explained:.1f}: a cache takes writes, "
            "or the map is one of blocks"
        )
    return ""


def _is_at_rest(windows: Sequence[Sample]) -> bool:
    return at_rest([one.iops for one in windows]) and not _warms_up(windows)


def _warms_up(windows: Sequence[Sample]) -> bool:
    last = windows[-JUDGED:]
    return warms_up(_temperatures_c(last), sum(one.elapsed_ns for one in last) / NS_PER_S)


def _temperatures_c(windows: Sequence[Sample]) -> list[float]:
    """The highest of each window, of drives that tell theirs."""
    told = [[one.temperature_c for one in window.intervals if one.temperature_c] for window in windows]
    return [max(window) for window in told if window]


def flash_found(rates: Sequence[float]) -> float | None:
    """What the flash holds, in active ranges, by the IOPS of each window until collection began."""
    began = collection_began(rates)
    return None if began is None else 1 + (began + 0.5) * _WINDOW


def state_off(until_collection: Sequence[float], afterwards: Sequence[float]) -> float:
    """By what share the state after a pass may be off, from the IOPS of the windows before and after it.

    The rate may go on as it rises or falls at the end, and what the flash holds is known to half a window.
    """
    flash = flash_found(until_collection)
    if flash is None or not at_rest(afterwards):
        return 0.0
    most, least = amplification(flash - _WINDOW / 2), amplification(flash + _WINDOW / 2)
    return drift(afterwards) + (most / least - 1) / 2


def state_after_pass(numbered: Iterable[tuple[int, Sample]]) -> float | None:
    """``state_off`` out of the samples of conditioning; None where the test went on at full length."""
    samples = list(numbered)
    before, after = (
        [sample for part, sample in samples if part == number] for number in (UNTIL_COLLECTION, AFTERWARDS)
    )
    if why_not(before, after):
        return None
    return state_off([one.iops for one in before], [one.iops for one in after])


class _Range:
    """The active range, and steps that write parts of it."""

    def __init__(self, conditions: Conditions, user_capacity_bytes: int) -> None:
        self._conditions = conditions
        self._active = conditions.active_range
        self._span_pct = self._active.end_pct - self._active.start_pct
        self._bytes = self._span_pct / 100 * user_capacity_bytes

    def sequential(self, start: float, end: float) -> Step:
        """The LBAs between two shares of the range, once."""
        return self._step(AccessPattern.SEQUENTIAL, _SEQUENTIAL_BYTES, start, end, end - start, tc=1)

    def random(self, end: float, amount: float) -> Step:
        """So much of the range, at random below a share of it."""
        return self._step(AccessPattern.RANDOM, _RANDOM_BYTES, 0, end, amount, tc=_TC)

    def trimmed(self) -> Step:
        """All LBAs, trimmed."""
        step = self._step(AccessPattern.SEQUENTIAL, _TRIM_BYTES, 0, 1, 1, tc=1)
        assert step.stimulus is not None  # noqa: S101 it has one stream
        return Step.of(replace(step.stimulus, operations=OperationWeights(trim=1)), step.stop)

    def _step(
        self, pattern: AccessPattern, size_bytes: int, start: float, end: float, amount: float, *, tc: int
    ) -> Step:
        first_pct = self._active.start_pct
        stimulus = simple_workload(pattern.short.lower(), pattern, size_bytes, 0).stimulus(
            tc=tc,
            qd=_QD,
            active_range=ActiveRange(first_pct + start * self._span_pct, first_pct + end * self._span_pct),
            data=self._conditions.data,
        )
        return Step.of(stimulus, ByteAmount(max(size_bytes, round(amount * self._bytes))))
