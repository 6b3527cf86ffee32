"""Waiting times of the M/D/1 queue: arrivals of a Poisson process, one server, each served in the same time.

After Erlang (1909); in this form in Iversen and Staalhagen, Waiting time distribution in M/D/1 queueing
systems, Electronics Letters 35 (1999). Terms alternate and are large, hence decimals of 80 digits.
"""

from decimal import Decimal, getcontext, localcontext
from math import floor

_DIGITS = 80


def share_answered_within(time: float, load: float) -> float:
    """The share of I/Os that wait and are served within ``time`` services, at a load below 1."""
    waited = time - 1
    if waited < 0:
        return 0.0
    with localcontext(getcontext()) as exact:
        exact.prec = _DIGITS
        rate, until = Decimal(load), Decimal(waited)
        total, factorial = Decimal(0), Decimal(1)
        for k in range(floor(waited) + 1):
            factorial *= max(k, 1)
            ahead = rate * (k - until)
            total += ahead**k / factorial * (-ahead).exp() if k or ahead else (-ahead).exp()
        return float((1 - rate) * total)


def highest_load(time: float, share: float) -> float:
    """The load at which this share is answered within ``time`` services."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if share_answered_within(time, middle) >= share else (low, middle)
    return low
