"""A run folder is read without following a link in it: it may come from another lab."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.record.batch import read_batch, write_batch
from openpts.record.manifest import Attempt
from openpts.record.reader import read_manifest, read_run
from openpts.record.writer import DATABASE_NAME, RunWriter
from openpts.report.record_files import record_files
from openpts.report.sources import ReportSource
from openpts_batch.batch_index import write_batch_index
from openpts_compare.verification import read_report
from tests import DATA
from tests.support.batches import suite_entry, suite_of
from tests.support.made_up_run import telling_run
from tests.support.record_parts import manifest
from tests.support.report_cases import SIMULATION

SUITE = suite_of(suite_entry("iops", "1-iops"))


@pytest.fixture
def folder(tmp_path) -> Path:
    RunWriter.create(tmp_path / "run", manifest()).close()
    return tmp_path / "run"


@pytest.mark.parametrize("read", [read_run, read_manifest])
def test_a_linked_database_is_refused(folder, read) -> None:
    (folder / DATABASE_NAME).rename(folder.parent / "elsewhere")
    (folder / DATABASE_NAME).symlink_to("../elsewhere")
    with pytest.raises(RecordError, match=r"can't read .*run.db: run.db is a symbolic link"):
        read(folder)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_what_sqlite_opens_beside_the_database_is_no_link(folder, ending) -> None:
    """It would write to a shared memory of another's choice, and believe another's log."""
    victim = folder.parent / "precious"
    victim.write_bytes(b"precious")
    (folder / "run.db-wal").touch()
    (folder / f"run.db{ending}").unlink(missing_ok=True)
    (folder / f"run.db{ending}").symlink_to(victim)
    with pytest.raises(RecordError, match=rf"run.db{ending} is a symbolic link"):
        read_run(folder)
    assert victim.read_bytes() == b"precious"


def test_a_new_record_is_not_made_in_the_place_of_a_link(tmp_path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / DATABASE_NAME).symlink_to(tmp_path / "precious")
    with pytest.raises(RecordError, match="is not empty"):
        RunWriter.create(tmp_path / "run", manifest())
    with pytest.raises(RecordError, match=r"can't create the run folder .*: File exists"):
        RunWriter.create(tmp_path / "run", manifest(), expected=DATABASE_NAME)
    assert not (tmp_path / "precious").exists()


@pytest.mark.parametrize("name", ["batch.json", "index.html"])
def test_a_file_of_a_suite_is_no_link(tmp_path, name) -> None:
    folder, victim = tmp_path / "suite", tmp_path / "precious"
    folder.mkdir()
    victim.write_bytes(b"{}")
    (folder / name).symlink_to(victim)
    write = write_batch if name == "batch.json" else write_batch_index
    with pytest.raises(RecordError, match=f"{name} is a symbolic link"):
        write(folder, SUITE)
    assert victim.read_bytes() == b"{}"
    if name == "batch.json":
        with pytest.raises(RecordError, match=r"batch.json is a symbolic link"):
            read_batch(folder)
        with pytest.raises(RecordError, match=r"batch.json is a symbolic link"):
            ReportSource.of((folder,))


@pytest.mark.parametrize("entry", ["../run", "1-iops", "/etc"])
def test_a_suite_has_its_runs_within(folder, entry) -> None:
    suite = folder.parent / "suite"
    suite.mkdir()
    if entry == "1-iops":
        (suite / entry).symlink_to(folder)
    write_batch(suite, suite_of(suite_entry("iops", entry)))
    with pytest.raises(RecordError, match=r"can't read .*(is a symbolic link|entries.0..folder)"):
        ReportSource.of((suite,))


def test_a_linked_report_is_not_verified(tmp_path) -> None:
    (tmp_path / "report.json").symlink_to("/etc/passwd")
    with pytest.raises(RecordError, match=r"report.json is a symbolic link"):
        read_report(tmp_path / "report.json")


def test_a_linked_capture_is_not_taken_for_one_of_the_run(folder) -> None:
    (folder / "capture").mkdir()
    (folder / "capture" / "capture-0001.parquet").write_bytes(b"PAR1")
    (folder / "capture" / "capture-0002.parquet").symlink_to("/etc/passwd")
    with pytest.raises(RecordError, match=r"capture/capture-0002.parquet is a symbolic link"):
        record_files([folder])
    (folder / "capture" / "capture-0002.parquet").unlink()
    assert [file.name for file in record_files([folder])] == ["run.db", "capture/capture-0001.parquet"]
    (folder / "capture").rename(folder.parent / "elsewhere")
    (folder / "capture").symlink_to("../elsewhere")
    with pytest.raises(RecordError, match=r"can't read .*/capture: capture is a symbolic link"):
        record_files([folder])


parquet = pytest.importorskip("pyarrow.parquet")

SAMPLE = DATA / "captures/format-1.parquet"
OPERATIONS = ("read", "write", "trim", "flush", "fsync")


def io(number: int) -> dict[str, Any]:
    operation = OPERATIONS[number % 5]
    addressed = operation not in {"flush", "fsync"}
    return {
        "step": number // 500,
        "thread": number % 2,
        "submitted_ns": number * 1000,
        "latency_ns": 80_000 + number**2,
        "lba": number * 7919 if addressed else 0,
        "length_bytes": 4096 if addressed else 0,
        "operation": operation,
        "errno": 5 if number % 100 == 99 else 0,
    }


def test_every_row_comes_back() -> None:
    rows = parquet.read_table(SAMPLE).sort_by("submitted_ns").to_pylist()
    assert rows == [io(number) for number in range(1000)]


def test_columns_have_the_types_of_their_meaning() -> None:
    types = {field.name: str(field.type) for field in parquet.read_schema(SAMPLE)}
    assert types == {
        "step": "uint32",
        "thread": "uint16",
        "submitted_ns": "uint64",
        "latency_ns": "uint64",
        "lba": "uint64",
        "length_bytes": "uint32",
        "operation": "string",
        "errno": "int32",
    }


def test_the_file_explains_itself() -> None:
    words = parquet.read_schema(SAMPLE).metadata
    assert words[b"openpts.capture"] == b"1"
    assert words[b"openpts.sector_bytes"] == words[b"openpts.lba_bytes"] == b"512"
    assert words[b"openpts.clock"] == b"monotonic, ns since the engine began"
    assert words[b"openpts.ios"] == b"1000"
    assert words[b"openpts.ios_discarded"] == words[b"openpts.blocked_ns"] == b"0"


def attempt(steps: int) -> Attempt:
    return Attempt("2026-11-22T12:00:00+00:00", 1, "host", None, None, None, steps)


def test_each_attempt_at_a_run_has_a_folder_and_counts_its_steps_from_0() -> None:
    """The second began behind 3 steps and the third behind 8, of which 2 were set aside and repeated."""
    whole = telling_run("dirth")
    steps = tuple(
        replace(step, behind=behind)
        for step, behind in zip(whole.steps, (0, 1, 2, 3, 4, 5, 8, 9, 10), strict=False)
    )
    attempts = (attempt(0), attempt(3), attempt(8))
    run = replace(whole, steps=steps, manifest=replace(whole.manifest, attempts=attempts))
    first, second, third = (("capture", 0), ("capture", 1), ("capture", 2)), (3, 4, 5), (8, 9, 10)
    assert [run.capture_of(step) for step in steps] == [
        *first,
        *(("capture-2", behind - 3) for behind in second),
        *(("capture-3", behind - 8) for behind in third),
    ]


def test_on_a_simulated_drive_the_last_attempt_has_repeated_what_stands() -> None:
    whole = telling_run("dirth")
    target = replace(whole.manifest.target, simulation=SIMULATION)
    manifest = replace(whole.manifest, target=target, attempts=(attempt(0), attempt(5)))
    run = replace(whole, manifest=manifest)
    assert run.capture_of(run.steps[3]) == ("capture-2", 3)
