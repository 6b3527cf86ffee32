"""Throughput over the place of sequential accesses: one full pass over a range, from its intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

from openpts.analysis.minutes import pieces_of
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Sample


@dataclass(frozen=True, slots=True)
class PositionBin:
    """A stretch of the range, in per cent of it: mean rate, and that of its slowest and fastest interval."""

    start_pct: float
    end_pct: float
    bytes_per_s: float
    lowest_bytes_per_s: float
    highest_bytes_per_s: float

    @property
    def middle_pct(self) -> float:
        """The place at which it is plotted."""
        return (self.start_pct + self.end_pct) / 2


def last_pass(samples: Sequence[Sample], range_bytes: int, most_bins: int) -> tuple[PositionBin, ...]:
    """The last full pass of one sequential stream that began at the start of a range and wraps at its end.

    An interval lies where the middle of its bytes does; those that wrap around belong to the pass in which
    that is. Bins are at most so many, and have four intervals each at the least; none without a full pass, or
    with fewer than two such bins.
    """
    moved = sum(sample.bytes for sample in samples)
    passes = moved // range_bytes if range_bytes else 0
    if not passes:
        return ()
    start = (passes - 1) * range_bytes
    placed: list[tuple[float, int, int]] = []  # where in the pass, bytes, ns
    before = 0
    for piece in pieces_of(samples):
        amount = piece.measured.bytes
        middle = before + amount / 2 - start
        before += amount
        if amount and piece.measured.elapsed_ns and not piece.rest and 0 <= middle < range_bytes:
            placed.append((middle / range_bytes, amount, piece.measured.elapsed_ns))
    bins = min(most_bins, len(placed) // 4)
    if bins < 2:
        return ()
    found = []
    for number in range(bins):
        own = [(amount, ns) for where, amount, ns in placed if number <= where * bins < number + 1]
        if own:
            rates = [amount * NS_PER_S / ns for amount, ns in own]
            mean = sum(amount for amount, _ in own) * NS_PER_S / sum(ns for _, ns in own)
            low, high = 100 * number / bins, 100 * (number + 1) / bins
            found.append(PositionBin(low, high, mean, min(rates), max(rates)))
    return tuple(found)
