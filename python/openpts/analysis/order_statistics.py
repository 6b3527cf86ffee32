"""Between which values of a sample the median of what it was drawn from is, whatever the distribution."""

from math import comb


def median_ranks(count: int, confidence: float = 0.95) -> tuple[int, float] | None:
    """The rank from either end of so many values between which the median is, and with what confidence.

    None where even the smallest and the largest do not reach the confidence: below 6 for 95 %. The number of
    values below the median is binomial.
    """
    best = None
    tail = 0.0
    for rank in range(1, count // 2 + 1):
        tail += comb(count, rank - 1) / 2**count
        if 1 - 2 * tail < confidence:
            break
        best = rank, 1 - 2 * tail
    return best
