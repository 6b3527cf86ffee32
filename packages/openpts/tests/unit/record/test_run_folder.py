"""A run folder holds what was put in, whole, whatever happens to the process or the folder."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields, replace

from openpts.errors import RecordError
from openpts.record import reader as reader_module
from openpts.record.database import opened_record
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import read_manifest, read_run, stored_run
from openpts.record.writer import CHECKSUM_SECTION, DATABASE_NAME, RunWriter
from openpts.report.record_files import record_files
from openpts.run_folder_files import open_file
from openpts.vocabulary.facts import PurgeReport, SimulationFacts, TargetFacts, TargetKind, WriteCacheReport
from openpts.vocabulary.requests import CycleFinished, Outcome
from openpts.vocabulary.sample import IoFailure, Phase, StepPlace, StepState
from openpts.vocabulary.stimulus import ByteAmount, Step
from tests import ROOT
from tests.support.processes import die, dies, in_process
from tests.support.record_parts import DEVIATION, HOSTILE, intervals, manifest, round_place, sample


def test_what_was_written_is_read_back_unchanged(tmp_path) -> None:
    preconditioning = replace(
        sample(), step=Step.of(sample().step.stimulus, ByteAmount(2 * 10**9)), gap_ns=None, cpu=None
    )
    failed = sample(StepState.FAILED, IoFailure("read", 4096, 512, "Input/output error"))
    wipc = StepPlace(2, Phase.WIPC, 1, 0)
    writer = RunWriter.create(tmp_path / "run", manifest())
    writer.add_step(wipc, preconditioning)
    writer.add_step(round_place(1, 0), sample())
    writer.add_step(round_place(1, 1), failed)
    writer.add_deviations((DEVIATION, DEVIATION))
    writer.close()

    run = read_run(tmp_path / "run", interval_histograms=True)
    assert run.manifest == manifest()
    assert [(step.place, step.sample) for step in run.steps] == [
        (wipc, preconditioning),
        (round_place(1, 0), sample()),
        (round_place(1, 1), failed),
    ]
    assert run.ledger == (DEVIATION, DEVIATION)


def test_texts_are_read_on_one_line_each_with_all_of_them_visible(tmp_path) -> None:
    hostile = replace(manifest(), test_id=" a\x1b[31m\n\u202eb\u3000c ")
    writer = RunWriter.create(tmp_path / "run", hostile)
    writer.add_step(round_place(1, 0), sample(StepState.FAILED, IoFailure("read", 4096, 512, "\x07")))
    writer.add_deviations((replace(DEVIATION, used="\x9b2J"),))
    writer.close()
    run = read_run(tmp_path / "run")
    assert run.manifest.test_id == "a\\x1b[31m\\n\\u202eb c"
    assert run.steps[0].sample.failure == IoFailure("read", 4096, 512, "\\x07")
    assert run.ledger == (replace(DEVIATION, used="\\x9b2J"),)
    assert read_manifest(tmp_path / "run") == run.manifest
    assert stored_run(tmp_path / "run").manifest == hostile


def test_a_simulated_drive_is_read_back_with_what_it_is_made_from(tmp_path) -> None:
    simulation = SimulationFacts(HOSTILE, "a drive", "page-mapped", 67, 10**9, 2**63 - 1, ("a.b", HOSTILE))
    target = TargetFacts(TargetKind.SIMULATED, "sim:x", "sim:x?scale=67", 67 * 10**9, 512, simulation)
    RunWriter.create(tmp_path / "run", replace(manifest(), target=target)).close()
    assert read_run(tmp_path / "run").manifest.target == target


def test_sections_of_the_manifest_are_replaced(tmp_path) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    changes: dict[str, Any] = {
        "purges": (PurgeReport(True, "discard", "", "2026-11-20T22:00:00+00:00", 5, 64, 64),) * 2,
        "write_caches": (WriteCacheReport("WCD", "unknown", "sysfs"),) * 2,
        "state": RunState.COMPLETE,
        "cycles": (
            CycleFinished(Outcome(5, 5), "SEQ 128 KiB"),
            CycleFinished(Outcome(None, 13, "6 h 0 min"), "SEQ 1024 KiB"),
        ),
    }
    writer.update_manifest(**changes)
    writer.close()
    assert read_run(tmp_path / "run").manifest == replace(manifest(), **changes)


def test_steps_are_found_by_part_cycle_and_number(tmp_path) -> None:
    places = [
        StepPlace(cycle, phase, number, position)
        for cycle in (1, 2)
        for phase in (Phase.WDPC, Phase.ROUND)
        for number in (1, 2)
        for position in (0, 1)
    ]
    writer = RunWriter.create(tmp_path / "run", manifest())
    for place in places:
        writer.add_step(place, sample())
    writer.close()
    run = read_run(tmp_path / "run")
    assert [step.place for step in run.steps] == places
    assert len(run.phase(Phase.ROUND)) == 8
    assert {step.place.cycle for step in run.phase(Phase.ROUND, cycle=2)} == {2}
    assert [str(step.place) for step in run.phase(Phase.WDPC, cycle=2, number=2)] == [
        "cycle 2, preconditioning, tracking round 2, step 1",
        "cycle 2, preconditioning, tracking round 2, step 2",
    ]
    assert run.phase(Phase.HISTOGRAM) == []
    assert run.cycle_count == 2


@pytest.mark.proves("SOL-GEN-07")
def test_the_engine_s_clock_is_told_as_a_time_of_day(tmp_path) -> None:
    """By the step that was stored soonest after its end: the other one waited for 40 s."""
    writer = RunWriter.create(tmp_path / "run", manifest())
    writer.add_step(round_place(1, 0), replace(sample(), started_ns=5 * 10**9, elapsed_ns=10 * 10**9))
    writer.add_step(round_place(1, 1), replace(sample(), started_ns=15 * 10**9, elapsed_ns=10 * 10**9))
    writer.close()
    with closing(sqlite3.connect(tmp_path / "run" / DATABASE_NAME)) as database, database:
        for number, at in ((1, "2026-01-02T03:04:55.000+00:00"), (2, "2026-01-02T03:04:25.000+00:00")):
            database.execute("UPDATE step SET stored_at = ? WHERE step_id = ?", (at, number))
    run = read_run(tmp_path / "run")
    assert run.time_at(5 * 10**9) == "2026-01-02T03:04:05Z"
    assert run.time_at(10**30) is None
    with closing(sqlite3.connect(tmp_path / "run" / DATABASE_NAME)) as database, database:
        database.execute("UPDATE step SET stored_at = 'yesterday'")
    with pytest.raises(RecordError, match="table step"):
        read_run(tmp_path / "run")


def test_a_run_without_a_step_has_one_cycle(tmp_path) -> None:
    RunWriter.create(tmp_path / "run", manifest()).close()
    assert read_run(tmp_path / "run").cycle_count == 1


def test_the_folder_of_a_closed_run_holds_one_file(tmp_path) -> None:
    RunWriter.create(tmp_path / "run", manifest()).close()
    assert [path.name for path in (tmp_path / "run").iterdir()] == [DATABASE_NAME]


def test_a_folder_that_holds_something_is_left_alone(tmp_path) -> None:
    (tmp_path / "precious").write_text("data")
    with pytest.raises(RecordError, match="is not empty"):
        RunWriter.create(tmp_path, manifest())
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_folder_that_cannot_be_made_says_why(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="can't create the run folder"):
        RunWriter.create(tmp_path / "file" / "run", manifest())


def test_every_step_that_was_added_survives_a_kill(tmp_path) -> None:
    script = f"""
        import os, signal, sys
        sys.path[:0] = {[str(ROOT)]!r}
        from pathlib import Path
        from openpts.record.writer import RunWriter
        from tests.support.record_parts import manifest, round_place, sample
        writer = RunWriter.create(Path({str(tmp_path / "run")!r}), manifest())
        for position in range(3):
            writer.add_step(round_place(1, position), sample())
        os.kill(os.getpid(), signal.SIGKILL)
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert killed.returncode == -signal.SIGKILL
    run = read_run(tmp_path / "run")
    assert len(run.steps) == 3
    assert run.manifest.state is RunState.RUNNING


def test_a_number_that_sqlite_cannot_hold_leaves_the_record_whole(tmp_path) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    writer.add_step(round_place(1, 0), sample())
    with pytest.raises(RecordError, match="can't write the record"):
        writer.add_step(
            round_place(1, 1), replace(sample(), intervals=(replace(intervals()[0], in_flight=2**63),))
        )
    writer.add_step(round_place(1, 2), sample())
    writer.close()
    assert [step.place.position for step in read_run(tmp_path / "run").steps] == [0, 2]


@pytest.mark.skipif(os.geteuid() != 0, reason="drops root's rights to meet a folder that it may not write")
def test_a_folder_on_read_only_ground_can_be_read(tmp_path) -> None:
    RunWriter.create(tmp_path / "run", manifest()).close()
    (tmp_path / "run").chmod(0o555)
    for folder in tmp_path.parents:
        if folder.stat().st_mode & 0o077 == 0:
            folder.chmod(0o755)  # pytest made it for root alone
    tmp_path.chmod(0o755)
    child = os.fork()
    if child == 0:
        try:
            os.setuid(65534)
            os._exit(0 if read_run(tmp_path / "run").manifest == manifest() else 1)
        finally:
            os._exit(2)  # whatever happens: the child is no second pytest
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_no_run_folder_and_damaged_ones_are_told_apart(tmp_path) -> None:
    with pytest.raises(RecordError, match="is not a run folder"):
        read_run(tmp_path)
    (tmp_path / "report.html").touch()
    with pytest.raises(RecordError, match=f"is a file: name the folder of the run, such as {tmp_path}$"):
        read_run(tmp_path / "report.html")
    with pytest.raises(RecordError, match="there is no such folder"):
        read_run(tmp_path / "report.html/nowhere")
    (tmp_path / DATABASE_NAME).write_bytes(b"this is no database, but long enough to look at" * 50)
    with pytest.raises(RecordError, match="can't read"):
        read_run(tmp_path)


def test_a_length_that_no_memory_holds_is_refused_in_a_sentence(tmp_path, monkeypatch) -> None:
    """What SQLite ends with on some damaged lengths; which bytes do that depends on its version."""
    folder = tmp_path / "run"
    RunWriter.create(folder, manifest()).close()

    def too_long(*_: object) -> object:
        raise MemoryError

    monkeypatch.setattr(reader_module, "rows_of", too_long)
    with pytest.raises(RecordError, match="a value is larger than memory"):
        read_run(folder)


_ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, x, x, x, x FROM c"


@pytest.mark.parametrize(
    "statements",
    [
        "DROP TABLE deviation; CREATE VIEW deviation(rule_id, clause, required, used, effect) AS " + _ENDLESS,
        "DROP TABLE deviation; CREATE VIRTUAL TABLE deviation USING rtree(id, low, high)",
        "CREATE TRIGGER more AFTER INSERT ON step BEGIN DELETE FROM deviation; END",
        "ALTER TABLE deviation ADD COLUMN more BLOB AS (zeroblob(1000000000))",
    ],
)
def test_a_database_that_computes_what_it_holds_is_refused(tmp_path, statements) -> None:
    """A view that never ends kept its reader busy for ever."""
    with closing(RunWriter.create(tmp_path / "run", manifest())) as writer:
        writer.add_step(round_place(1, 0), sample())
    with closing(sqlite3.connect(tmp_path / "run" / DATABASE_NAME)) as database:
        database.executescript(statements)
    with pytest.raises(RecordError, match="computes") as refusal:
        read_run(tmp_path / "run")
    assert refusal.value.exit_code == 8


def test_every_section_of_the_manifest_is_stored(tmp_path) -> None:
    RunWriter.create(tmp_path / "run", manifest()).close()
    connection = sqlite3.connect(tmp_path / "run" / DATABASE_NAME)
    stored = {section for (section,) in connection.execute("SELECT section FROM manifest")}
    connection.close()
    assert stored == {field.name for field in fields(Manifest)} | {CHECKSUM_SECTION}


def test_a_folder_whose_run_has_only_just_begun_is_told_as_that(tmp_path) -> None:
    RunWriter.create(tmp_path / "run", manifest()).close()
    connection = sqlite3.connect(tmp_path / "run" / DATABASE_NAME)
    connection.execute("DELETE FROM manifest")
    connection.commit()
    connection.close()
    with pytest.raises(RecordError, match="is empty"):
        read_run(tmp_path / "run")


def test_a_name_that_is_no_utf_8_is_refused_in_a_sentence(tmp_path) -> None:
    command_line = ("openpts", "run", "iops", "file:\udcff")
    with pytest.raises(RecordError, match="can't write the record in"):
        RunWriter.create(tmp_path / "run", replace(manifest(), command_line=command_line))


def test_a_kill_while_the_record_is_made_leaves_one_that_is_empty(tmp_path, monkeypatch) -> None:
    """At each statement: none leaves half of a schema."""
    connect = sqlite3.connect
    statements: list[str] = []
    most = 0

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(
            lambda text: (statements.append(text), len(statements) == most and die())
        )
        return connection

    def create() -> None:
        monkeypatch.setattr(sqlite3, "connect", traced)
        RunWriter.create(folder, manifest())

    for most in range(1, 12):
        folder = tmp_path / str(most)
        dies(create)
        with pytest.raises(RecordError, match=r"is empty: its run has just begun, or ended at once$"):
            read_run(folder)


def locks_on(path: Path) -> list[str]:
    """This process' POSIX locks on a file, without opening it."""
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    ours = [line for line in lines if line[1] == "POSIX" and line[4] == str(os.getpid())]
    return [" ".join(line[3:]) for line in ours if line[5].rpartition(":")[2] == str(path.stat().st_ino)]


def test_other_descriptors_leave_the_locks_of_a_reader(tmp_path) -> None:
    """The kernel drops all of a process' locks on a file when it closes any descriptor of it."""
    folder, database = tmp_path / "run", tmp_path / "run" / DATABASE_NAME
    in_process(lambda: RunWriter.create(folder, manifest()).folder.name)  # which ends without closing it
    assert (folder / f"{DATABASE_NAME}-wal").exists()
    with opened_record(folder) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(section) FROM manifest").fetchone()
        held = locks_on(database)
        assert held
        with opened_record(folder), open_file(folder, DATABASE_NAME):
            pass
        assert DATABASE_NAME in [file.name for file in record_files([folder])]
        assert locks_on(database) == held
    opened = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]  # noqa: PTH208
    assert str(database) not in {str(path.readlink()) for path in opened if path.is_symlink()}
