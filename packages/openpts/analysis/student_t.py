"""Student's t distribution for whole degrees of freedom, from its finite series."""

import math
from functools import lru_cache


def central_probability(t: float, degrees_of_freedom: int) -> float:
    """Probability that |T| stays below ``t`` (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees_of_freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees_of_freedom % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for step in range(1, degrees_of_freedom, 2):
        total += term
        numerator, denominator = (step + 1, step + 2) if odd else (step, step + 1)
        term *= cosine * cosine * numerator / denominator
    if not odd:
        return sine * total
    # the series of an odd number begins behind the angle itself: for one degree there is nothing else
    return 2 / math.pi * (angle + (sine * total if degrees_of_freedom > 1 else 0.0))


@lru_cache(maxsize=1024)
def critical_value(confidence: float, degrees_of_freedom: int) -> float:
    """The t that |T| stays below with that probability, such as 2.571 for 0.95 and 5.

    Raises ValueError unless 0 < confidence < 1 and there is a degree of freedom.
    """
    if not 0 < confidence < 1 or degrees_of_freedom < 1:
        raise ValueError(f"no t for confidence {confidence} and {degrees_of_freedom} degrees of freedom")
    low, high = 0.0, math.pi / 2
    # bisection of the angle, which is bounded: until two doubles are neighbors
    while low < (middle := (low + high) / 2) < high:
        t = math.sqrt(degrees_of_freedom) * math.tan(middle)
        if central_probability(t, degrees_of_freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees_of_freedom) * math.tan(high)
