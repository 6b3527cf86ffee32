"""Distributions of response times in an archive: coarser than a record's, and merged as exactly.

Octaves are divided into equal buckets, 1024 of them in a record. As both numbers are powers of two, each
bucket of a record lies within one of the archive, so that counts stay exact. A percentile is the upper end of
its bucket, and so at most ``error_bound_pct`` above the response time that it is of, and never below.
"""

from collections.abc import Iterable
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
    shift_of_octave = buckets_per_octave.bit_length()
    counts: dict[int, int] = {}
    for _, fine_ns, ios in LatencyDistribution.merged([encoded] if encoded else []).buckets():
        # all bits below those that number octave and bucket
        highest_ns = fine_ns | (1 << max(0, fine_ns.bit_length() - shift_of_octave)) - 1
        counts[highest_ns] = counts.get(highest_ns, 0) + ios
    return list(counts), list(counts.values())


def distribution_of(buckets: Iterable[tuple[int, int]]) -> LatencyDistribution:
    """Buckets of an archive, each with its I/Os, as one distribution."""
    return LatencyDistribution.merged(filter(None, [encode_counts(buckets)]))
