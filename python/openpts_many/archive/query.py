"""Ready-made questions to an archive: which runs it has, a measure over them, percentiles of all together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

import msgspec
from msgspec import Struct

from openpts.did_you_mean import nearest_word
from openpts.errors import UsageError
from openpts.runs.measured_run import test_named
from openpts.runs.reference import Tokens, percentile_name, tokens_of
from openpts.units import NS_PER_MS
from openpts.vocabulary.document import Document
from openpts_many.archive.distributions import STEP_BUCKETS_PER_OCTAVE, distribution_of, error_bound_pct
from openpts_many.archive.engine import Engine
from openpts_many.archive.tables import LATENCIES, RUN_VIEW

_LABEL: Final = "label."
_FIELDS: Final = f"use {', '.join(RUN_VIEW)} or {_LABEL}NAME"
_SHOWN: Final = ("run", "test", "model", "serial", "firmware", "started_at", "state", "steady", "conformant")
_OF_EACH_RUN: Final = ("run", "model", "serial", "firmware", "measure", "unit", "value", "state")
_OVER_RUNS: Final = {
    "runs": "count(*)",
    "mean": "avg(value)",
    "std": "stddev_samp(value)",
    "min": "min(value)",
    "median": "median(value)",
    "max": "max(value)",
}
_ONE_MEASURE: Final = """
SELECT *, measure_unit[place] AS unit, measure_value[place] AS value, measure_state[place] AS of_state,
       concat_ws('.', test, measure_key[place]) AS measure
FROM (SELECT *, list_position(measure_key, ?) AS place FROM selected WHERE test = ?)
WHERE place > 0 AND NOT measure_stands_in[place]
"""
_PARTS: Final = f"""(
    SELECT counted.run, team, part, counted.ios, latency_sum_ns, latency_max_ns, bucket_highest_ns, bucket_ios
    FROM (SELECT *, unnest(subjects) AS subject FROM {LATENCIES}
          WHERE list_has_any(subjects, (SELECT list(subject) FROM chosen))) AS counted
    JOIN teams ON counted.run = run_ JOIN chosen USING (test_, subject)
)"""  # noqa: S608 our names
_MOST_NAMES: Final = 12


class QueryResult(Struct, frozen=True):
    """Rows below their columns. ``error_bound_pct`` is that of percentiles; None where there are none."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    error_bound_pct: float | None = None


class ArchiveAnswer(Document, frozen=True, kw_only=True, tag="openpts.archive-query/1"):
    """The rows of an answer, each by its columns; ``error_bound_pct`` as of ``Answer``."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    error_bound_pct: float | None

    @classmethod
    def by(cls, answer: QueryResult) -> Self:
        """The answer with times, and what else JSON does not have, as text."""
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        plain = tuple(msgspec.to_builtins(rows, enc_hook=str))
        return cls(columns=answer.columns, rows=plain, error_bound_pct=answer.error_bound_pct)


def asked(
    engine: Engine, measures: Sequence[str], percentiles: Sequence[float], by: Sequence[str]
) -> QueryResult:
    """The answer to what options ask: percentiles, else measures, else the runs.

    Raises UsageError for a measure or a field that no selected run has.
    """
    fields = {name: _field(name, engine) for name in by}
    if percentiles:
        return _percentiles(engine, measures, percentiles, fields)
    if measures:
        return _measures(engine, measures, fields)
    if not fields:
        rows = engine.rows(f"SELECT {', '.join(_SHOWN)} FROM runs ORDER BY started_at, run")  # noqa: S608 our names
        return QueryResult(_SHOWN, tuple(rows))
    rows = engine.rows(f"SELECT {_aliased(fields)} count(*) FROM runs GROUP BY ALL ORDER BY ALL")  # noqa: S608 our names
    return QueryResult((*fields, "runs"), tuple(rows))


def _field(name: str, engine: Engine) -> str:
    """A field of ``--by`` in SQL."""
    if name.startswith(_LABEL):
        known = [
            key for (key,) in engine.rows("SELECT DISTINCT unnest(map_keys(labels)) FROM selected ORDER BY 1")
        ]
        if (label := name.removeprefix(_LABEL)) not in known:
            raise UsageError(f"--by: no selected run has the label {label!r}; {_some_of(known)}")
        quoted = label.replace("'", "''")
        return f"labels['{quoted}']"
    if name in RUN_VIEW:
        return name
    near = nearest_word(name, RUN_VIEW)
    hint = f"did you mean {near}, or {_LABEL}{name}?" if near else _FIELDS
    raise UsageError(f"--by: runs have no field {name!r}; {hint}")


def _measures(engine: Engine, wanted: Sequence[str], fields: Mapping[str, str]) -> QueryResult:
    """Each run's values, or with ``--by`` their spread over the runs of a group.

    A maximum that stands in for a percentile is no value of it.
    """
    chosen = _chosen(wanted, _pairs(engine, "measure_key"))
    values = f"({' UNION ALL '.join([_ONE_MEASURE] * len(chosen))}) WHERE value IS NOT NULL"
    if fields:
        figures = ", ".join(_OVER_RUNS.values())
        sql = f"SELECT {_aliased(fields)} measure, unit, {figures} FROM {values} GROUP BY ALL ORDER BY ALL"  # noqa: S608 our names
        columns: tuple[str, ...] = (*fields, "measure", "unit", *_OVER_RUNS)
    else:
        who = ", ".join(_OF_EACH_RUN[:-1])
        sql = f"SELECT {who}, of_state FROM {values} ORDER BY measure, started_at, run"  # noqa: S608 our names
        columns = _OF_EACH_RUN
    return QueryResult(
        columns, tuple(engine.rows(sql, [word for test, key in chosen for word in (key, test)]))
    )


def _percentiles(
    engine: Engine, wanted: Sequence[str], percentiles: Sequence[float], fields: Mapping[str, str]
) -> QueryResult:
    """Of the I/Os of all runs of a group together: their distributions are merged."""
    subjects = _pairs(engine, "subjects")
    chosen = _chosen(wanted, subjects) if wanted else subjects
    groups = _groups(engine, chosen, fields)
    engine.open_table(LATENCIES)
    totals = engine.rows(
        f"""SELECT team, part, count(DISTINCT run), sum(ios), sum(latency_sum_ns), max(latency_max_ns)
        FROM {_PARTS} GROUP BY ALL"""  # noqa: S608 our names
    )
    buckets: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for team, part, highest_ns, ios in engine.rows(
        f"""SELECT team, part, highest_ns, sum(bucket) FROM (SELECT team, part,
            unnest(bucket_highest_ns) AS highest_ns, unnest(bucket_ios) AS bucket FROM {_PARTS})
        GROUP BY ALL"""  # noqa: S608 our names
    ):
        buckets[team, part].append((highest_ns, int(ios)))
    names = [f"{percentile_name(one)}_ms" for one in percentiles]
    return QueryResult(
        (*fields, "measure", "runs", "ios", "mean_ms", *names, "max_ms", "note"),
        tuple(
            (*groups[team], ".".join(chosen[part]), *_stated(figures, buckets[team, part], percentiles))
            for team, part, *figures in sorted(totals)
        ),
        error_bound_pct(STEP_BUCKETS_PER_OCTAVE),
    )


def _groups(
    engine: Engine, chosen: Sequence[tuple[str, str]], fields: Mapping[str, str]
) -> dict[int, tuple[Any, ...]]:
    """The fields of each group by its number. Numbers stand for groups and measures in what is merged: there
    are hundreds of millions of buckets.
    """
    names = _quoted(fields)
    order = ", ".join(names) or "true"
    engine.rows(
        f"""CREATE TEMP TABLE teams AS SELECT *, dense_rank() OVER (ORDER BY {order}) AS team
        FROM (SELECT {_aliased(fields)} run AS run_, test AS test_ FROM runs)"""  # noqa: S608 our names
    )
    engine.rows("CREATE TEMP TABLE chosen (test_ TEXT, subject TEXT, part BIGINT)")
    for part, pair in enumerate(chosen):
        engine.rows("INSERT INTO chosen VALUES (?, ?, ?)", [*pair, part])
    found = engine.rows(f"SELECT DISTINCT {', '.join(['team', *names])} FROM teams")  # noqa: S608 our names
    return {team: tuple(values) for team, *values in found}


def _stated(
    figures: Sequence[Any], buckets: list[tuple[int, int]], percentiles: Sequence[float]
) -> tuple[Any, ...]:
    """A row of the answer; a percentile that the I/Os do not suffice for is null."""
    runs, ios, sum_ns, max_ns = figures
    distribution = distribution_of(buckets)
    stated: list[float | None] = []
    for one in percentiles:
        found_ns = distribution.percentile_ns(one) if distribution.supports(one) else None
        stated.append(None if found_ns is None else min(found_ns, max_ns) / NS_PER_MS)
    note = f"too few I/Os: {distribution.count:,}" if None in stated else None
    return (runs, int(ios), int(sum_ns) / int(ios) / NS_PER_MS, *stated, max_ns / NS_PER_MS, note)


def _pairs(engine: Engine, column: str) -> list[tuple[str, str]]:
    """Each test of the selected runs with each word of a list in their entries, in alphabetical order."""
    found = f"SELECT test, unnest({column}) AS word FROM selected"  # noqa: S608 our names
    return [(test, word) for test, word in engine.rows(f"SELECT DISTINCT * FROM ({found}) ORDER BY ALL")]  # noqa: S608 likewise


def _chosen(wanted: Sequence[str], known: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of test and key that words mean, in any order and spelling, with the test or without.

    Raises UsageError for words that mean none.
    """
    by_tokens: defaultdict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    for test, key in known:
        for name in (f"{test}.{key}", key):
            by_tokens[tokens_of(name)].append((test, key))
    return list(dict.fromkeys(pair for word in wanted for pair in _meant(word, by_tokens)))


def _meant(word: str, by_tokens: Mapping[Tokens, list[tuple[str, str]]]) -> list[tuple[str, str]]:
    tokens, test = tokens_of(word), test_named(word)
    if found := [pair for pair in by_tokens.get(tokens, ()) if test in {"", pair[0]}]:
        return found
    names = sorted({f"{of}.{key}" for pairs in by_tokens.values() for of, key in pairs}, key=len)
    like = [name for name in names if not Counter(tokens) - Counter(tokens_of(name))]
    near = like[0] if like else nearest_word(word, names)
    hint = f"did you mean {near}?" if near else _some_of(names)
    raise UsageError(f"the selected runs have no measure {word!r}; {hint}")


def _some_of(names: Sequence[str]) -> str:
    some = ", ".join(names[:_MOST_NAMES]) + (" ..." if len(names) > _MOST_NAMES else "")
    return f"they have {some}" if names else "there is none"


def _aliased(fields: Mapping[str, str]) -> str:
    names = zip(fields.values(), _quoted(fields), strict=True)
    return "".join(f"{field} AS {name}, " for field, name in names)


def _quoted(names: Iterable[str]) -> list[str]:
    return ['"' + name.replace('"', '""') + '"' for name in names]
