"""What is asked of an index: runs that a filter selects, what there is to choose from, values in their order."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, Self, get_args

import msgspec
from msgspec import Struct, structs

from openpts.errors import UsageError
from openpts_web.documents import RunList, RunSummary, is_in_progress
from openpts_web.index import Index
from openpts_web.trends import Point, Trend, control_chart

MOST_ON_A_PAGE: Final = 100
_LONGEST_WORDS: Final = 200
_MOST_CHOICES: Final = 500

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
        """The filter that an address asks for. Raises UsageError for a word or a value that makes no sense."""
        try:
            return msgspec.convert(dict(given), cls, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"can't filter so: {error}; sort is one of {', '.join(get_args(Sort))}"
            ) from error

    def with_(self, **others: Any) -> dict[str, str]:
        """The words of an address that asks for this, but for what is changed; what is usual is left out."""
        usual = type(self)()
        changed = structs.asdict(structs.replace(self, **({"page": 1} | others)))
        return {name: str(value) for name, value in changed.items() if value != getattr(usual, name)}

    def sorted_by(self, name: str) -> dict[str, str]:
        """The same by another column, or by the same one the other way round."""
        turned = self.sort == name and self.order == "down"
        return self.with_(sort=name, order="up" if turned else "down")

    def where(self) -> tuple[str, list[str]]:
        """A condition of SQL on the table of runs, and the values in it."""
        parts: list[str] = []
        values: list[str] = []
        for name in ("test", "model", "serial", "firmware", "state", "verdict"):
            if value := getattr(self, name):
                parts.append(f"{name} = ?")
                values.append(value)
        if self.since:
            parts.append("started_at >= ?")
            values.append(self.since)
        if self.until:
            parts.append("substr(started_at, 1, ?) <= ?")
            values += [str(len(self.until)), self.until]
        if self.label:
            name, _, value = self.label.partition("=")
            parts.append("number IN (SELECT number FROM label WHERE name = ? AND value = ?)")
            values += [name.strip(), value.strip()]
        if words := self.q[:_LONGEST_WORDS].replace('"', " ").split():
            parts.append("number IN (SELECT rowid FROM words WHERE words MATCH ?)")
            values.append(" ".join(f'"{word}"*' for word in words))
        return " AND ".join(parts) or "1", values


class Choices(Struct, frozen=True):
    """What there is in a library to filter by."""

    test: tuple[str, ...]
    model: tuple[str, ...]
    firmware: tuple[str, ...]
    state: tuple[str, ...]
    labels: tuple[str, ...]


class MeasureName(Struct, frozen=True):
    """A measure that runs of a test have; ``runs`` have a value of it."""

    test: str
    key: str
    label: str
    unit: str
    runs: int


def run_list(index: Index, wanted: Filter) -> RunList:
    """One page of the runs that a filter selects; what is in progress is known as of now."""
    where, values = wanted.where()
    count = index.rows(f"SELECT count(*) FROM run WHERE {where}", values)[0][0]  # noqa: S608 our words
    pages = max(1, -(-count // MOST_ON_A_PAGE))
    page = min(max(1, wanted.page), pages)
    way = "DESC" if wanted.order == "down" else "ASC"
    sql = f"""SELECT summary FROM run WHERE {where}
        ORDER BY {wanted.sort} {way} NULLS LAST, started_at DESC, number LIMIT ? OFFSET ?"""  # noqa: S608 our words
    rows = index.rows(sql, [*values, MOST_ON_A_PAGE, (page - 1) * MOST_ON_A_PAGE])
    return RunList(count=count, page=page, pages=pages, unread=index.unread, runs=tuple(_summaries(rows)))


def _summaries(rows: Iterable[tuple[bytes]]) -> Iterable[RunSummary]:
    for (content,) in rows:
        yield msgspec.json.decode(content, type=RunSummary)


def in_progress(index: Index) -> tuple[RunSummary, ...]:
    """Runs on which a process works, the latest first."""
    rows = index.rows("SELECT summary FROM run WHERE state = 'running' ORDER BY started_at DESC")
    found = _summaries(rows)
    return tuple(one for one in found if (folder := index.folder(one.id)) and is_in_progress(folder))


def choices(index: Index) -> Choices:
    """All tests, models, firmware, states and labels."""
    found = {
        name: [value for (value,) in index.rows(f"SELECT DISTINCT {name} FROM run ORDER BY 1") if value]  # noqa: S608
        for name in ("test", "model", "firmware", "state")
    }
    labels = index.rows("SELECT DISTINCT name || '=' || value FROM label ORDER BY 1 LIMIT ?", [_MOST_CHOICES])
    kept = {name: tuple(values[:_MOST_CHOICES]) for name, values in found.items()}
    return Choices(**kept, labels=tuple(one for (one,) in labels))


def measure_names(index: Index) -> tuple[MeasureName, ...]:
    """All measures that runs have, by test."""
    sql = (
        "SELECT test, key, min(label), min(unit), count(*) FROM measure GROUP BY 1, 2 ORDER BY 1, min(rowid)"
    )
    return tuple(MeasureName(*row) for row in index.rows(sql))


def trend(index: Index, wanted: Filter, key: str, by: str) -> Trend:
    """A measure of the selected runs that are complete, from the earliest on; each group has its own limits.

    Raises UsageError for a measure that none of them has.
    """
    where, values = wanted.where()
    sql = f"""SELECT run.summary, measure.value, measure.state, measure.label, measure.unit
        FROM (SELECT * FROM run WHERE {where} AND state = 'complete') AS run JOIN measure USING (number)
        WHERE measure.key = ? ORDER BY run.started_at, run.number"""  # noqa: S608 our words
    rows = index.rows(sql, [*values, key])
    if not rows:
        raise UsageError(
            f"no complete run of this choice has the measure {key}: choose another, or fewer filters"
        )
    runs = list(_summaries((row[0],) for row in rows))
    points = [
        Point(one.id, one.run, one.started_at, value, _group(one, by), state)
        for one, (_, value, state, _, _) in zip(runs, rows, strict=True)
    ]
    limits, marked = control_chart(points)
    return Trend(
        test=wanted.test,
        key=key,
        label=rows[0][3],
        unit=rows[0][4],
        by=by,
        conditions=len({one.conditions_sha256 for one in runs if one.conditions_sha256}),
        limits=limits,
        points=marked,
    )


def _group(one: RunSummary, by: str) -> str:
    if by.startswith("label."):
        return one.labels.get(by.removeprefix("label."), "without the label")
    return str(getattr(one, by, None) or "not known") if by else ""
