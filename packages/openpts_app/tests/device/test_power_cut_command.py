"""Power cuts of a target that exists: a file whose writers fail while a command has taken its room.

A process that may not write beyond an offset gets errors there, as from a drive that is gone; what the
command does to the file meanwhile is what the power cut did to the drive.
"""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from openpts.errors import DataLossError, RunFailedError, TargetError, UsageError
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.report.build import build_report
from openpts.report.sources import default_date
from openpts.units import KIB, MIB
from tests.support.openpts_command import COMMAND
from tests.support.openpts_process import Ended, openpts
from tests.support.processes import until
from tests.support.transcript import Golden

pytestmark = pytest.mark.needs("prlimit", "files")

_OFF = "prlimit --pid $PPID --fsize=8192:; sleep 0.2"
_ON = "prlimit --pid $PPID --fsize=unlimited:"


def cut_by(folder: Path, damage: str = "true") -> str:
    """A command that cuts, does damage with a program of Python on the file ``f``, and gives power back."""
    script = folder / "cut"
    script.write_text(f"#!/bin/sh\n{_OFF}\n{damage}\n{_ON}\n")
    script.chmod(0o755)
    return str(script)


def damage_by(folder: Path, statement: str) -> str:
    """A command that changes the file."""
    code = f"f = open({str(folder / 'drive')!r}, 'r+b')\n{statement}\n"
    return shlex.join([sys.executable, "-c", code])


def run_powercut(folder: Path, command: str | None, *options: str) -> Ended:
    """A run on a file of 8 MiB, and how it ended."""
    cut = [] if command is None else ["--cut-command", command]
    words = ["run", "powercut", f"file:{folder / 'drive'}?size=8MiB", "--out", str(folder / "run")]
    words += ["--range", "4MiB", "--load-seconds", "0.2", "--cycles", "2", "--tc", "2", "--qd", "2"]
    words += [*cut, "--no-report", *options]
    return openpts(*words, cwd=folder)


def test_a_sound_target_loses_nothing(tmp_path: Path) -> None:
    ended = run_powercut(tmp_path, cut_by(tmp_path))
    assert ended.exit_code == 0, ended.stderr
    manifest = read_run(tmp_path / "run").manifest
    assert manifest.state is RunState.COMPLETE
    # of a file it is unknown whether a cache is before it
    assert [cut.volatile for cut in manifest.cuts] == [True, True, True]
    assert all(cut.writes > 10 and cut.promised > 0 and cut.outstanding == 4 for cut in manifest.cuts)
    assert all(cut.away_ns > 0.2e9 for cut in manifest.cuts)
    assert all(cut.first_read_ns and cut.first_read_ns < cut.away_ns + 1e9 for cut in manifest.cuts)


@pytest.mark.slow
def test_the_first_read_counts_from_the_end_of_the_command(tmp_path: Path) -> None:
    """The file is away for 1.5 s after the command has ended, as a drive is that starts."""
    drive, hidden = tmp_path / "drive", tmp_path / "hidden"
    back = f"setsid sh -c 'sleep 1.5; mv {hidden} {drive}' > /dev/null 2>&1 &"
    ended = run_powercut(tmp_path, cut_by(tmp_path, f"mv {drive} {hidden}\n{back}"), "--json")
    assert ended.exit_code == 0, ended.stderr
    found = [cut.first_read_ns or 0 for cut in read_run(tmp_path / "run").manifest.cuts]
    assert all(1.4e9 < time_ns < 4e9 for time_ns in found), found
    (state,) = json.loads(ended.stdout)["states"]
    assert state["first_reads_ms"] == [time_ns / 1e6 for time_ns in found]
    run = read_run(tmp_path / "run")
    page = build_report(run, default_date(run)).tables()["powercut-volatile"]
    (shown,) = [row.cells[-1].text for row in page.rows if row.head.text.startswith("First read")]
    assert shown == f"median {median(state['first_reads_ms']) / 1e3:.2f} s, longest {max(found) / 1e9:.2f} s"


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize(
    ("statement", "losses"),
    [
        # all of it as it was when the run began, which has no stamps of this run
        ("f.write(bytes(1 << 20))", {"changed", "corrupt"}),
        pytest.param("f.seek(512); f.write(b'x' * 100)", {"changed", "corrupt"}, marks=pytest.mark.slow),
        # a sector in the place of another one
        ("s = f.read(512); f.seek(2 << 20); f.write(s)", {"changed", "corrupt"}),
    ],
)
def test_what_the_cut_changed_is_found(statement: str, losses: set[str], tmp_path: Path) -> None:
    ended = run_powercut(tmp_path, cut_by(tmp_path, damage_by(tmp_path, statement)))
    assert ended.exit_code == DataLossError.exit_code, ended.stderr
    cuts = read_run(tmp_path / "run").manifest.cuts
    assert all(cut.losses and set(cut.losses) <= losses for cut in cuts)


@pytest.mark.slow
def test_a_command_that_cuts_nothing_ends_the_run(tmp_path: Path, golden: Golden) -> None:
    ended = run_powercut(tmp_path, "true")
    assert ended.exit_code == RunFailedError.exit_code
    assert ended.stderr == golden
    assert read_run(tmp_path / "run").manifest.state is RunState.FAILED


def test_a_command_that_fails_ends_the_run(tmp_path: Path, golden: Golden) -> None:
    ended = run_powercut(tmp_path, "sh -c 'echo no relay >&2; exit 3'")
    assert ended.exit_code == RunFailedError.exit_code
    assert ended.stderr == golden


def test_an_error_before_the_cut_is_the_drives(tmp_path: Path) -> None:
    run = [
        *COMMAND,
        "run",
        "powercut",
        f"file:{tmp_path / 'drive'}?size=8MiB",
        "--out",
        str(tmp_path / "run"),
    ]
    run += ["--range", "4MiB", "--load-seconds", "20", "--cut-command", "true", "--no-report"]
    run += ["--tc", "2", "--qd", "2"]
    with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        drive = tmp_path / "drive"
        last = slice(4 * MIB - KIB, 4 * MIB)
        until(lambda: drive.exists() and any(drive.read_bytes()[last]), "the range is filled")
        time.sleep(0.3)
        subprocess.run(["prlimit", "--pid", str(process.pid), "--fsize=1048576:"], check=True)
        time.sleep(0.3)
        subprocess.run(["prlimit", "--pid", str(process.pid), "--fsize=unlimited:"], check=True)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == RunFailedError.exit_code
    assert "an I/O failed before the power was cut" in stderr


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (None, "--cut-command is missing"),
        ("no-such-relay --off", "program no-such-relay not found"),
        ("sh 'unended", "invalid --cut-command"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(command: str | None, words: str, tmp_path: Path) -> None:
    ended = run_powercut(tmp_path, command)
    assert ended.exit_code == UsageError.exit_code
    assert words in ended.stderr
    assert not (tmp_path / "run").exists()


def test_a_target_that_does_not_come_back_is_named(tmp_path: Path, golden: Golden) -> None:
    command = cut_by(tmp_path, f"mv {tmp_path / 'drive'} {tmp_path / 'gone'}")
    ended = run_powercut(tmp_path, command, "--back-seconds", "1")
    assert ended.exit_code == TargetError.exit_code
    assert ended.stderr == golden


def test_another_file_of_the_same_name_is_refused(tmp_path: Path) -> None:
    drive = tmp_path / "drive"
    command = cut_by(
        tmp_path, f"cp --sparse=never {drive} {tmp_path / 'other'}; mv {tmp_path / 'other'} {drive}"
    )
    ended = run_powercut(tmp_path, command, "--back-seconds", "1")
    assert ended.exit_code != 0
    assert read_run(tmp_path / "run").manifest.cuts == ()
