"""Openpts and the second verifier, which share no code, say the same; it finds faults in openpts."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openpts.fields.conditions import at_time_scale
from openpts.record.reader import read_run
from openpts.report.run_part import summarize
from openpts.vocabulary.drive_class import DriveClass
from tests.second_verifier.chunk import compared, differing
from tests.second_verifier.faults import FAULTS, GO_ENVIRONMENT, ROOT, Fault, missed
from tests.second_verifier.generated import TESTS, generated_run, write_run
from tests.support.one_point import STEPS_BEFORE_ROUNDS, run_one_point
from tests.support.openpts_command import COMMAND
from tests.support.oracle_presets import write_oracle
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole

MOST_LINES = 1080
LONG = pytest.mark.long("millions of I/Os, and both read them all")


@pytest.mark.slow  # compiles SQLite: half of what all others here take
def test_its_own_tests(program: Path) -> None:
    assert program.exists()
    done = subprocess.run(
        ["go", "test", "-trimpath", "./..."],  # as it is built: else its libraries are compiled once more
        cwd=ROOT / "verifier",
        env=GO_ENVIRONMENT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_small_and_static(program: Path) -> None:
    lines = [
        line.strip()
        for path in (ROOT / "verifier").glob("*.go")
        if not path.name.endswith("_test.go")
        for line in path.read_text().splitlines()
    ]
    code = [line for line in lines if line and not line.startswith("//")]
    assert 100 < len(code) < MOST_LINES
    image = program.read_bytes()
    assert image.startswith(b"\x7fELF")
    assert b"ld-linux" not in image


def test_each_fault_has_its_place(tmp_path: Path) -> None:
    for fault in FAULTS:
        original = ROOT / "packages" / fault.file
        copy = tmp_path / fault.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(original.read_bytes())
        fault.plant(tmp_path)
        assert copy.read_bytes() != original.read_bytes()


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("drive_class", list(DriveClass))
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("test", TESTS)
def test_both_say_the_same_of_a_simulated_drive(
    program: Path, tmp_path: Path, test: str, drive_class: DriveClass, seed: int
) -> None:
    preset = {DriveClass.ENTERPRISE: "enterprise-tlc", DriveClass.CLIENT: "client-qlc"}[drive_class]
    target = f"sim:{preset}?capacity=4GB&seed={seed}"
    run = run_whole(test, drive_class, tmp_path / "run", lambda c: at_time_scale(c, 0.001), target)
    (said,) = compared(program, [run.folder], tmp_path)
    assert said["differences"] == []
    assert said["key_values"]


@pytest.mark.parametrize(
    ("test", "options"),
    [
        ("tp", ["--short", "--block-sizes", "1MiB"]),
        pytest.param("lat", ["--short"], marks=pytest.mark.slow),
        pytest.param("tp", ["--short"], marks=pytest.mark.slow),
        pytest.param(
            "iops",
            ["--short", "--read-pcts", "100,0", "--block-sizes", "64KiB,4KiB", "--tracking", "RND 4KiB RW0"],
            marks=pytest.mark.slow,
        ),
        pytest.param("wsat", ["--short"], marks=[pytest.mark.slow, LONG]),
        pytest.param("xsr", ["--group-seconds", "1200,1200,1200"], marks=[pytest.mark.slow, LONG]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_both_say_the_same_of_short_forms_and_of_minutes_at_full_length(
    program: Path, tmp_path: Path, test: str, options: list[str]
) -> None:
    """A step is followed by answers to its last I/Os, which at a time scale take none of a minute."""
    target = "sim:enterprise-tlc?capacity=100GB&seed=3"
    words = ["run", test, target, *options, "--seed", "3", "--no-report", "--out", tmp_path / "run"]
    subprocess.run([*COMMAND, *words], check=True, capture_output=True)
    (said,) = compared(program, [tmp_path / "run"], tmp_path)
    assert said["differences"] == []


@pytest.mark.parametrize(
    ("rates", "steady_round"),
    [
        ([100 + 200 * 0.5**k for k in range(60)], 10),
        ([100 + 200 * 0.8**k for k in range(60)], 16),
        ([100 - 2.380 * k for k in range(26)], 5),
        ([100 * (1 + k % 2) for k in range(26)], None),
    ],
    ids=["falls fast", "falls slowly", "a ramp just below 1/42", "restless"],
)
def test_both_find_the_round_of_a_drive_that_follows_a_script(
    program: Path, tmp_path: Path, rates: Sequence[float], steady_round: int | None
) -> None:
    preset = write_oracle(tmp_path, rates, skip=STEPS_BEFORE_ROUNDS)
    folder = run_one_point(preset, tmp_path / "run", max_rounds=25).folder
    (said,) = compared(program, [folder], tmp_path)
    assert said["differences"] == []
    (steady,) = said["steady_state"]
    assert (steady["round"] if steady["reached"] else None) == steady_round


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("first", range(1, 200, 25))
def test_both_say_the_same_of_drawn_runs(program: Path, first: int) -> None:
    found = [(seed, said["differences"]) for seed, said in differing(program, range(first, first + 25))]
    assert found == []


def test_a_changed_record_is_found(program: Path, tmp_path: Path) -> None:
    run = generated_run(3, "iops")
    folder = write_run(run, tmp_path / "run")
    figures = summarize(read_run(folder))
    figures["measures"]["rnd_4_kib_rw0.iops"]["value"] *= 1 + 1e-8
    against = tmp_path / "openpts.json"
    against.write_bytes(msgspec.json.encode(figures))
    said = look(program, folder, "--against", against)
    assert said.returncode == 1
    assert said.stdout.count("DIFFERS") == 1
    assert "DIFFERS rnd_4_kib_rw0.iops" in said.stdout


def test_it_reads_a_killed_run_and_changes_nothing(program: Path, tmp_path: Path) -> None:
    folder = write_run(generated_run(5, "lat"), tmp_path / "run")
    before = look(program, folder, "--json").stdout
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(
            "UPDATE step SET state = 'failed' WHERE part = 'round' AND number = 1 AND position = 0"
        )
        connection.commit()
        assert (folder / "run.db-wal").stat().st_size
        during = look(program, folder, "--json").stdout
    connection.close()
    assert steady(before)["complete_rounds"] > 0
    assert steady(during)["complete_rounds"] == 0
    held = (folder / "run.db").read_bytes()
    look(program, folder)
    assert (folder / "run.db").read_bytes() == held
    assert not os.path.lexists(folder / "run.db-shm")


def steady(said: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said)["steady_state"][0]
    return found


def test_what_people_read(program: Path, tmp_path: Path, golden: Golden) -> None:
    folder = write_run(generated_run(3, "tp"), tmp_path / "run")
    refusals = [look(program, *words).stderr for words in ((), (tmp_path / "none",), ("--wrong",))]
    assert "\n".join([look(program, folder).stdout, *refusals]) == golden


@pytest.mark.parametrize(
    ("software", "writer"), [("openpts 0.9.1", "openpts 0.9.1"), ("fio-3.33", None), (None, None)]
)
def test_a_record_of_another_version_is_refused(
    program: Path, tmp_path: Path, software: str | None, writer: str | None
) -> None:
    folder = write_run(generated_run(3, "tp"), tmp_path / "run")
    stored = json.dumps({"test_software": {"value": software, "source": "x"}})
    for version in (0, 2, 9):
        with closing(sqlite3.connect(folder / "run.db")) as database, database:
            database.execute("UPDATE manifest SET json = ? WHERE section = 'software'", (stored,))
            database.execute(f"PRAGMA user_version = {version}")
        said = look(program, folder)
        by = writer or "an openpts that it does not name"
        told = f"it has record version {version}, written by {by}; only version 1 is read here"
        assert (said.returncode, said.stdout) == (2, "")
        assert told in said.stderr


def look(program: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], check=False, capture_output=True, text=True)


SOME = (FAULTS[0], FAULTS[13], FAULTS[15])


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("fault", SOME, ids=lambda fault: f"{Path(fault.file).stem}: {fault.new}")
def test_a_planted_fault_is_found(program: Path, tmp_path: Path, fault: Fault) -> None:
    assert list(missed([fault], program, tmp_path, runs=4)) == []
