"""All tables of runs as Parquet files, one for each table, with the rows of all runs."""

import io
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from openpts.procedures.registry import procedure_of
from openpts.record.frames import FRAMES, arrow_table, types_of
from openpts.record.reader import Run
from openpts.runs.flat_rows import RUN_COLUMNS, run_row

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

RUN_NAME: Final = "run"
_FLOAT, _TEXT, _BOOL = "float64", "string", "bool"
_LABELS: Final = {"name": _TEXT, "value": _TEXT}
MEASURE_COLUMNS: Final = {
    "key": _TEXT,
    "label": _TEXT,
    "unit": _TEXT,
    "value": _FLOAT,
    "better": _TEXT,
    "note": _TEXT,
    "state": _TEXT,
    "stands_in": _BOOL,
    "is_key": _BOOL,
}


def columns_of_tables() -> dict[str, dict[str, str]]:
    """The columns of each table by its name, with Arrow's names of their types."""
    frames = {name: types_of(columns) for name, (columns, _) in FRAMES.items()}
    of_run = {"labels": _LABELS, "measures": MEASURE_COLUMNS, **frames}
    return {"runs": RUN_COLUMNS, **{name: {RUN_NAME: _TEXT, **columns} for name, columns in of_run.items()}}


def parquet_files(runs: Iterable[Run]) -> dict[str, bytes]:
    """``runs``, ``labels``, ``measures`` and the record's frames by the names of their files.

    Each row begins with the run that it is of. Raises UsageError without pyarrow.
    """
    files: dict[str, io.BytesIO] = {}
    with ExitStack() as stack:
        writers: dict[str, ParquetWriter] = {}
        for run in runs:
            for name, table in _tables(run):
                if name not in writers:
                    writers[name] = stack.enter_context(_writer(files.setdefault(name, io.BytesIO()), table))
                writers[name].write_table(table)
    return {f"{name}.parquet": file.getvalue() for name, file in files.items()}


def _writer(file: io.BytesIO, like: "pyarrow.Table") -> "ParquetWriter":
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 a package that only notebooks need

    return ParquetWriter(file, like.schema)


def _tables(run: Run) -> Iterator[tuple[str, "pyarrow.Table"]]:
    yield "runs", arrow_table(RUN_COLUMNS, [run_row(run)])
    labels = [{"name": name, "value": value} for name, value in run.manifest.people.labels.items()]
    yield "labels", with_run(run, arrow_table(_LABELS, labels))
    found = procedure_of(run.manifest.conditions.test).report(run).measures
    measures = [{name: getattr(one, name) for name in MEASURE_COLUMNS} for one in found]
    yield "measures", with_run(run, arrow_table(MEASURE_COLUMNS, measures))
    for name in FRAMES:
        yield name, with_run(run, run.frame(name))


def with_run(run: Run, table: "pyarrow.Table") -> "pyarrow.Table":
    """The table with the run's ID as its first column."""
    runs = arrow_table({RUN_NAME: _TEXT}, [{RUN_NAME: run.manifest.test_id}] * table.num_rows)
    return table.add_column(0, RUN_NAME, runs.column(0))
