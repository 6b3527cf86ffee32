"""Distributions of response times in an archive: coarser than a record's, and merged as exactly.

Octaves are divided into equal buckets, 1024 of them in a record. As both numbers are powers of two, each
bucket of a record lies within one of the archive, so that counts stay exact. A percentile is the upper end of
its bucket, and so at most ``error_bound_pct`` above the response time that it is of, and never below.
"""

from collections.abc import Iterable
from functools import cache
from itertools import chain, compress
from operator import sub
from typing import Final

from openpts.analysis.latency import LatencyDistribution, encode_counts

STEP_BUCKETS_PER_OCTAVE: Final = 128
INTERVAL_BUCKETS_PER_OCTAVE: Final = 32
"""Of these there are so many that finer ones would be most of an archive."""


def error_bound_pct(buckets_per_octave: int) -> float:
    """By how much of itself, in per cent, the upper end of a bucket is above any latency in it, at most."""
    return 100 / buckets_per_octave


def coarse_buckets(encoded: bytes, buckets_per_octave: int) -> tuple[list[int], list[int]]:
    """The non-empty buckets of a record's histogram, ascending: highest latency (ns, inclusive) and I/Os."""
    distribution = LatencyDistribution.merged([encoded] if encoded else [])
    if (bounds := distribution.bounds()) is None:
        return [], []
    ends_ns = _ends_ns(bounds[0].bit_length(), bounds[3].bit_length(), buckets_per_octave)
    levels = distribution.counts_up_to(ends_ns)
    ios = list(map(sub, levels, chain((0,), levels)))
    return list(compress(ends_ns, ios)), list(filter(None, ios))


@cache
def _ends_ns(first_bits: int, last_bits: int, buckets_per_octave: int) -> tuple[int, ...]:
    """The highest latency of each bucket in octaves, in which latencies have as many bits."""
    ends_ns: list[int] = []
    for bits in range(first_bits, last_bits + 1):
        width_ns = 1 << max(0, bits - buckets_per_octave.bit_length())
        ends_ns += range((1 << bits >> 1) + width_ns - 1, 1 << bits, width_ns)
    return tuple(ends_ns)


def distribution_of(buckets: Iterable[tuple[int, int]]) -> LatencyDistribution:
    """Buckets of an archive, each with its I/Os, as one distribution."""
    return LatencyDistribution.merged(filter(None, [encode_counts(buckets)]))
