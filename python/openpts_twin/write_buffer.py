"""The size of the write buffer, by bursts of random writes on a drive that collects.

A drive that was left alone has an empty buffer: it takes writes in at the rate of its interface until the
buffer is full, and at the rate of its flash from there on. Only while the flash has to collect is it slower
than every interface, and the end of the first rate is the size. Reads keep the drive from using the wait
before a burst for other work.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.data import DataPattern
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, Script, samples_in
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration
from openpts_twin.rates import at_higher_rate, windows_of

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
_LEAST_AFTER: Final = 2
"""Windows that show the rate after that, the first one included."""
_LEAST_CONTRAST: Final = 1.5


def bursts(active_range: ActiveRange, data: DataPattern, user_capacity_bytes: int, scale: int) -> Script:
    """Bursts after waits: a long one in windows that grow, the others in windows short beside the buffer.

    These are twice as long from where one of them has not filled it.

    ``scale`` is that of a simulated drive, which does not scale its buffer.
    """
    reads = Stimulus.of(AccessPattern.RANDOM, _READ_BYTES, 100, 1, 1, active_range)
    wait = Step.of(reads, Duration(_WAIT_NS * scale))
    writes = replace(Stimulus.of(AccessPattern.RANDOM, _BLOCK_BYTES, 0, 1, _QD, active_range), data=data)
    most = user_capacity_bytes / scale * _MOST_SHARE * (_GROWTH - 1) / _GROWTH
    windows = [min(_BLOCK_BYTES * _GROWTH**number, most) for number in range(_WINDOWS)]
    lasting: float | None = None
    for number in NUMBERS:
        blocks = [max(1, int(one / _BLOCK_BYTES)) * _BLOCK_BYTES for one in windows]
        blocks[-1] += _BLOCK_BYTES  # so that not every burst leaves as much of a program unit in the buffer
        steps = (Step.of(writes, ByteAmount(one * scale)) for one in blocks)
        samples = samples_in((yield Apply(Phase.BURST, number, (wait, *steps))))
        filled = _filled(samples, lasting)
        if filled is None and lasting is None:
            return
        if filled is None:
            windows = [2 * one for one in windows]
        elif lasting is None:
            lasting = filled.after_bytes_per_s
            windows = [filled.bytes / scale / _WINDOWS_OF_BUFFER] * _WINDOWS


class Filled(Struct, frozen=True):
    """A buffer that was filled: what was taken in until it was full, the rate then, and the one behind it."""

    taken_bytes: float
    before_bytes_per_s: float
    after_bytes_per_s: float

    @property
    def bytes(self) -> float:
        """What it holds: programs take about half of the time until the first ones make room."""
        return self.taken_bytes * (1 - self.after_bytes_per_s / self.before_bytes_per_s / 2)


def filled_by(samples: Sequence[Sample], scale: int) -> Filled | None:
    """The buffer by the samples of all bursts; None where the rate does not fall."""
    found = _by_each(samples)
    if not found:
        return None
    # data that do not fill a program unit yet stay in the buffer: what is free before a burst is less than it
    taken = [one.taken_bytes / scale for one in found]
    return Filled(max(taken), max(one.before_bytes_per_s for one in found), found[0].after_bytes_per_s)


def size_of(samples: Sequence[Sample], scale: int) -> float | None:
    """Bytes that bursts fill: their mean repeats better than the most. None where the rate does not fall."""
    found = _by_each(samples)
    return fmean(one.bytes for one in found) / scale if found else None


def _by_each(samples: Sequence[Sample]) -> list[Filled]:
    """By each burst behind the first; empty where not most of them filled the buffer."""
    steps = 1 + _WINDOWS
    first, *others = (samples[start : start + steps] for start in range(0, max(1, len(samples)), steps))
    # the first one finds how long windows have to be, and the rate that lasts, for which others are too short
    lasting = _filled(first)
    if lasting is None:
        return []
    found = [one for each in others if (one := _filled(each, lasting.after_bytes_per_s)) is not None]
    return found if len(found) > len(NUMBERS) // 2 else []


def _filled(samples: Sequence[Sample], lasting_bytes_per_s: float | None = None) -> Filled | None:
    """By one burst, with the rate behind its end if it is known; None where the rate never fell."""
    windows = windows_of(samples)
    if len(windows) < _WINDOWS:
        return None
    rates = [one.bytes_per_s for one in windows]
    first = max(rates[:_FIRST])
    full = next((n for n in range(_FIRST, len(rates)) if rates[n] < _SLOWER * first), None)
    if full is None:
        return None
    later = lasting_bytes_per_s
    if later is None:
        behind = windows[full + 1 :]
        if len(behind) + 1 < _LEAST_AFTER:
            return None
        later = 1e9 * sum(one.bytes for one in behind) / sum(one.elapsed_ns for one in behind)
    if first < _LEAST_CONTRAST * later:
        return None
    taken = windows[full].start_bytes + at_higher_rate(windows[full], first, later)
    return Filled(taken, first, later)
