"""One interruption of a drive: it is ordered, and two streams show what they miss and when they go on."""

import time
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

from openpts.errors import TargetError
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.readiness import Interruption
from openpts_nvme.drivers.ready.streams import Stream, goes_on_at, longest_gap

_IDENTIFY_EVERY_NS: Final = 2 * NS_PER_MS
_READ_EVERY_NS: Final = NS_PER_MS
# a stream with no gap longer than this share of the time that is looked at goes on
_GOES_ON_SHARE: Final = 1 / 3
_LOOK_S: Final = 0.02


class Asked(Protocol):
    """A drive that can be asked at any time, also while it is not there."""

    def identify(self) -> bool:
        """Whether it has answered an Identify Controller."""

    def read(self) -> bool:
        """Whether it has given 4 KiB."""


class Order(Struct, frozen=True):
    """What was ordered and when: ``told_ns`` is the moment from which the drive was free to become ready.

    ``shutdown_ns`` is how long it took to be shut down before, None where it was not.
    """

    told_ns: int
    shutdown_ns: int | None = None


def interrupted(
    drive: Asked, order: Callable[[], Order], *, calm_s: float = 0.5, patience_s: float = 180.0
) -> Interruption:
    """Order an interruption and wait until both streams have gone on for ``calm_s``.

    Raises TargetError if they don't within ``patience_s``, and what ``order`` raises.
    """
    with Stream(drive.identify, _IDENTIFY_EVERY_NS) as asked, Stream(drive.read, _READ_EVERY_NS) as reads:
        began_ns = time.monotonic_ns()
        _wait(asked, reads, calm_s, patience_s)
        ordered_ns = time.monotonic_ns()
        ordered = order()
        _wait(asked, reads, calm_s, patience_s)
        now_ns = time.monotonic_ns()

    def calm_ns(stream: Stream) -> int:
        gap = longest_gap(stream.ends_ns, began_ns, ordered_ns)
        return 0 if gap is None else gap.length_ns

    def back_ns(stream: Stream) -> int:
        end_ns = goes_on_at(stream.ends_ns, ordered.told_ns, now_ns, calm_ns(stream))
        assert end_ns is not None  # noqa: S101 it was waited for
        return end_ns - ordered.told_ns

    gap = longest_gap(reads.ends_ns, ordered_ns, now_ns)
    return Interruption(
        identify_ns=back_ns(asked),
        read_ns=back_ns(reads),
        gap_ns=0 if gap is None else gap.length_ns,
        gap_from_ns=0 if gap is None else gap.begin_ns - ordered.told_ns,
        calm_gap_ns=calm_ns(reads),
        shutdown_ns=ordered.shutdown_ns,
    )


def _wait(asked: Stream, reads: Stream, calm_s: float, patience_s: float) -> None:
    """Until both streams go on, and have done so for a while."""
    begun_s = time.monotonic()
    while True:
        time.sleep(_LOOK_S)
        calm_ns = round(calm_s * NS_PER_S)
        since_ns, gap_ns = time.monotonic_ns() - calm_ns, round(calm_ns * _GOES_ON_SHARE)
        waited_s = time.monotonic() - begun_s
        if waited_s >= calm_s and all(stream.goes_on(since_ns, gap_ns) for stream in (asked, reads)):
            return
        if waited_s > patience_s:
            raise TargetError(f"the drive has not worked again for {patience_s:g} s: see dmesg")
