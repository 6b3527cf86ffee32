"""What the kernel's random generator has, sampled during a run."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from openpts.gauge import Gauge, Values, known, whole_number

_AVAILABLE = Path("/proc/sys/kernel/random/entropy_avail")


def gauges() -> Iterator[Gauge]:
    """One file of the kernel's."""
    yield Gauge("entropy", "entropy available, bits", str(_AVAILABLE), (_AVAILABLE,), _understand)


def _understand(contents: Sequence[bytes], _at_ns: int) -> Values:
    return known([("available_bits", whole_number(contents[0]))])
