"""What is of another version is refused: which, who wrote it, what is read here, what to do."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.cli.main import cli
from openpts.errors import RecordError
from openpts.ownership import CLAIM_NAME, RunOwner
from openpts.record.batch import BATCH_NAME, read_batch, write_batch
from openpts.record.database import last_step
from openpts.record.manifest import Manifest
from openpts.record.reader import read_manifest, read_run
from openpts.record.writer import DATABASE_NAME, RunWriter
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact
from openpts_compare.verification import read_report
from tests.support.batches import suite_entry, suite_of
from tests.support.record_parts import manifest
from tests.support.synthetic_run import Synthetic, write_synthetic_run

WROTE = "openpts 0.9.1"
WRITTEN = {"test_software": Fact(WROTE, "package metadata")}
REMEDY = "use the openpts that wrote it, or run the test again"
UNNAMED = "an openpts that it does not name"


def of_version(folder: Path, version: int, about: Manifest, statement: str = "") -> Path:
    RunWriter.create(folder, about).close()
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as database:
        database.executescript(f"{statement}; PRAGMA user_version = {version}")
    return folder


@pytest.fixture
def folder(tmp_path) -> Path:
    return of_version(tmp_path / "run", 9, replace(manifest(), software=WRITTEN))


@pytest.mark.parametrize(
    "words",
    [
        ("report", "FOLDER", "--no-html"),
        ("resume", "FOLDER"),
        ("compare", "FOLDER", "FOLDER/../copy"),
        ("gate", "FOLDER", "--limit", "iops.rnd-4k-rw0 >= 1"),
        ("export", "FOLDER", "--csv-row", "FOLDER/../row.csv"),
    ],
    ids=lambda words: words[0],
)
def test_each_command_says_who_wrote_it_and_what_is_read_here(folder, words) -> None:
    of_version(folder.with_name("copy"), 9, replace(manifest(), software=WRITTEN))
    before = (folder / DATABASE_NAME).read_bytes()
    ended = CliRunner().invoke(cli, [word.replace("FOLDER", str(folder)) for word in words])
    assert isinstance(ended.exception, RecordError)
    told = f"{folder} has record version 9, written by {WROTE}; this openpts reads version 1 only: {REMEDY}"
    assert told in str(ended.exception)
    assert (folder / DATABASE_NAME).read_bytes() == before


def test_verify_says_the_same_of_the_record_below_a_report(tmp_path) -> None:
    folder = write_synthetic_run(tmp_path / "run", Synthetic())
    reported = CliRunner().invoke(cli, ["report", str(folder), "--no-html", "--no-pdf"])
    assert reported.exit_code == 0, reported.output
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as database:
        database.execute("PRAGMA user_version = 2")
    ended = CliRunner().invoke(cli, ["verify", str(folder)])
    assert isinstance(ended.exception, RecordError)
    assert f"{folder} has record version 2, written by openpts " in str(ended.exception)


@pytest.mark.parametrize("reading", [read_run, read_manifest, last_step])
@pytest.mark.parametrize("version", [2, 9, 99])
def test_each_reader_refuses_it(tmp_path, reading, version) -> None:
    folder = of_version(tmp_path / "run", version, manifest())
    with pytest.raises(RecordError, match=f"has record version {version}, written by {UNNAMED}; "):
        reading(folder)  # type: ignore[operator]


_ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS json FROM c"


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE manifest",
        f"DROP TABLE manifest; CREATE VIEW manifest AS {_ENDLESS}",
        "UPDATE manifest SET json = '[' WHERE section = 'software'",
        'UPDATE manifest SET json = \'{"test_software": ["fio 3.33", "x"]}\' WHERE section = \'software\'',
        "UPDATE manifest SET json = CAST(x'ff' AS TEXT) WHERE section = 'software'",
    ],
)
def test_what_does_not_say_who_wrote_it_is_refused_as_well(tmp_path, statement) -> None:
    folder = of_version(tmp_path / "run", 9, replace(manifest(), software=WRITTEN), statement)
    with pytest.raises(RecordError, match=f"has record version 9, written by {UNNAMED}; "):
        read_run(folder)


def test_the_program_of_imported_results_is_not_who_wrote_it(tmp_path) -> None:
    about = replace(manifest(), software={"test_software": Fact("fio-3.33", "before.json")})
    with pytest.raises(RecordError, match=UNNAMED):
        read_run(of_version(tmp_path / "run", 9, about))


def test_a_batch_says_so_by_its_claim(tmp_path) -> None:
    write_batch(tmp_path, replace(suite_of(suite_entry("iops", "1-iops")), version="2.3"))
    told = f"{tmp_path / BATCH_NAME} has batch version 2.3, written by {{}}; "
    told += f"this openpts reads version 1 only: {REMEDY}"
    with pytest.raises(RecordError) as refused:
        read_batch(tmp_path)
    assert str(refused.value) == told.format(UNNAMED)
    owner = replace(RunOwner.this_process("ID", "sim:mlc", (), SystemRoots()), version="0.9.1")
    (tmp_path / CLAIM_NAME).write_bytes(msgspec.json.encode(owner) + b"\n")
    with pytest.raises(RecordError) as refused:
        read_batch(tmp_path)
    assert str(refused.value) == told.format(WROTE)
    ended = CliRunner().invoke(cli, ["resume", str(tmp_path)])
    assert str(ended.exception) == told.format(WROTE)


def test_a_batch_of_a_later_minor_version_is_read(tmp_path) -> None:
    """It has fields more, which mean nothing here."""
    batch = suite_of(suite_entry("iops", "1-iops"))
    write_batch(tmp_path, replace(batch, version="1.7"))
    assert replace(read_batch(tmp_path), version=batch.version) == batch


def test_a_report_of_another_version_is_to_be_written_again(tmp_path) -> None:
    (tmp_path / "report.json").write_text('{"schema_version": 3}')
    with pytest.raises(
        RecordError, match=r"has report version 3, .* reads version 1 only: .* `openpts report`"
    ):
        read_report(tmp_path / "report.json")
