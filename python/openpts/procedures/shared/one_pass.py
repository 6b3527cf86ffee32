"""The short form of preconditioning in a script: one pass for the state after long random writing."""

from collections.abc import Sequence
from typing import Final

from openpts.analysis.one_pass import at_rest, collection_began, pieces
from openpts.fields.conditions import Conditions
from openpts.units import KIB
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, ScriptPart, samples_in
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step
from openpts.vocabulary.stop import ByteAmount
from openpts.vocabulary.workload import simple_workload

IN_SEQUENCE, UNTIL_COLLECTION, PASS, AFTERWARDS = 1, 2, 3, 4
"""Numbers of the parts of Phase.CONDITIONING, in their order."""

_SEQUENTIAL_BYTES: Final = 128 * KIB
_RANDOM_BYTES: Final = 4 * KIB
_TC, _QD = 4, 32
_WINDOW: Final = 0.0025
_MOST_WINDOWS: Final = 400
_PIECES: Final = 100
_LATER_WINDOW: Final = 0.01
_MOST_LATER_WINDOWS: Final = 30


def condition_in_one_pass(conditions: Conditions, user_capacity_bytes: int) -> ScriptPart[bool]:
    """Find how much the flash holds, then bring the active range into the steady state of random writes.

    Writes twice what the flash holds. Returns whether the rate is at rest afterwards: where it is not, as
    with caches that fold, heat, compression or another kind of map, the state is another one.
    """
    whole = _Range(conditions, user_capacity_bytes)

    # All LBAs, in sequence: blocks that are full of valid pages, and the spare ones free
    yield Apply(Phase.CONDITIONING, IN_SEQUENCE, (whole.sequential(0, 1),))

    # Random writes until free blocks run out: that is what the flash holds beyond the range
    rates: list[float] = []
    while (flash := flash_found(rates)) is None and len(rates) < _MOST_WINDOWS:
        window = Apply(Phase.CONDITIONING, UNTIL_COLLECTION, (whole.random(1, _WINDOW),))
        rates.append(samples_in((yield window))[-1].iops)
    if flash is None:
        return False

    steps = [
        step
        for piece in pieces(flash, _PIECES)
        for step in (whole.sequential(piece.start, piece.end), whole.random(piece.end, piece.overwritten))
    ]
    yield Apply(Phase.CONDITIONING, PASS, tuple(steps))

    rates = []
    while not at_rest(rates) and len(rates) < _MOST_LATER_WINDOWS:
        window = Apply(Phase.CONDITIONING, AFTERWARDS, (whole.random(1, _LATER_WINDOW),))
        rates.append(samples_in((yield window))[-1].iops)
    return at_rest(rates)


def flash_found(rates: Sequence[float]) -> float | None:
    """What the flash holds, in active ranges, by the IOPS of each window until collection began."""
    began = collection_began(rates)
    return None if began is None else 1 + (began + 0.5) * _WINDOW


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
