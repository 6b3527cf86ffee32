"""What is asked of an index: runs that a filter selects, what to choose from, a measure over time."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, Self, get_args

import msgspec
from msgspec import Struct, structs

from openpts.errors import UsageError
from openpts_web.documents import RunSelection, RunSummary, is_in_progress
from openpts_web.index import Index
from openpts_web.trends import Trend, TrendPoint, control_chart

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
    """One page of the runs that a filter selects."""
    where, values = filtered.where()
    count = index.rows(f"SELECT count(*) FROM run WHERE {where}", values)[0][0]  # noqa: S608 our words
    pages = max(1, -(-count // MOST_ON_A_PAGE))
    page = min(max(1, filtered.page), pages)
    way = "DESC" if filtered.order == "down" else "ASC"
    sql = f"""SELECT number FROM run WHERE {where}
        ORDER BY {filtered.sort} {way} NULLS LAST, started_at DESC, number LIMIT ? OFFSET ?"""  # noqa: S608 our words
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
