"""Figures that fio states, as far as a record can hold them."""

import sys
from collections.abc import Sequence
from typing import Annotated, Final

from msgspec import Meta

from openpts.analysis.latency import LatencyDistribution
from openpts.vocabulary.sample import NOTHING, OperationSample

MOST: Final = 2**63 - 1

Count = Annotated[int, Meta(ge=0, le=MOST)]
Figure = Annotated[float, Meta(ge=0, le=sys.float_info.max)]


def merged(parts: Sequence[OperationSample]) -> OperationSample:
    """One operation of several: a figure that one of them lacks, all of them lack. Raises OverflowError."""
    active = [part for part in parts if part.ios]
    if len(active) < 2:
        return active[0] if active else NOTHING
    known = all(part.latency_sum_ns for part in active)
    least = [part.latency_min_ns for part in active if part.latency_min_ns is not None]
    most = [part.latency_max_ns for part in active if part.latency_max_ns is not None]
    has_all = all(part.histogram for part in active)
    return OperationSample(
        ios=storable(sum(part.ios for part in active)),
        bytes=storable(sum(part.bytes for part in active)),
        latency_sum_ns=storable(sum(part.latency_sum_ns for part in active)) if known else 0,
        latency_min_ns=min(least) if len(least) == len(active) else None,
        latency_max_ns=max(most) if len(most) == len(active) else None,
        histogram=LatencyDistribution.merged(part.histogram for part in active).encode() if has_all else b"",
    )


def storable(figure: float) -> int:
    """The whole number nearest to it. Raises OverflowError for what no record can hold."""
    if not 0 <= figure <= MOST:
        raise OverflowError
    return round(figure)
