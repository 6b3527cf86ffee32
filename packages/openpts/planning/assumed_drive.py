"""Rates that a plan assumes of a drive: the longest of what limits an I/O, no model of flash."""

from collections.abc import Mapping
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.units import GB, NS_PER_S, NS_PER_US
from openpts.vocabulary.stimulus import Stimulus

_RATED: Final = {
    "read_iops": "random_read_iops",
    "write_iops": "random_write_iops",
    "read_bytes_per_s": "sequential_read_bytes_per_s",
    "write_bytes_per_s": "sequential_write_bytes_per_s",
}


class AssumedDrive(Struct, frozen=True):
    """Limits of reads and writes; the defaults are those of no drive in particular, and a plan names them."""

    read_iops: float = 300_000
    write_iops: float = 50_000
    read_bytes_per_s: float = 2.0 * GB
    write_bytes_per_s: float = 1.0 * GB
    latency_ns: int = 80 * NS_PER_US

    @classmethod
    def rated(cls, rated: Mapping[str, float]) -> Self:
        """With the rates that a data sheet promises, under the keys of a preset's [rated]."""
        return replace(cls(), **{name: rated[key] for name, key in _RATED.items() if key in rated})

    def ios_per_s(self, stimulus: Stimulus) -> float:
        """I/Os per second of a stimulus: what size, operation or demand allows, whichever is less."""
        answered_per_s = stimulus.toio * NS_PER_S / self.latency_ns
        if not (stimulus.operations.read or stimulus.operations.write):
            return answered_per_s
        size_bytes = mean_block_bytes(stimulus)
        reads = stimulus.read_pct / 100
        device_s = reads * max(1 / self.read_iops, size_bytes / self.read_bytes_per_s)
        device_s += (1 - reads) * max(1 / self.write_iops, size_bytes / self.write_bytes_per_s)
        return min(1 / device_s, answered_per_s)


def mean_block_bytes(stimulus: Stimulus) -> float:
    """Mean size of a transfer by the weights of the mix."""
    sizes = stimulus.block_sizes
    return sum(size.block_size_bytes * size.weight for size in sizes) / sum(size.weight for size in sizes)
