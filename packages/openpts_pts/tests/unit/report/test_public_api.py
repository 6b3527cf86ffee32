"""What notebooks use: the names that openpts exports, and a run as tables held against its database."""

import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import openpts
from openpts.errors import RecordError, UsageError
from openpts.record.frames import FRAMES
from openpts_pages.model import Table
from tests.support.frame_rows import as_rows
from tests.support.report_cases import Reports


@pytest.fixture(scope="module")
def folder(reports: Reports) -> Path:
    return reports.folder("steady")


@pytest.fixture(scope="module")
def run(folder: Path) -> openpts.Run:
    return openpts.read_run(folder)


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        yield connection


def rows(run: openpts.Run, name: str) -> list[dict[str, Any]]:
    return as_rows(run.frame(name))


def test_every_exported_name_is_there_and_described() -> None:
    for name in openpts.__all__:
        assert getattr(openpts, name).__doc__
    with pytest.raises(AttributeError, match="no_such_name"):
        openpts.no_such_name  # noqa: B018 the access is what is tested


def test_a_notebook_lists_the_names_that_are_exported_and_no_others() -> None:
    assert dir(openpts) == sorted(openpts.__all__)


@pytest.mark.parametrize("name", ["NoRecordError", "OpenptsError", "RecordError", "UsageError"])
def test_an_error_is_shown_by_the_name_by_which_it_is_caught(name) -> None:
    error = getattr(openpts, name)
    assert f"{error.__module__}.{error.__qualname__}" == f"openpts.{name}"
    with pytest.raises(error):
        raise pickle.loads(pickle.dumps(error("lost")))


def test_what_the_interface_raises_is_shown_by_an_exported_name(run, tmp_path) -> None:
    for raising in (
        lambda: openpts.read_run(tmp_path),
        lambda: openpts.compare([tmp_path]),
        lambda: openpts.compare([run.folder]),
        lambda: run.frame("step"),
    ):
        with pytest.raises(openpts.OpenptsError) as raised:
            raising()
        assert raised.type.__name__ in openpts.__all__
        assert raised.type.__module__ == "openpts"


def test_the_package_loads_nothing_before_it_is_asked() -> None:
    program = "import sys, openpts; print([name for name in sys.modules if name.startswith('openpts.')])"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_steps_are_those_of_the_database(run, database) -> None:
    wanted = database.execute(
        "SELECT cycle, part, number, position, state, started_ns, elapsed_ns, gap_ns, "
        "(SELECT sum(ios) FROM operation WHERE operation.step_id = step.step_id), "
        "(SELECT sum(bytes) FROM operation WHERE operation.step_id = step.step_id), "
        "(SELECT max(latency_max_ns) FROM operation WHERE operation.step_id = step.step_id) "
        "FROM step ORDER BY step_id"
    ).fetchall()
    names = ("cycle", "phase", "number", "position", "state", "started_ns", "elapsed_ns", "gap_ns")
    names += ("ios", "bytes", "max_latency_ns")
    found = rows(run, "steps")
    assert [tuple(row[name] for name in names) for row in found] == wanted
    for row in found:
        assert row["iops"] == pytest.approx(row["ios"] / row["elapsed_ns"] * 1e9)
        known = [row[name] for name in ("p50_ns", "p99_ns", "p99_9_ns") if row[name] is not None]
        assert known == sorted(known)
        assert (row["p99_9_ns"] is None) == (row["ios"] < 1000)


def test_intervals_and_operations_are_those_of_the_database(run, database) -> None:
    intervals = rows(run, "intervals")
    (count, elapsed_ns) = database.execute("SELECT count(*), sum(elapsed_ns) FROM interval").fetchone()
    (ios,) = database.execute("SELECT sum(ios) FROM interval_operation").fetchone()
    assert len(intervals) == count
    assert sum(row["elapsed_ns"] for row in intervals) == elapsed_ns
    assert sum(row["ios"] for row in intervals) == ios
    wanted = database.execute(
        "SELECT operation, ios, bytes, latency_sum_ns * 1.0 / ios, latency_min_ns, latency_max_ns "
        "FROM operation WHERE ios > 0"
    )
    names = ("operation", "ios", "bytes", "mean_latency_ns", "min_latency_ns", "max_latency_ns")
    found = [tuple(row[name] for name in names) for row in rows(run, "operations")]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(
    ("name", "query"),
    [("health", "SELECT name, value FROM health"), ("ledger", "SELECT rule_id, used FROM deviation")],
)
def test_other_frames_are_those_of_the_database(name, query, run, database) -> None:
    columns = query.removeprefix("SELECT ").split(" FROM ")[0].split(", ")
    wanted = database.execute(query).fetchall()
    assert sorted(tuple(row[column] for column in columns) for row in rows(run, name)) == sorted(wanted)


@pytest.mark.parametrize("name", FRAMES)
def test_an_empty_frame_has_its_columns(name, run) -> None:
    nothing = openpts.Run(run.folder, run.manifest, (), ())
    assert nothing.frame(name) == {column: [] for column in run.frame(name)}


def test_measures_are_those_of_the_report(run) -> None:
    found = {measured.key: measured for measured in openpts.measures(run)}
    report = openpts.build_report(run)
    cells = {cell.text for page in report.pages() for block in page.blocks for cell in _cells(block)}
    assert found
    assert {measured.cell.text for measured in found.values()} <= cells


def _cells(block: Any) -> list[Any]:
    return [cell for row in block.rows for cell in row.cells] if isinstance(block, Table) else []


def test_two_runs_are_compared(folder, tmp_path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "run.db").write_bytes((folder / "run.db").read_bytes())
    comparison = openpts.compare([folder, str(copy)], labels={str(folder): "old", str(copy): "new"})
    assert (comparison.names, len(comparison.runs)) == (("old", "new"), 2)


def test_what_cannot_be_done_says_what_can(run, tmp_path) -> None:
    with pytest.raises(UsageError, match="no frame 'step': use one of steps, intervals"):
        run.frame("step")
    with pytest.raises(RecordError):
        openpts.read_run(tmp_path)
