"""A paced stream of attempts at a drive, and the longest gap between two that succeeded."""

import threading
import time
from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from openpts.units import NS_PER_MS, NS_PER_S

Attempt = Callable[[], bool]
"""Ask the drive once; whether it has answered as it should."""

_DISTINCT: Final = 3
_RETRY_NS: Final = NS_PER_MS // 2


class Gap(Struct, frozen=True):
    """Between two successes of a stream, on the monotonic clock."""

    begin_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """How long nothing succeeded."""
        return self.end_ns - self.begin_ns


def longest_gap(ends_ns: Sequence[int], from_ns: int, to_ns: int) -> Gap | None:
    """The longest of the gaps that end after ``from_ns`` and begin before ``to_ns``; None without one.

    ``ends_ns`` are the moments of the successes, in their order.
    """
    gaps = (Gap(begin, end) for begin, end in pairwise(ends_ns) if end > from_ns and begin < to_ns)
    return max(gaps, key=lambda gap: gap.length_ns, default=None)


def goes_on_at(ends_ns: Sequence[int], told_ns: int, to_ns: int, calm_ns: int) -> int | None:
    """When a stream went on after an interruption that was ordered at ``told_ns``; None: it did not.

    That is the end of its longest gap, since a drive may answer for a while after it was told. Where none is
    distinctly longer than ``calm_ns``, the longest before, it was not interrupted: it is the next success.
    """
    gap = longest_gap(ends_ns, told_ns, to_ns)
    if gap is not None and gap.length_ns > _DISTINCT * calm_ns:
        return gap.end_ns
    return next((end for end in ends_ns if end > told_ns), None)


class Stream:
    """Attempts at a pace of ``every_ns``, in a thread while the block runs; one that fails is repeated.

    An attempt that is late delays the next ones and is not made up for: what is looked for are gaps.
    """

    def __init__(self, attempt: Attempt, every_ns: int) -> None:
        self._attempt = attempt
        self._every_ns = every_ns
        self._stops = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._fault: BaseException | None = None
        self.ends_ns = array("q")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stops.set()
        # one that waits for a drive which never answers ends with the program
        self._thread.join(None if error is None else 1.0)

    def goes_on(self, since_ns: int, most_gap_ns: int) -> bool:
        """Whether it has succeeded ever since, with no longer gap until now. Raises what ended it."""
        if self._fault is not None:
            raise self._fault
        ends = list(self.ends_ns)
        now_ns = time.monotonic_ns()
        recent = [end for end in reversed(ends) if end >= since_ns - most_gap_ns]
        moments = [now_ns, *recent, since_ns]
        return bool(recent) and all(a - b <= most_gap_ns for a, b in pairwise(moments))

    def _work(self) -> None:
        due_ns = time.monotonic_ns()
        try:
            while not self._stops.is_set():
                succeeded = self._attempt()
                now_ns = time.monotonic_ns()
                if succeeded:
                    self.ends_ns.append(now_ns)
                due_ns = max(due_ns + self._every_ns, now_ns) if succeeded else now_ns + _RETRY_NS
                time.sleep(max(0, due_ns - time.monotonic_ns()) / NS_PER_S)
        except BaseException as fault:  # noqa: BLE001 told by the thread that waits for it
            self._fault = fault
