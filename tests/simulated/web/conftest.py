"""An archive of a real run, 299 that are like it and one of hostile texts, and the library made of it."""

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pyarrow import parquet

from openpts.procedures.registry import PROCEDURES
from openpts.record.frames import arrow_table
from openpts.runner.run import run_test
from openpts.vocabulary.people import People
from openpts_many.archive.add import add_runs
from openpts_many.archive.catalogue import CATALOGUE, catalogue_files
from openpts_many.archive.store import Store
from openpts_many.archive.tables import CATALOGUE_COLUMNS, parquet_bytes
from openpts_web.publish.write import BROWSER
from tests.simulated.killed_run import ordered
from tests.simulated.web.publishing import published
from tests.support.synthetic_run import HOSTILE

Row = dict[str, Any]
HOSTILE_RUN = f"../{HOSTILE}"


@pytest.fixture(scope="session")
def lat_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    order = ordered("lat", tmp_path_factory.mktemp("run") / "run")
    return run_test(PROCEDURES["lat"], replace(order, people=People(labels={"lot": "7"})), []).folder


@pytest.fixture(scope="session")
def archive(lat_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real runs with their deviations, and entries like theirs."""
    place = tmp_path_factory.mktemp("archive") / "lab"
    store = Store.of(str(place))
    assert [added.error for added in add_runs(store, [lat_run], redact=False, replace=False)] == [None]
    [row] = [row for name in catalogue_files(store) for row in parquet.read_table(place / name).to_pylist()]
    enter(place, [like(row, number) for number in range(299)] + [hostile(row)])
    return place


@pytest.fixture(scope="session")
def library(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (BROWSER / "duckdb.wasm.gz").is_file():
        pytest.skip("DuckDB for browsers is not there: make browser")
    folder = tmp_path_factory.mktemp("library") / "site"
    published(archive, folder)
    return folder


def like(row: Row, number: int) -> Row:
    """Another run, with values of its own, of which some are missing."""
    values = [None if one is None else one * (1 + number / 1000) for one in row["measure_value"]]
    return row | {
        "run": f"{number:04}-made-up",
        "origin": f"{number:016}",
        "test": ("lat", "iops")[number % 2],
        "model": f"model {number % 7}",
        "firmware": None if number % 11 == 0 else f"FW{number % 3}",
        "serial": f"S{number // 3:04}",
        "labels": [("lot", str(number % 5)), ("a 'b' \"c\"", "é")] if number % 4 else [],
        "started_at": f"2026-{1 + number % 12:02}-{1 + number % 28:02}T00:00:{number % 60:02}+00:00",
        "measure_value": values,
        "file_table": [],
        "file_bytes": [],
        "file_sha256": [],
    }


def hostile(row: Row) -> Row:
    texts = {
        name: HOSTILE
        for name, kind in CATALOGUE_COLUMNS.items()
        if kind == "string" and name not in {"added_at", "archive_version", "folder"}
    }
    lists = {f"measure_{name}": [HOSTILE] * len(row["measure_key"]) for name in ("label", "unit", "note")}
    return like(row, 0) | texts | lists | {"run": HOSTILE_RUN, "labels": [(HOSTILE, HOSTILE)]}


def enter(place: Path, rows: list[Row]) -> None:
    content = parquet_bytes([arrow_table(CATALOGUE_COLUMNS, rows)])
    (place / CATALOGUE).mkdir(parents=True, exist_ok=True)
    (place / CATALOGUE / f"{hashlib.sha256(content).hexdigest()}.parquet").write_bytes(content)


def entries_of(place: Path) -> list[Row]:
    files = sorted((place / CATALOGUE).glob("*.parquet"))
    return [row for one in files for row in parquet.read_table(io.BytesIO(one.read_bytes())).to_pylist()]
