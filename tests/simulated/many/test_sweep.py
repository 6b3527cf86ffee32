"""Sweeps: each point is what `openpts run` measures there, and none is computed twice or lost."""

import csv
import json
import os
import subprocess
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from syrupy.assertion import SnapshotAssertion

from openpts.batch.executor import BatchEvent, EntryChanged, batch_claimed
from openpts.cli.main import cli
from openpts.errors import RecordError, UsageError
from openpts.ownership import CLAIM_NAME, RunOwner, folder_claimed
from openpts.procedures.registry import PROCEDURES
from openpts.record.batch import Batch, read_batch, write_batch
from openpts.record.manifest import RunState
from openpts.system_files import SystemRoots
from openpts.vocabulary.drive_class import DriveClass
from openpts_many.sweep.axes import Axis, combinations
from openpts_many.sweep.in_pool import InPool, new_sweep, what_is_left
from openpts_many.sweep.point import point
from tests.device.openpts_process import openpts
from tests.simulated.killed_run import ordered
from tests.support.openpts_command import COMMAND
from tests.support.processes import of_session, until

DRIVE = "sim:mlc?capacity=4GB&scale=16"
SHORT = ("--read-pcts", "0", "--block-sizes", "4KiB", "--tracking", "RND 4KiB RW0", "--round-seconds", "1")
OP = "page_mapped.mapping.physical_per_user"
WORDS = ("sweep", "iops", DRIVE, *SHORT, "--jobs", "1")


def sweep(out: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, [*WORDS, "--out", str(out), *words], catch_exceptions=False)


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "points.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_point_is_what_a_run_measures_there(tmp_path: Path) -> None:
    result = sweep(tmp_path / "sweep", "--vary", "qd=1,16", "--vary", f"{OP}=1.2,1.4")
    assert result.exit_code == 0, result.output
    for row in rows(tmp_path / "sweep"):
        folder = tmp_path / f"run-{row['qd']}-{row[OP]}"
        words = (f"{DRIVE}&seed=1&{OP}={row[OP]}", *SHORT, "--qd", row["qd"], "--seed", "1")
        ran = CliRunner().invoke(cli, ["run", "iops", *words, "--no-report", "--out", str(folder)])
        assert ran.exit_code == 0, ran.output
        exported = CliRunner().invoke(cli, ["export", str(folder), "--csv-row", str(folder / "row.csv")])
        assert exported.exit_code == 0, exported.output
        with (folder / "row.csv").open(encoding="utf-8", newline="") as file:
            (alone,) = csv.DictReader(file)
        of_time = {"run", "started_at", "ended_at"}
        assert {name: row[name] for name in alone.keys() - of_time} == {
            name: alone[name] for name in alone.keys() - of_time
        }


class Counting(ThreadPoolExecutor):
    """Counts the points that it is given."""

    def __init__(self) -> None:
        super().__init__(1)
        self.points = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Take a point."""
        self.points += 1
        return super().submit(fn, *args, **kwargs)


def seeds(tmp_path: Path, values: tuple[str, ...]) -> Batch:
    conditions = ordered("lat", tmp_path / "unused").adjust
    entries = []
    for combination in combinations([Axis("seed", values)]):
        ((_, seed),) = combination
        standard = PROCEDURES["lat"].standard_conditions(DriveClass.ENTERPRISE, int(seed))
        target = f"sim:mlc?capacity=4GB&scale=4&seed={seed}"
        entries.append(point(combination, target, conditions(standard)))
    return new_sweep(entries)


def test_a_point_is_computed_once_by_any_executor(tmp_path: Path) -> None:
    """Also in threads; a damaged result is computed again."""
    folder, heard = tmp_path / "sweep", list[BatchEvent]()

    def computed(pool: Executor, batch: Batch) -> set[str]:
        runner = InPool(folder=folder, batch=batch, pool=pool, listener=heard.append)
        runner.run()
        ended = read_batch(folder)
        assert {entry.folder for entry in ended.entries} == set(runner.results)
        assert {entry.state for entry in ended.entries} == {RunState.COMPLETE}
        return set(runner.results)

    with Counting() as first, Counting() as second, Counting() as third:
        before = computed(first, seeds(tmp_path, ("1", "2")))
        after = computed(second, seeds(tmp_path, ("1", "2", "3")))
        assert (first.points, second.points) == (2, 1)
        (new,) = after - before
        path = folder / "points" / new[:2] / f"{new}.json"
        path.write_bytes(path.read_bytes()[:100])
        heard.clear()
        computed(third, what_is_left(read_batch(folder)))
        assert third.points == 1
    (changed,) = heard
    assert isinstance(changed, EntryChanged)
    assert (changed.index, changed.entry.folder, changed.entry.state) == (2, new, RunState.COMPLETE)


def test_a_sweep_beside_another_computes_and_leaves_the_journal_to_it(tmp_path: Path) -> None:
    first = seeds(tmp_path, ("1",))
    with batch_claimed(tmp_path, first, SystemRoots()):
        write_batch(tmp_path, first)
        beside = openpts(*WORDS, "--out", str(tmp_path), "--vary", "qd=1,2", cwd=tmp_path)
        assert beside.exit_code == 0, beside.stderr
        assert [row["state"] for row in rows(tmp_path)] == ["complete", "complete"]
        refused = openpts("resume", str(tmp_path), cwd=tmp_path)
        assert refused.exit_code == RecordError.exit_code
        assert f"process {os.getpid()}" in refused.stderr
    assert [entry.state for entry in read_batch(tmp_path).entries] == [RunState.WAITING]
    after = sweep(tmp_path, "--vary", "qd=1,2")
    assert "2 points, 2 of them computed before" in after.stderr
    assert [entry.state for entry in read_batch(tmp_path).entries] == [RunState.COMPLETE] * 2


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    drives = Batch(batch_id="ID", started_at="2025-01-14T08:11:00Z")
    write_batch(tmp_path, drives)
    refused = openpts(*WORDS, "--out", str(tmp_path), "--vary", "qd=1", cwd=tmp_path)
    assert refused.exit_code == UsageError.exit_code
    assert read_batch(tmp_path) == drives
    (tmp_path / "run").mkdir()
    with folder_claimed(tmp_path / "run", RunOwner.this_process("ID", "sim:mlc", (), SystemRoots())):
        pass
    refused = openpts(*WORDS, "--out", str(tmp_path / "run"), "--vary", "qd=1", cwd=tmp_path)
    assert refused.exit_code == RecordError.exit_code
    assert [path.name for path in (tmp_path / "run").iterdir()] == [CLAIM_NAME]


def test_what_cannot_be_run_has_its_reason_in_the_table(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    result = sweep(
        tmp_path, "--vary", "qd=1,0", "--vary", f"{OP}=1.2,much", "--vary", "capacity=4GB,1B", "--seeds", "1"
    )
    assert result.exit_code == 0, result.output
    found = rows(tmp_path)
    assert [(row["qd"], row[OP], row["capacity"], row["refused"]) for row in found] == snapshot
    assert [bool(row["iops.rnd_4_kib_rw0.iops (IOPS)"]) for row in found] == [
        not row["refused"] for row in found
    ]


@pytest.mark.parametrize(
    "words",
    [("--vary", "qb=1"), ("--vary", "page_mapped.mapping.physical_per_usr=1.2"), ("--vary", "qd=0")],
    ids=" ".join,
)
def test_a_sweep_that_makes_no_sense_is_refused(
    words: tuple[str, ...], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    done = openpts(*WORDS, "--out", str(tmp_path), *words, cwd=tmp_path)
    assert (done.exit_code, done.stderr.splitlines()[-1]) == snapshot
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("way", ["resume", pytest.param("same command", marks=pytest.mark.slow)])
def test_a_killed_sweep_goes_on_where_it_stopped(way: str, tmp_path: Path) -> None:
    command = [*COMMAND, *WORDS, "--out", str(tmp_path), "--vary", "qd=1,2,4,8,16,32,0", "--seeds", "2"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        deadline = time.monotonic() + 120
        while len(list(tmp_path.glob("points/*/*.json"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
    until(lambda: not of_session(process.pid), "the end of its processes", 30)
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.glob("points/*/*.json")}
    assert 3 <= len(stored) < 12
    again = command if way == "same command" else [*COMMAND, "resume", str(tmp_path)]
    done = subprocess.run(again, capture_output=True, text=True, check=True, timeout=300)
    assert f"12 points, {len(stored)} of them computed before" in done.stderr
    assert done.stdout.splitlines()[0].startswith("14 points, 2 of which")
    assert {path: path.stat().st_mtime_ns for path in stored} == stored, "none is computed twice"
    assert all(json.loads(path.read_bytes())["row"] for path in tmp_path.glob("points/*/*.json"))
    assert [bool(row["refused"]) for row in rows(tmp_path)] == [False] * 12 + [True] * 2
    assert openpts("resume", str(tmp_path), cwd=tmp_path).exit_code == RecordError.exit_code, "none is left"
