"""What a fuller drive writes to its flash for each byte of its host, by theory: at most, when all is random.

Uniform random writes on a drive that collects the oldest block first (Desnoyers, "Analytic Modeling of SSD
Write Performance", SYSTOR 2012): of a block that is collected the share f still holds data, where
utilization = (f - 1) / ln f, and each byte of the host's costs 1 / (1 - f).
"""

import math
from typing import Final

USUAL_SPARE: Final = 0.07
"""Flash beyond the user capacity, as its share: what GiB have over GB, which SSDs have at the least."""

FILLS_PCT: Final = (50, 75, 90, 100)

_STEPS: Final = 200  # of bisection: more than a double can tell apart


def amplification_when_full(full_pct: float, spare: float = USUAL_SPARE) -> float:
    """Bytes to the flash per byte of the host's on a drive that is full to so many per cent of its capacity.

    What is free is trimmed, so that the drive knows it; ``spare`` is above 0.
    """
    utilization = full_pct / 100 / (1 + spare)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        if (middle - 1) / math.log(middle) < utilization:
            low = middle
        else:
            high = middle
    return 1 / (1 - low)
