"""How long a stimulus must last for the nines of its response times (PTS 9.2 step 3.3.3, 10.2 step 2.4.3)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from openpts.analysis.latency import recorded_ios
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Sample

MARGIN: Final = Fraction(3, 2)
"""The recommended multiple of the 10^N I/Os that N nines need."""


def histogram_ns(shortest_ns: int, nines: int | None, measured: Sequence[Sample]) -> int:
    """Time in which 1.5 x 10^N I/Os occur at the mean rate of what was measured, at least ``shortest_ns``.

    The rate is that of I/Os whose response time is in a histogram: on a simulated drive with a scale those
    are fewer than the nominal ones, and only they make a percentile. Without ``nines``, or without an I/O
    to take a rate from, it is ``shortest_ns``.
    """
    ios = sum(recorded_ios(sample) for sample in measured)
    if nines is None or not ios:
        return shortest_ns
    elapsed_ns = sum(sample.elapsed_ns for sample in measured)
    needed_s = math.ceil(MARGIN * int(10**nines) * elapsed_ns / ios / NS_PER_S)
    return max(shortest_ns, needed_s * NS_PER_S)
