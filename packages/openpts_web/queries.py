"""What is asked of an index: runs that a filter selects, what to choose from, a measure over time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from statistics import mean
from typing import Any, Final, Literal, Self, get_args

import msgspec
from msgspec import Struct, structs

from openpts.errors import UsageError
from openpts.vocabulary.document import Document
from openpts_pages.cells import none
from openpts_pages.kit import rows_table, values_of
from openpts_pages.model import Cell, Column, Figure, Mark, Page, Report, Series, Verdict
from openpts_pages.ticks import around_axis, linear_axis, whole_axis
from openpts_web.documents import RunSelection, RunSummary, is_in_progress
from openpts_web.index import Index

LIMIT_FACTOR: Final = 2.66
FEWEST: Final = 3
"""Two values have one moving range, and limits that neither can pass."""

_MOST_MARKS: Final = 12
_LEAST_SHARE: Final = 0.02
_RULE: Final = (
    "Individuals chart: mean and 2.66 x mean moving range, of each group by itself; of fewer than three runs "
    "there are no limits. A run outside differs from the others by more than they do from each other: that "
    "says nothing of what a customer needs, which is a matter of the gate."
)
_LINES: Final = (
    ("", "measured"),
    (", mean", "line"),
    (", lower limit", "dashed"),
    (", upper limit", "dashed"),
)


class TrendPoint(Struct, frozen=True):
    """Value of a run. ``state``: why it is not of steady state; ``is_outside``: beyond a control limit."""

    id: str
    run: str
    started_at: str
    value: float
    group: str
    state: str = ""
    is_outside: bool = False


class ControlLimits(Struct, frozen=True):
    """Chart of a group; what needs more runs is None."""

    group: str
    runs: int
    mean: float
    mean_moving_range: float | None = None
    low: float | None = None
    high: float | None = None
    outside: int = 0

    @classmethod
    def of(cls, group: str, values: Sequence[float]) -> Self:
        """Limits of values in the order of their time."""
        center = mean(values)
        if len(values) < FEWEST:
            return cls(group, len(values), center)
        moving = mean(abs(after - before) for before, after in pairwise(values))
        low, high = center - LIMIT_FACTOR * moving, center + LIMIT_FACTOR * moving
        return cls(
            group, len(values), center, moving, low, high, sum(not low <= one <= high for one in values)
        )

    def holds(self, value: float) -> bool:
        """Whether a value is within the limits; any is where there are none."""
        return self.low is None or self.high is None or self.low <= value <= self.high


class Trend(Document, frozen=True, kw_only=True, tag="openpts.web-trend/1"):
    """A measure over runs, which were made under so many different ``conditions``."""

    test: str
    key: str
    label: str
    unit: str
    by: str
    conditions: int
    limits: tuple[ControlLimits, ...]
    points: tuple[TrendPoint, ...]


def control_chart(points: Sequence[TrendPoint]) -> dict[str, Any]:
    """The limits of each group, in the order of its first run, and the points, those outside marked."""
    groups: dict[str, list[float]] = {}
    for one in points:
        groups.setdefault(one.group, []).append(one.value)
    limits = {group: ControlLimits.of(group, values) for group, values in groups.items()}
    marked = (structs.replace(one, is_outside=not limits[one.group].holds(one.value)) for one in points)
    return {"limits": tuple(limits.values()), "points": tuple(marked)}


def trend_report(trend: Trend) -> Report:
    """The chart with its values as pages have them."""
    name = f"{trend.label} ({trend.unit})" if trend.unit else trend.label
    limits = {one.group: one for one in trend.limits}
    values = rows_table(
        "trend-values",
        f"{len(trend.points)} runs",
        ("Run:<2", *(Column(f"{group or name}{word}") for group in limits for word, _ in _LINES)),
        (
            (Cell(f"{one.run} {one.started_at[:10]}", number), *_cells_of(one, limits.values()))
            for number, one in enumerate(trend.points, start=1)
        ),
        printed=False,
    )
    low, high = min(values_of(values)), max(values_of(values))
    alt = f"{name} of {len(trend.points)} runs in {len(limits)} groups, with control limits"
    chart = Figure(
        id="trend", number="", title=name, kind="lines", table_id=values.id, alt=alt,
        x=whole_axis("Runs in the order of their time", 1, len(trend.points)),
        y=linear_axis(name, low, high) if low < high else around_axis(name, low, _LEAST_SHARE, (low,)),
        series=tuple(
            Series(group or name if style == "measured" else "", "column", (4 * place + line,), place, style)
            for place, group in enumerate(limits)
            for line, (_, style) in enumerate(_LINES)
        ),
        marks=tuple(
            Mark("outside", number, one.value) for number, one in enumerate(trend.points, 1) if one.is_outside
        )[:_MOST_MARKS],
        width_px=1000,
    )  # fmt: skip
    found = rows_table(
        "trend-limits",
        "Control limits",
        "Group:<2 | Runs | Mean | Mean moving range | Lower limit | Upper limit | Outside",
        (
            (one.group or "all runs", Cell(f"{one.runs}"), *map(_number, structs.astuple(one)[2:6]),
             Cell(f"{one.outside}", tone="fail" if one.outside else ""))
            for one in trend.limits
        ),
        note=_RULE,
    )  # fmt: skip
    doubt = f"These runs were made under {trend.conditions} different conditions: that may be what is shown."
    doubts = (Verdict(doubt, "fail"),) if trend.conditions > 1 else ()
    page = Page("trend-page", name, (*doubts, chart, found, values))
    return Report(title=name, subtitle=trend.test, run_name="", footer="", front=(page,))


def _cells_of(one: TrendPoint, limits: Iterable[ControlLimits]) -> Iterable[Cell]:
    """Value and limits of a point in the columns of its group, nothing in those of others."""
    for group in limits:
        if group.group != one.group:
            yield from [none()] * len(_LINES)
            continue
        note = "; ".join(word for word in ("outside" if one.is_outside else "", one.state) if word)
        yield structs.replace(_number(one.value), note=note, tone="fail" if one.is_outside else "")
        yield from map(_number, (group.mean, group.low, group.high))


def _number(value: float | None) -> Cell:
    return none() if value is None else Cell(f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}", value)


MOST_ON_A_PAGE: Final = 100
_LONGEST_WORDS: Final = 200
_MOST_CHOICES: Final = 500
_EQUAL: Final = ("test", "model", "serial", "firmware", "state", "verdict")

Sort = Literal["started_at", "run", "test", "model", "serial", "firmware", "state", "verdict", "deviations"]


class Filter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which runs, in which order; an empty text selects all. ``label`` is ``NAME=VALUE``.

    ``q`` are words, or beginnings of words, anywhere in a run; ``since`` and ``until`` are dates, UTC.
    """

    q: str = ""
    test: str = ""
    model: str = ""
    serial: str = ""
    firmware: str = ""
    state: str = ""
    verdict: str = ""
    label: str = ""
    since: str = ""
    until: str = ""
    sort: Sort = "started_at"
    order: Literal["up", "down"] = "down"
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """The filter that an address asks for. Raises UsageError for what makes no sense."""
        try:
            return msgspec.convert(dict(given), cls, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"can't filter so: {error}; sort is one of {', '.join(get_args(Sort))}"
            ) from error

    def with_(self, **others: Any) -> dict[str, str]:
        """The words of an address that asks for this, with some of it changed; what is usual is left out."""
        usual, changed = structs.asdict(type(self)()), structs.asdict(self) | {"page": 1} | others
        return {name: str(value) for name, value in changed.items() if value != usual[name]}

    @property
    def narrowed(self) -> int:
        """How many parts of it, but words and order, leave runs out."""
        return sum(bool(getattr(self, name)) for name in (*_EQUAL, "label", "since", "until"))

    def sorted_by(self, name: str) -> dict[str, str]:
        """The same by another column, or by the same one the other way round."""
        return self.with_(sort=name, order="up" if (self.sort, self.order) == (name, "down") else "down")

    def where(self) -> tuple[str, list[str]]:
        """A condition of SQL on the table of runs, and the values in it."""
        name, _, value = self.label.partition("=")
        words = " ".join(f'"{word}"*' for word in self.q[:_LONGEST_WORDS].replace('"', " ").split())
        asked = {f"{one} = ?": [getattr(self, one)] for one in _EQUAL} | {
            "started_at >= ?": [self.since],
            "started_at != '' AND substr(started_at, 1, length(?)) <= ?": [self.until, self.until],
            "number IN (SELECT number FROM label WHERE name = ? AND value = ?)": [name, value],
            "number IN (SELECT rowid FROM words WHERE words MATCH ?)": [words],
        }
        given = {part: values for part, values in asked.items() if values[0]}
        return " AND ".join(given) or "1", [one for values in given.values() for one in values]


def run_list(index: Index, filtered: Filter) -> RunSelection:
    """One page of the runs that a filter selects; the tests of a suite are together, in their order."""
    where, values = filtered.where()
    count = index.rows(f"SELECT count(*) FROM run WHERE {where}", values)[0][0]  # noqa: S608 our words
    pages = max(1, -(-count // MOST_ON_A_PAGE))
    page = min(max(1, filtered.page), pages)
    way = "DESC" if filtered.order == "down" else "ASC"
    last = "max" if filtered.order == "down" else "min"
    sql = f"""SELECT number FROM run WHERE {where}
        WINDOW together AS (PARTITION BY coalesce(nullif(suite, ''), id))
        ORDER BY {last}({filtered.sort}) OVER together {way} NULLS LAST, max(started_at) OVER together DESC,
        min(number) OVER together, started_at, number LIMIT ? OFFSET ?"""  # noqa: S608 our words
    numbers = [one for (one,) in index.rows(sql, [*values, MOST_ON_A_PAGE, (page - 1) * MOST_ON_A_PAGE])]
    marks = ", ".join("?" * len(numbers))
    found = dict(index.rows(f"SELECT number, summary FROM content WHERE number IN ({marks})", numbers))  # noqa: S608
    rows = [(found[number],) for number in numbers if number in found]
    shown = tuple(
        structs.replace(one, in_progress=is_in_progress(folder))
        if one.state == "running" and (folder := index.folder(one.id))
        else one
        for one in _summaries(rows)
    )
    return RunSelection(count=count, page=page, pages=pages, unread=index.unread, runs=shown)


def grouped(runs: Iterable[RunSummary]) -> list[list[RunSummary]]:
    """The rows of a list: a run, or those of the tests of one suite."""
    return [list(row) for _, row in groupby(runs, key=lambda one: one.suite or one.id)]


def _summaries(rows: Iterable[tuple[Any, ...]]) -> Iterator[RunSummary]:
    return (msgspec.json.decode(row[0], type=RunSummary) for row in rows)


def choices(index: Index) -> dict[str, list[str]]:
    """All tests, models, firmware, states, labels as ``NAME=VALUE``, and names of labels."""
    shown = (name for name in _EQUAL if name != "serial")
    asked = {one: f"SELECT DISTINCT {one} FROM run WHERE {one} != ''" for one in shown}  # noqa: S608 our names
    asked["labels"] = "SELECT DISTINCT name || '=' || value FROM label"
    asked["label_names"] = "SELECT DISTINCT name FROM label"
    limit = f"ORDER BY 1 LIMIT {_MOST_CHOICES}"
    return {name: [one for (one,) in index.rows(f"{sql} {limit}")] for name, sql in asked.items()}


def measures(index: Index) -> dict[str, list[tuple[str, str, str]]]:
    """Key, label and unit of all measures, by test."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    sql = "SELECT test, key, label, unit FROM measure_name ORDER BY test, rowid"
    for test, key, label, unit in index.rows(sql):
        found.setdefault(test, []).append((key, label, unit))
    return found


def trend(index: Index, filtered: Filter, key: str, by: str) -> Trend:
    """A measure of the selected runs that are complete, from the earliest on; each group has its own limits.

    A run that is in two folders counts once. Raises UsageError for a measure that none has.
    """
    where, values = filtered.where()
    sql = f"""SELECT summary, measure.value, measure.state, measure.label, measure.unit
        FROM (SELECT * FROM run WHERE {where} AND state = 'complete') AS run
        JOIN measure USING (number) JOIN content USING (number) WHERE measure.key = ?
        ORDER BY run.started_at, run.number"""  # noqa: S608 our words
    rows = index.rows(sql, [*values, key])
    if not rows:
        raise UsageError(
            f"no complete run of this choice has the measure {key}: choose another, or filter less"
        )
    runs = {(one.run, one.started_at): (one, row) for one, row in zip(_summaries(rows), rows, strict=True)}
    points = [
        TrendPoint(one.id, one.run, one.started_at, value, _group(one, by), state)
        for one, (_, value, state, *_) in runs.values()
    ]
    conditions = len({one.conditions_sha256 for one, _ in runs.values() if one.conditions_sha256})
    named = {"test": filtered.test, "key": key, "label": rows[0][3], "unit": rows[0][4], "by": by}
    return Trend(**named, conditions=conditions, **control_chart(points))


def _group(one: RunSummary, by: str) -> str:
    if by.startswith("label."):
        return one.labels.get(by.removeprefix("label."), "without the label")
    return str(getattr(one, by, None) or "not known") if by else ""
