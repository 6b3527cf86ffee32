"""The size of the write buffer, by bursts of random writes on a drive that collects.

A drive that was left alone has an empty buffer: it takes writes in at the rate of its interface until the
buffer is full, and at the rate of its flash from there on. Only while the flash has to collect is it slower
than every interface, and the end of the first rate is the size. Reads keep the drive from using the wait
before a burst for other work.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.data import DataPattern
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, Script, samples_in
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration

NUMBERS: Final = range(11, 18)
"""Numbers of Phase.BURST, one for each burst."""
_BLOCK_BYTES: Final = 64 * KIB
_QD: Final = 8
_WINDOWS: Final = 16
_GROWTH: Final = 1.6
"""Of the windows of the first burst, which find any size roughly: 200 MiB in all."""
_MOST_SHARE: Final = 0.004
"""Of the drive: what the first burst writes at most."""
_WINDOWS_OF_BUFFER: Final = 8
"""Windows that the buffer takes in, once about its size is known."""
_WAIT_NS: Final = NS_PER_S
_READ_BYTES: Final = 4 * KIB
_SLOWER: Final = 0.8
"""A window that is slower than this times the first one has met a full buffer."""
_FIRST: Final = 3
"""Windows that show the rate before that."""
_LEAST_AFTER: Final = 3
"""Windows that show the rate after that, the first one included."""
_LEAST_CONTRAST: Final = 1.5


def bursts(active_range: ActiveRange, data: DataPattern, user_capacity_bytes: int, scale: int) -> Script:
    """Bursts after waits: a long one in windows that grow, the others in windows short beside the buffer.

    ``scale`` is that of a simulated drive, which does not scale its buffer.
    """
    reads = Stimulus.of(AccessPattern.RANDOM, _READ_BYTES, 100, 1, 1, active_range)
    wait = Step.of(reads, Duration(_WAIT_NS * scale))
    writes = replace(Stimulus.of(AccessPattern.RANDOM, _BLOCK_BYTES, 0, 1, _QD, active_range), data=data)
    most = user_capacity_bytes / scale * _MOST_SHARE * (_GROWTH - 1) / _GROWTH
    windows = [min(_BLOCK_BYTES * _GROWTH**number, most) for number in range(_WINDOWS)]
    for number in NUMBERS:
        blocks = [max(1, round(one / _BLOCK_BYTES)) * _BLOCK_BYTES for one in windows]
        steps = (Step.of(writes, ByteAmount(one * scale)) for one in blocks)
        samples = samples_in((yield Apply(Phase.BURST, number, (wait, *steps))))
        if number == NUMBERS[0]:
            if (size := _taken_in(samples)) is None:
                return
            windows = [size / scale / _WINDOWS_OF_BUFFER] * _WINDOWS


def size_of(samples: Sequence[Sample], scale: int) -> float | None:
    """Bytes that the buffer holds, by the samples of all bursts; None where the rate does not fall."""
    steps = 1 + _WINDOWS
    of_bursts = [samples[start : start + steps] for start in range(0, len(samples), steps)]
    # the first one only finds how long windows have to be
    found = [size for one in of_bursts[1:] if (size := _taken_in(one)) is not None]
    # data that do not fill a program unit yet stay in the buffer: what is free before a burst is less than it
    return max(found) / scale if len(found) > len(NUMBERS) // 2 else None


def _taken_in(samples: Sequence[Sample]) -> float | None:
    """What was taken in at the first rate, less what left meanwhile; None where the rate never fell."""
    windows = [(one.write.bytes, one.elapsed_ns) for one in samples if one.write.bytes and one.elapsed_ns]
    if len(windows) < _WINDOWS:
        return None
    first = max(size / ns for size, ns in windows[:_FIRST])
    slow = [size / ns < _SLOWER * first for size, ns in windows]
    full = next((n for n in range(_FIRST, len(slow)) if slow[n]), None)
    if full is None or len(windows) - full < _LEAST_AFTER:
        return None
    later = sum(size for size, _ in windows[full + 1 :]) / sum(ns for _, ns in windows[full + 1 :])
    if first < _LEAST_CONTRAST * later:
        return None
    size, ns = windows[full]
    at_first = min(max((size / later - ns) / (1 / later - 1 / first), 0.0), size)
    taken_in = sum(size for size, _ in windows[:full]) + at_first
    # programs take about half of that time until the first ones make room
    return taken_in * (1 - later / first / 2)
