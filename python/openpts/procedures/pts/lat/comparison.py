"""Response times of several drives over the confidence level."""

from collections.abc import Sequence
from typing import Final

from openpts.analysis.response_times import ResponseTimes, nines_supported, response_times
from openpts.pages import cells, ticks
from openpts.pages.kit import PlotName
from openpts.pages.model import Block
from openpts.procedures.kit.overlay import Point, Typical, overlay, values_of, with_sentence
from openpts.record.reader import Run
from openpts.vocabulary.phase import Phase

_STEPS_PER_NINE: Final = 4
_MOST_NINES: Final = 7


def blocks(typical: Sequence[Typical]) -> tuple[Block, ...]:
    """Response time at each confidence level, as far as the I/Os of a run suffice."""
    times = [(one, found) for one in typical if (found := _histogram(one.run)) and found.recorded_ios]
    nines = max((_nines(found) for _, found in times), default=0)
    drawn = overlay(
        PlotName(
            "compare-lat-levels",
            "Plot X-COMPARE-LAT-2",
            "Response Time v Confidence Level - RND 4KiB RW0",
        ),
        "response time (ms) that so many per cent of the I/Os do not exceed",
        [(one, _levels(found)) for one, found in times],
        lambda table: (
            ticks.nines_axis("Confidence level (%)", nines),
            ticks.log_axis("Response time (ms)", values_of(table)),
        ),
        x_title="Confidence level (%)",
        decimals=6,
    )
    return with_sentence(typical, drawn)


def _nines(times: ResponseTimes) -> int:
    return min(_MOST_NINES, nines_supported(times.recorded_ios))


def _histogram(run: Run) -> ResponseTimes | None:
    samples = [step.sample for step in run.phase(Phase.HISTOGRAM)]
    return response_times(samples) if samples else None


def _levels(times: ResponseTimes) -> list[Point]:
    """Four levels to each nine, evenly spaced on the axis."""
    last = _STEPS_PER_NINE * _nines(times)
    found = []
    for step in range(1, last + 1):
        level_pct = round(100 - 100 * 10 ** (-step / _STEPS_PER_NINE), 12)
        if (value_ns := times.percentile_ns(level_pct)) is not None:
            found.append((level_pct, cells.latency(value_ns)))
    return found
