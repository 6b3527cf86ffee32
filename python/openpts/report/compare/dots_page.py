"""Every run of every set as a dot beside the base's median, and the values that the dots are drawn from."""

from itertools import takewhile

from openpts.pages import cells, ticks
from openpts.pages.measure import Measured
from openpts.pages.model import Axis, Block, Cell, Column, Figure, Row, Rule, Series, Table, Verdict
from openpts.report.compare.contenders import ComparedRun, ComparedTest
from openpts.report.compare.metrics import Metric
from openpts.report.compare.overlays import color_of

_MARGIN = 0.06
_SPAN_FOR_LOG = 10


def dots_blocks(test: ComparedTest, metrics: tuple[Metric, ...]) -> tuple[Block, ...]:
    """The figure with its table, of the key values that a set has; a sentence where there is none."""
    metrics = tuple(metric for metric in metrics if _reference(metric))
    if not metrics:
        return (Verdict(f"{test.title}: no key value to plot.", "fail"),)
    table, series = _table_and_series(test, metrics)
    return (_figure(test, metrics, table, series), table)


def _figure(
    test: ComparedTest, metrics: tuple[Metric, ...], table: Table, series: tuple[Series, ...]
) -> Figure:
    values = [cell.value for row in table.rows for cell in row.cells if cell.value is not None]
    prefix, labels = _short_names([metric.name for metric in metrics])
    whose = test.base or test.contenders[0]
    title = f"{test.title}: each run in % of the median of {whose.name}"
    return Figure(
        id=f"compare-{test.test}-dots",
        number=f"Plot X-COMPARE-{test.test.upper()}-1",
        title=title,
        kind="strip",
        table_id=table.id,
        x=Axis(f"Key value{f' ({prefix})' if prefix else ''}", "category", (0, len(labels)), (), labels),
        y=_axis(f"% of the median of {whose.name}", values),
        alt=f"{title}: {len(values)} values, from {cells.fixed(min(values), 1)} to "
        f"{cells.fixed(max(values), 1)} %.",
        series=series,
        rules=(Rule("base", 100, "average"),),
    )


def _axis(title: str, values: list[float]) -> Axis:
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
    return " ".join(words[0][:count]).strip(","), tuple(" ".join(each[count:]) for each in words)


def _table_and_series(test: ComparedTest, metrics: tuple[Metric, ...]) -> tuple[Table, tuple[Series, ...]]:
    """A row for each key value of each set, its runs as columns; a series for each set, cold runs apart."""
    rows: list[Row] = []
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
    table = Table(
        id=f"compare-{test.test}-runs",
        title=f"{test.title}: the runs one by one, in % of the median of "
        f"{(test.base or test.contenders[0]).name}",
        head=Column("Key value and set", align="left", width=2.2),
        columns=tuple(Column(f"Run {number}") for number in range(1, width + 1)),
        rows=tuple(rows),
        group="Run",
        note="Below each share: the value itself.",
    )
    return table, tuple(series)


def _row(metric: Metric, runs: tuple[ComparedRun, ...], name: str, width: int) -> Row:
    reference = _reference(metric)
    found = [_cell(run.value(metric.key), reference) for run in runs]
    blanks = [Cell("-")] * (width - len(found))
    return Row(Cell(f"{metric.title} - {name}"), (*found, *blanks))


def _reference(metric: Metric) -> float | None:
    """What 100 % is: the base's median, or the first there is; None if it is not above 0."""
    sets = [metric.base] if metric.base else [one.runs for one in metric.sets if one.runs]
    return sets[0].median if sets and sets[0].median > 0 else None


def _cell(value: Measured | None, reference: float | None) -> Cell:
    if value is None or value.value is None or value.stands_in:
        return cells.missing("not measured" if value is None else value.note)
    if reference is None:
        return Cell("n/a", note=value.text, tone="missing")
    share = 100 * value.value / reference
    note = f"{value.text}; {value.state}" if value.state else value.text
    return Cell(cells.fixed(share, 1), share, note)
