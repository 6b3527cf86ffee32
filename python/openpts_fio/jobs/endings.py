"""What ends a job, and what ends a step of several."""

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.units import NS_PER_S
from openpts.vocabulary.stop import ByteAmount, Duration, IoCount, Steady, SteadyFigure
from openpts_fio.jobs.directions import Direction
from openpts_fio.jobs.job import Job
from openpts_fio.jobs.places import ThreadsRange

_FIGURES: Final = {"iops": SteadyFigure.IOPS, "bw": SteadyFigure.THROUGHPUT}
_ANY_PCT: Final = 1e9


class Ending(Struct, frozen=True):
    """What ends one stream; None for what doesn't."""

    duration_ns: int | None = None
    amount_bytes: int | None = None
    ios: int | None = None

    @property
    def is_timed(self) -> bool:
        """Whether time alone ends it."""
        return self.duration_ns is not None and self.amount_bytes is None and self.ios is None

    def later(self, late_ns: int) -> "Ending":
        """The same, with times that count from so much earlier."""
        return self if self.duration_ns is None else replace(self, duration_ns=self.duration_ns + late_ns)

    def rules(self) -> tuple[Duration | ByteAmount | IoCount, ...]:
        """All that may end it."""
        found: list[Duration | ByteAmount | IoCount] = []
        if self.duration_ns is not None:
            found.append(Duration(self.duration_ns))
        if self.amount_bytes is not None:
            found.append(ByteAmount(self.amount_bytes))
        if self.ios is not None:
            found.append(IoCount(self.ios))
        return tuple(found)


def ending_of(job: Job, directions: Sequence[Direction], part: ThreadsRange) -> Ending:
    """When the threads of a part end: by time, by amount, by number, or by the first of them."""
    runtime_ns = job.time_ns("runtime")
    if job.flag("time_based") and runtime_ns:
        return Ending(runtime_ns)
    loops, count = job.number("loops", 1), job.number("number_ios", 0)
    if loops < 1:
        raise job.error("loops", "is below 1")
    largest = max(one.largest_bytes for one in directions)
    amount_bytes: int | None = part.amount_bytes * loops * part.tc
    ios = count * loops * part.tc or None
    if ios is not None and amount_bytes is not None and ios * largest <= amount_bytes:
        amount_bytes = None
    return Ending(runtime_ns or None, amount_bytes, ios)


def steady_of(job: Job) -> Steady | None:
    """The steady state that ends it; None without one. Raises JobError.

    fio's slope is that from one window to the next, ours that over all windows. Its other rule limits how
    far a window is from the mean, ours how far any two are from each other: that is stricter.
    """
    window_ns = job.time_ns("steadystate_check_interval") or NS_PER_S
    windows = job.time_ns("steadystate_duration") // window_ns
    if not windows:
        return None
    name, _, limit = job.text("steadystate", "iops_slope:0.01%").partition(":")
    figure, _, slope = name.partition("_")
    if figure not in _FIGURES or slope not in {"", "slope"}:
        raise job.error("steadystate", "is none of iops, iops_slope, bw, bw_slope")
    try:
        pct = float(limit.removesuffix("%"))
    except ValueError:
        pct = math.nan
    if not limit.endswith("%") or not 0 <= pct < math.inf:
        raise job.error("steadystate", "is no limit in per cent of the mean, which alone openpts has")
    if windows < 2:
        raise job.error("steadystate_duration", "is less than two windows of steadystate_check_interval")
    if slope:
        return Steady(_FIGURES[figure], window_ns, windows, _ANY_PCT, pct * (windows - 1))
    job.note("steadystate", f"the range of the windows within {pct:g} % of the mean, which is stricter")
    return Steady(_FIGURES[figure], window_ns, windows, pct, _ANY_PCT)
