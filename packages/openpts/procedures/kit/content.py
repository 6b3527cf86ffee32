"""What a test adds to a report: measures, verdicts, pages, curves, the spread of repeats."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.minutes import Minute
from openpts.analysis.run_comparison import ADVISED_RUNS, Quality, RunSet
from openpts.procedures.kit.standing import Standing
from openpts.record.reader import Run
from openpts.vocabulary.limit import JudgedLimit
from openpts.vocabulary.verdict import Deviation
from openpts_pages import cells, ticks
from openpts_pages.measure import Measured
from openpts_pages.model import Axis, Cell, Section, Verdict

_ONE_DECIMAL: Final = partial(cells.number, decimals=1)


class XAxis(Struct, frozen=True):
    """What curves run along: the axis for all x of several curves, and how many of x's units one of it has.

    ``decimals`` are those of a place on the axis in a table.
    """

    axis: Callable[[Sequence[float]], tuple[Axis, float]]
    decimals: int


class Curve(Struct, frozen=True):
    """A figure of a run along something; curves of runs with one ``key`` are drawn in one plot.

    ``points`` are pairs of x and value, and ``cell`` is a value in a table. ``values`` says what they are,
    with their unit; ``y`` is the axis for all numbers of a table. ``dots``: no line connects the points.
    """

    key: str
    title: str
    values: str
    along: XAxis
    y: Callable[[Sequence[float]], Axis]
    points: tuple[tuple[float, float], ...]
    cell: Callable[[float], Cell] = _ONE_DECIMAL
    dots: bool = False


def _time(ends_ns: Sequence[float]) -> tuple[Axis, float]:
    time = ticks.time_axis("Time", 0, max(ends_ns))
    return time.axis, time.unit_ns


def _from_zero(title: str) -> XAxis:
    return XAxis(lambda values: (ticks.span_axis(title, 0, max(values)), 1), 3)


def _nines(levels_pct: Sequence[float]) -> tuple[Axis, float]:
    return ticks.nines_axis(
        "Confidence level (%)", math.ceil(2 - math.log10(100 - max(levels_pct)) - 1e-6)
    ), 1


OVER_TIME: Final = XAxis(_time, 3)
"""Nanoseconds from the start, shown in s, min or h."""
OVER_FILLS: Final = _from_zero("Written since the start (x user capacity)")
OVER_FILL_LEVEL: Final = _from_zero("Fill level (% of user capacity)")
OVER_CYCLES: Final = XAxis(
    lambda numbers: (ticks.whole_axis("Full drive cycles", min(numbers), max(numbers)), 1), 0
)
OVER_NINES: Final = XAxis(_nines, 6)
OVER_IOPS: Final = XAxis(lambda rates: (ticks.amount_axis("IOPS", rates), 1), 1)

IOPS: Final = partial(ticks.amount_axis, "IOPS")
RATE: Final = partial(ticks.amount_axis, "MB/s")


def iops_curve(key: str, title: str, minutes: Iterable[Minute]) -> Curve:
    """IOPS of each minute of a continuous stimulus, at its end."""
    points = tuple((float(minute.end_ns), minute.iops) for minute in minutes)
    return Curve(key, title, "IOPS of each minute at its end", OVER_TIME, IOPS, points)


Sections = Callable[[Standing, str], tuple[Section, ...]]
"""Makes the sections of a report, of which the text is its date."""


class ReportContent(Struct, frozen=True):
    """``verdicts`` go on the cover; ``sections`` makes the pages.

    Each section has its own common header. ``conditions`` go on the page of the run's conditions as well:
    what the test's own procedure can't show. ``figures`` makes what ``--json`` prints, JSON-ready,
    under names with units: it takes no page, but all percentiles. ``measures`` are the figures that are
    compared, ``curves`` those that a comparison draws over those of other runs. ``limits`` are verdicts on
    limits that the test has of its own.
    """

    __test__ = False  # the name is the field's, not pytest's

    verdicts: tuple[Verdict, ...]
    measures: tuple[Measured, ...]
    sections: Sections
    figures: Callable[[], dict[str, Any]]
    conditions: Callable[[], tuple[Verdict, ...]] = tuple
    curves: Callable[[], tuple[Curve, ...]] = tuple
    limits: tuple[JudgedLimit, ...] = ()


class MedianRun(Struct, frozen=True):
    """The run that stands for a set, that with its median, under the set's name; ``place`` is the set's."""

    name: str
    run: Run
    content: ReportContent
    place: int
    is_base: bool


ONE_RUN: Final = "one run: no statement about spread"


def set_remarks(repeats: RunSet, noun: str = "run") -> tuple[str, ...]:
    """What a set lacks; empty for one that lacks nothing."""
    above = f"{rse_text(repeats)} above {repeats.rule.rse_limit_pct:g} %"
    match repeats.quality:
        case Quality.ONE_RUN:
            return (ONE_RUN.replace("run", noun),)
        case Quality.DISCARDED:
            return (f"set discarded: {above} with {repeats.count} {_many(noun)}",)
        case Quality.MORE_RUNS:
            return (f"{above}: more {_many(noun)} needed", *_count_words(repeats, noun))
        case Quality.ACCEPTED:
            return _count_words(repeats, noun)


def spread_remarks(repeats: RunSet, noun: str = "run") -> tuple[str, ...]:
    """The relative standard error, and what the set lacks."""
    lacks = set_remarks(repeats, noun)
    return lacks if repeats.quality is not Quality.ACCEPTED else (rse_text(repeats), *lacks)


# SOL-STAT-02, 03
def _count_words(repeats: RunSet, noun: str) -> tuple[str, ...]:
    counted = f"{repeats.count} {_many(noun)}"
    if repeats.count < ADVISED_RUNS:
        return (f"{counted}, {ADVISED_RUNS} or more advised",)
    return () if repeats.count % 2 else (f"{counted}, an odd number advised",)


def _many(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def rse_text(repeats: RunSet) -> str:
    """The relative standard error: ``RSE 21.8 %``."""
    return "RSE n/a" if repeats.rse_pct is None else f"RSE {cells.fixed(repeats.rse_pct, 1)} %"


def rse_cell(repeats: RunSet | None, noun: str = "run") -> Cell:
    """The relative standard error in per cent, or why there is none."""
    if repeats is None:
        return cells.none()
    if repeats.rse_pct is None:
        return cells.missing(f"one {noun}" if repeats.count == 1 else "mean of 0")
    return cells.percent(repeats.rse_pct, 2)


def repeat_figures(repeats: RunSet) -> Mapping[str, Any]:
    """The values of repeats with their spread, JSON-ready."""
    return {
        "values": list(repeats.values),
        "median": repeats.median,
        "rse_pct": repeats.rse_pct,
        "rse_limit_pct": repeats.rule.rse_limit_pct,
        "quality": repeats.quality,
    }


# SOL-STAT-05, 06
def spread_deviations(sets: Iterable[tuple[str, RunSet]], noun: str = "run") -> Iterator[Deviation]:
    """An entry for each named set that is too far apart for a figure."""
    warm = f"warm {_many(noun)}"
    for name, repeats in sets:
        if repeats.quality not in {Quality.DISCARDED, Quality.MORE_RUNS}:
            continue
        discarded = repeats.quality is Quality.DISCARDED
        yield Deviation(
            rule_id="SOL-STAT-06" if discarded else "SOL-STAT-05",
            clause="Solidigm guide 4.2",
            required=f"{warm} with an RSE of {repeats.rule.rse_limit_pct:g} % or less",
            used=f"{name}: {rse_text(repeats)} of {repeats.count} {warm}",
            effect="the set is discarded" if discarded else f"more {warm} are needed for a figure",
        )
