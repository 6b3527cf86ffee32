"""Every run of every set as a dot beside the base's median, and the values that the dots are drawn from."""

from collections.abc import Sequence
from itertools import count, takewhile
from operator import itemgetter
from typing import Final

from msgspec import structs

from openpts.procedures.kit.content import Curve, MedianRun
from openpts.vocabulary.verdict import Better
from openpts_compare.compare.contenders import ComparedMetric, ComparedRun, ComparedTest, SetValue
from openpts_pages import cells, ticks
from openpts_pages.kit import Cells, heads_of, labels_axis, rows_table, values_of
from openpts_pages.measure import Measured
from openpts_pages.model import (
    HEIGHT_PX,
    WIDTH_PX,
    Axis,
    Block,
    Cell,
    Column,
    Figure,
    PlotRule,
    Series,
    Table,
    Verdict,
)
from openpts_pages.plots.theme import text_width_px

_PRINTED_VALUES: Final = 60
# Markers beyond that would hide what lies below them.
_MOST_MARKERS: Final = 30
# Colors that are far from each other in thin lines and small dots come first.
_COLORS: Final = (2, 3, 4, 7, 5, 0, 6, 1)

_Drawn = Sequence[tuple[MedianRun, Curve]]


def color_of(place: int) -> int:
    """The palette's index for the set at a place."""
    return _COLORS[place % len(_COLORS)]


def overlays(test: str, typical: Sequence[MedianRun]) -> tuple[Block, ...]:
    """A plot and its table for each curve that two runs have, after a sentence on whose runs they are."""
    found: dict[str, list[tuple[MedianRun, Curve]]] = {}
    for one in typical:
        for curve in one.content.curves():
            if curve.points:
                found.setdefault(curve.key, []).append((one, curve))
    shared = [drawn for drawn in found.values() if len(drawn) > 1]
    if not shared:
        return ()
    runs = "; ".join(f"{one.name}: {one.run.manifest.test_id}" for one in typical)
    sentence = Verdict(
        f"In the plots below each set has one run: that with the median of its first key value. {runs}."
    )
    plots = (block for number, drawn in enumerate(shared, start=1) for block in _plot(test, number, drawn))
    return (sentence, *plots)


def _plot(test: str, number: int, drawn: _Drawn) -> tuple[Figure, Table]:
    first = drawn[0][1]
    x_axis, x_unit = first.along.axis([x for _, curve in drawn for x, _ in curve.points])
    page_id = f"compare-{test}-course-{number}"
    table = _table(page_id, x_axis.title, x_unit, drawn)
    values = values_of(table)
    style = "points" if first.dots else "measured" if len(heads_of(table)) <= _MOST_MARKERS else "line"
    figure = Figure(
        id=page_id,
        number=f"Plot X-COMPARE-{test.upper()}-{number + 1}",
        title=first.title,
        kind="lines",
        table_id=table.id,
        x=x_axis,
        y=first.y(values),
        alt=f"{first.title} of {', '.join(one.name for one, _ in drawn)}: from {min(values):,.4g} to "
        f"{max(values):,.4g}.",
        series=tuple(
            # thin lines differ by more than their color
            Series(
                one.name,
                "column",
                (n,),
                color_of(one.place),
                style="dashed" if style == "line" and one.place % 2 else style,
            )
            for n, (one, _) in enumerate(drawn)
        ),
    )
    return figure, table


def _table(page_id: str, x_title: str, x_unit: float, drawn: _Drawn) -> Table:
    """A row for each place on x, a column for each set; a set that has nothing there has no value."""
    first = drawn[0][1]
    places: dict[tuple[float, int], dict[int, Cell]] = {}
    for number, (_, curve) in enumerate(drawn):
        for x, value in curve.points:
            again = next(n for n in count() if number not in places.get((x, n), {}))
            places.setdefault((x, again), {})[number] = curve.cell(value)
    return rows_table(
        f"{page_id}-values",
        f"Values plotted: {first.values}",
        (Column(x_title), *(Column(one.name) for one, _ in drawn)),
        (
            (
                cells.number(x / x_unit, first.along.decimals),
                *(found.get(number, cells.none()) for number in range(len(drawn))),
            )
            for (x, _), found in sorted(places.items(), key=itemgetter(0))
        ),
        printed=sum(len(found) for found in places.values()) <= _PRINTED_VALUES,
    )


_MARGIN = 0.06
_NARROW_PX = 190  # for names beside each other in a plot of 240 px
_SPAN_FOR_LOG = 10
# Names of key values beside each other below a plot, and the air between two of them.
_AXIS_PX = 510
_BETWEEN_PX = 10
_HEIGHT_OF_SEVERAL_PX = 240
_TIMES_AS_FAR = 5
_LEAST_REACH_PCT = 10
_CUT = (
    "At the edge of a plot, with its value: what is so far from the other key values that these would all be "
    "on one line."
)


_BETTER: Final = {Better.HIGHER: ", more is better", Better.LOWER: ", less is better", Better.UNJUDGED: ""}


def bars_of(metric: ComparedMetric, number: int) -> tuple[Figure, Table]:
    """A bar for each set at its median, with the range of its runs; of one run, its expanded uncertainty."""
    rows = [(one.contender.name, one.median, *_interval(one)) for one in metric.sets if one.median]
    values = [cell.value or 0.0 for _, median, *ends in rows for cell in (median.cell, *ends)]
    table = rows_table(
        f"compare-bars-{number}-values",
        f"Values plotted: {metric.title}",
        "Drive or label:< | Median | From | To",
        ((name, Cell(median.text, median.value), *ends) for name, median, *ends in rows),
        note="From the least to the largest run; of one run, by its expanded uncertainty (95 %).",
    )
    labels = [name for name, *_ in rows]
    spread = any(low.value is not None for _, _, low, _ in rows)
    figure = Figure(
        id=f"compare-bars-{number}",
        number=f"Plot X-COMPARE-{number}",
        title=metric.name,
        kind="bars",
        table_id=table.id,
        x=labels_axis("Drive or label", labels),
        y=ticks.linear_axis(f"{metric.unit}{_BETTER[metric.better]}", 0, 1.08 * max(values)),
        alt=f"{metric.title}: {', '.join(f'{name} {median.text}' for name, median, *_ in rows)}.",
        series=(
            Series("Median", "column", (0,), color_of(0), style="bars"),
            *([Series("Interval", "column", (1, 2), color_of(1), style="range")] if spread else ()),
        ),
        width_px=240 if len(labels) * max(map(text_width_px, labels)) < _NARROW_PX else WIDTH_PX,
        height_px=230,
    )
    return figure, table


def _interval(one: SetValue) -> tuple[Cell, Cell]:
    reach = (one.median.expanded_uncertainty if one.median else None) or 0.0
    if one.runs is None or (one.runs.count == 1 and not reach):
        return Cell("-"), Cell("-")
    more = reach if one.runs.count == 1 else 0.0
    low, high = (Cell(f"{end:,.4g}", end) for end in (one.runs.low - more, one.runs.high + more))
    return low, high


def dots_blocks(test: ComparedTest, metrics: tuple[ComparedMetric, ...]) -> tuple[Block, ...]:
    """The figure with its table, of the key values that a set has; a sentence where there is none."""
    metrics = tuple(metric for metric in metrics if _reference(metric))
    if not metrics:
        return (Verdict(f"{test.title}: no key value to plot.", "fail"),)
    table, series = _table_and_series(test, metrics)
    groups = _groups(metrics)
    figures = [
        _figure(test, [metrics[place] for place in group], table, _series_of(series, group), letter)
        for group, letter in zip(groups, _letters(len(groups)), strict=True)
    ]
    cut = [figure for figure in figures if _is_cut(figure, table)]
    remark = (Verdict(_CUT),) if cut else ()
    return (*figures, *remark, table)


def _groups(metrics: Sequence[ComparedMetric]) -> list[list[int]]:
    """The places of the key values, as many of one better side as have room for their names on an axis."""
    groups: list[list[int]] = []
    for place in sorted(range(len(metrics)), key=lambda place: list(Better).index(metrics[place].better)):
        together = [metrics[other] for other in (*(groups[-1] if groups else ()), place)]
        if groups and together[0].better is together[-1].better and _fit([one.name for one in together]):
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _fit(names: list[str]) -> bool:
    _, labels = _short_names(names)
    return len(labels) * (_BETWEEN_PX + max(map(text_width_px, labels))) <= _AXIS_PX


def _letters(count: int) -> list[str]:
    """Suffixes of plot numbers, ``a`` ... ``z``, ``aa`` ...; none for a single plot."""
    return [f"{chr(ord('a') + n % 26) * (n // 26 + 1)}" for n in range(count)] if count > 1 else [""]


def _series_of(series: tuple[Series, ...], group: list[int]) -> tuple[Series, ...]:
    return tuple(structs.replace(one, lines=tuple(one.lines[place] for place in group)) for one in series)


def _values(table: Table, series: tuple[Series, ...]) -> list[list[float]]:
    return [
        [cell.value for line in lines for cell in table.rows[line].cells if cell.value is not None]
        for lines in zip(*(one.lines for one in series), strict=True)
    ]


def _is_cut(figure: Figure, table: Table) -> bool:
    low, high = figure.y.domain
    return any(not low <= value <= high for of_key in _values(table, figure.series) for value in of_key)


def _figure(
    test: ComparedTest,
    metrics: Sequence[ComparedMetric],
    table: Table,
    series: tuple[Series, ...],
    letter: str,
) -> Figure:
    by_key = _values(table, series)
    values = [value for of_key in by_key for value in of_key]
    prefix, labels = _short_names([metric.name for metric in metrics])
    whose = test.base or test.contenders[0]
    title = f"{test.title}: each run in % of the median of {whose.name}"
    return Figure(
        id=f"compare-{test.test}-dots{f'-{letter}' if letter else ''}",
        number=f"Plot X-COMPARE-{test.test.upper()}-1{letter}",
        title=title,
        kind="strip",
        table_id=table.id,
        x=labels_axis(f"Key value{f' ({prefix})' if prefix else ''}", labels),
        y=_axis(f"% of the median of {whose.name}{_BETTER[metrics[0].better]}", by_key),
        alt=f"{title}: {len(values)} values, from {cells.fixed(min(values), 1)} to "
        f"{cells.fixed(max(values), 1)} %.",
        series=series,
        rules=(PlotRule("base", 100, "average"),),
        height_px=_HEIGHT_OF_SEVERAL_PX if letter else HEIGHT_PX,
    )


def _near(by_key: list[list[float]]) -> list[float]:
    """The values without those of key values so far from 100 % that all others would be a flat line.

    These are half of them at most, each several times as far as the next nearer one.
    """
    by_reach = sorted(by_key, key=_reach)
    kept = len(by_reach)
    while kept > 1 and 2 * (kept - 1) >= len(by_reach):
        if _reach(by_reach[kept - 1]) <= _TIMES_AS_FAR * max(_reach(by_reach[kept - 2]), _LEAST_REACH_PCT):
            break
        kept -= 1
    return [value for of_key in by_reach[:kept] for value in of_key]


def _reach(values: list[float]) -> float:
    return max((abs(value - 100) for value in values), default=0.0)


def _axis(title: str, by_key: list[list[float]]) -> Axis:
    values = _near(by_key)
    low, high = min(*values, 100.0), max(*values, 100.0)
    if low > 0 and high > _SPAN_FOR_LOG * low:
        return ticks.log_axis(title, (low, high))
    margin = max(_MARGIN * (high - low), 0.5)
    return ticks.linear_axis(title, low - margin, high + margin)


def _short_names(names: list[str]) -> tuple[str, tuple[str, ...]]:
    """The words that all names begin with, and what is left of each."""
    words = [name.split(" ") for name in names]
    alike = list(takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False)))
    count = min(len(alike), *(len(each) - 1 for each in words)) if len(names) > 1 else 0
    return " ".join(words[0][:count]).rstrip(",:"), tuple(" ".join(each[count:]) for each in words)


def _table_and_series(
    test: ComparedTest, metrics: tuple[ComparedMetric, ...]
) -> tuple[Table, tuple[Series, ...]]:
    """A row for each key value of each set, its runs as columns; a series for each set, cold runs apart."""
    rows: list[Cells] = []
    series: list[Series] = []
    width = max((len(run.runs) for run in test.contenders), default=1)
    for number, contender in enumerate(test.contenders):
        for cold in (False, True):
            if not (contender.cold if cold else contender.warm):
                continue
            name = f"{contender.name}, cold" if cold else contender.name
            lines = tuple(range(len(rows), len(rows) + len(metrics)))
            place = len(test.contenders) + number if cold else number
            series.append(Series(name, "row", lines, color_of(place), style="points"))
            own = contender.cold if cold else contender.warm
            rows += [_row(metric, own, name, width) for metric in metrics]
    table = rows_table(
        f"compare-{test.test}-runs",
        f"{test.title}: the runs one by one, in % of the median of {(test.base or test.contenders[0]).name}",
        " | ".join(["Key value and set:<2.2", *(f"Run {number}" for number in range(1, width + 1))]),
        rows,
        group="Run",
        note="Below each share: the value itself.",
    )
    return table, tuple(series)


def _row(metric: ComparedMetric, runs: tuple[ComparedRun, ...], name: str, width: int) -> Cells:
    reference = _reference(metric)
    found = [_cell(run.key_value(metric.key), reference) for run in runs]
    return (f"{metric.title} - {name}", *found, *["-"] * (width - len(found)))


def _reference(metric: ComparedMetric) -> float | None:
    """What 100 % is: the base's median, or the first there is; None if it is not above 0."""
    sets = [metric.base] if metric.base else [one.runs for one in metric.sets if one.runs]
    return sets[0].median if sets and sets[0].median > 0 else None


def _cell(value: Measured | None, reference: float | None) -> Cell:
    if value is None or value.comparable is None:
        return cells.missing("not measured" if value is None else value.note)
    if reference is None:
        return Cell("n/a", note=value.text, tone="missing")
    share = 100 * value.comparable / reference
    note = f"{value.text}; {value.state}" if value.state else value.text
    return Cell(cells.fixed(share, 1), share, note)
