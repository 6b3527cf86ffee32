"""Passes of replay-native: what is tracked of a whole pass."""

from collections.abc import Sequence
from typing import Final

from openpts.units import MB, NS_PER_MS, per_second
from openpts.vocabulary.sample import Sample

PASS_FIGURES: Final = ("average response time", "throughput")


def pass_figures(samples: Sequence[Sample]) -> tuple[float, float]:
    """Average response time in ms and MB/s: at given rates, IOPS are steady whatever the drive does."""
    operations = [one for sample in samples for one in sample.operations.values() if one.ios]
    ios = sum(one.ios for one in operations)
    elapsed_ns = sum(sample.elapsed_ns for sample in samples)
    art_ms = sum(one.latency_sum_ns for one in operations) / ios / NS_PER_MS if ios else 0.0
    moved_bytes = sum(sample.bytes for sample in samples)
    return art_ms, per_second(moved_bytes, elapsed_ns) / MB
