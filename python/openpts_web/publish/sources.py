"""What a library is made of: archives and libraries that were published before, each run once.

A library is a function of the runs that are in it: not of their order, nor of how often one was added.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.report.arrow_files import MEASURE_COLUMNS
from openpts.run_folder_files import read_file
from openpts_many.archive.catalogue import existing
from openpts_many.archive.engine import Engine
from openpts_many.archive.store import Store, missing_packages
from openpts_many.archive.tables import RUN_VIEW, columns_of_archive

if TYPE_CHECKING:
    import pyarrow

ABOUT: Final = "library.json"
FORMAT: Final = "openpts.library"
VERSION: Final = "1.0"
RUNS: Final = "data/runs.parquet"
DEVIATIONS: Final = "data/deviations.parquet"

_RUN: Final = ", ".join((*RUN_VIEW, "origin", "content"))  # which run it is, and which state of it
_ENTRY: Final = _RUN.replace("content", "content_sha256[:16] AS content")  # whole, it is half of a list
_LISTS: Final = ", ".join(f"unnest(measure_{name}) AS {name}" for name in MEASURE_COLUMNS)
_TABLES: Final = ("measures", "deviations")


class About(Struct, frozen=True):
    """What a library says of itself in ``library.json``; ``files`` are those that it was written with."""

    format: str
    version: str
    runs: int
    measures: tuple[str, ...]
    files: tuple[str, ...]


class Library(Struct, frozen=True):
    """Runs in the order of their begin; rows of ``measures`` and ``deviations`` in the order of the runs.

    ``reports`` are those of runs that have one, by the run's ID.
    """

    runs: "pyarrow.Table"
    measures: "pyarrow.Table"
    deviations: "pyarrow.Table"
    reports: dict[str, bytes]


def about(folder: Path) -> About | None:
    """What a published library says of itself; None if there is none. Raises RecordError."""
    if not (folder / ABOUT).is_file():
        return None
    with failing_as(RecordError, f"can't read {folder / ABOUT}"):
        found = msgspec.json.decode(read_file(folder, ABOUT), type=About)
    if found.format != FORMAT or found.version.split(".")[0] != VERSION.split(".")[0]:
        raise RecordError(
            f"{folder} is {found.format} of version {found.version}, and this openpts reads {FORMAT} of "
            f"version {VERSION}: use the openpts that made it"
        )
    return found


def read_source(place: str) -> Library:
    """A published library, or an archive. Raises UsageError for anything else, RecordError."""
    if "://" not in place and (published := about(Path(place))) is not None:
        return _published(Path(place), published)
    engine = Engine(existing(Store.of(place)), None)
    engine.open_table("deviations")
    measures = f"SELECT run, {_LISTS} FROM selected"  # noqa: S608 our names
    return Library(
        engine.table(f"SELECT {_ENTRY} FROM selected"),  # noqa: S608 our names
        engine.table(measures),
        engine.table(f"SELECT {', '.join(columns_of_archive()['deviations'])} FROM deviations"),  # noqa: S608 likewise
        {},
    )


def _published(folder: Path, published: About) -> Library:
    try:
        import pyarrow as arrow  # noqa: PLC0415 a package that only archives need
        from pyarrow import parquet  # noqa: PLC0415 as above
    except ImportError:
        raise missing_packages() from None

    def table(name: str) -> "pyarrow.Table":
        return parquet.read_table(io.BytesIO(read_file(folder, name)))

    broken = (arrow.ArrowException, OSError)
    remedy = "publish the archives that it was made of into a new folder"
    with failing_as(RecordError, f"can't read the library {folder}", remedy, of=broken):
        runs = table(RUNS)
        reports = zip(runs["run"].to_pylist(), runs["report"].to_pylist(), strict=True)
        return Library(
            runs.drop_columns("report"),
            arrow.concat_tables([table(name) for name in published.measures]),
            table(DEVIATIONS),
            {run: read_file(folder, name) for run, name in reports if name},
        )


def merged(sources: Sequence[Library]) -> Library:
    """All runs of the sources, each once: of a run in several states that which was added to an archive last.

    Raises RecordError where two runs have one ID.
    """
    import duckdb  # noqa: PLC0415 a package that only archives need

    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        for number, source in enumerate(sources):
            for name in ("runs", *_TABLES):
                connection.register(f"{name}_{number}", getattr(source, name))
        for name in ("runs", *_TABLES):
            each = (
                f"SELECT {number} AS source, row_number() OVER () AS place, * FROM {name}_{number}"  # noqa: S608 our names
                for number in range(len(sources))
            )
            connection.execute(f"CREATE TEMP TABLE every_{name} AS {' UNION ALL BY NAME '.join(each)}")
        strange = connection.execute(
            "SELECT run FROM every_runs GROUP BY run HAVING count(DISTINCT origin) > 1 ORDER BY run"
        ).fetchone()
        if strange:
            raise RecordError(
                f"can't merge: two runs have the ID {strange[0]}; IDs must be unique, see "
                "`openpts run --run-id`"
            )
        connection.execute(
            """CREATE TEMP TABLE kept AS SELECT *, row_number() OVER (ORDER BY started_at, run) AS nth
            FROM (SELECT *, row_number() OVER (
                    PARTITION BY run ORDER BY added_at DESC, content, source) AS age
                FROM every_runs) WHERE age = 1"""
        )
        tables = [connection.sql(f"SELECT {_RUN} FROM kept ORDER BY nth").to_arrow_table()]  # noqa: S608 our names
        for name in _TABLES:
            columns = ", ".join(f"of.{column}" for column in columns_of_archive()[name])
            tables.append(
                connection.sql(
                    f"""SELECT {columns} FROM every_{name} AS of JOIN kept USING (run, source)
                    ORDER BY nth, of.place"""  # noqa: S608 our names
                ).to_arrow_table()
            )
    known = set(tables[0]["run"].to_pylist())
    reports: dict[str, bytes] = {}
    for source in sources:
        for run, content in source.reports.items():
            if run in known:
                reports[run] = max(content, reports.get(run, b""))  # of two, the same whatever their order
    runs, measures, deviations = tables
    return Library(runs, measures, deviations, dict(sorted(reports.items())))
