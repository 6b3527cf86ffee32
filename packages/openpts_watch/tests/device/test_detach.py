"""Runs that go on by themselves: over a lost terminal, stopped from elsewhere, refused at once; viewers."""

import json
import os
import pty
import signal
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from openpts.ownership import CLAIM_NAME, read_owner
from openpts.record.reader import read_run
from openpts.record.writer import EVENTS_NAME, LOG_NAME
from tests.support.openpts_command import COMMAND
from tests.support.openpts_process import ONE_ELEMENT, openpts, start_openpts
from tests.support.processes import until

FILE = ("file:drive.img?size=64MiB",)
LONG = (*ONE_ELEMENT, "--step-seconds", "60", "--no-report")


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / EVENTS_NAME).read_bytes().splitlines()]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def has_ended(log: Path) -> bool:
    return "index: " in log.read_text()


def is_over(folder: Path) -> bool:
    return bool(lines(folder)[-1]["kind"] == "stream_finished")


def in_terminal(words: tuple[str, ...], cwd: Path) -> tuple[int, int]:
    """A command in a terminal of its own: its process, and the terminal's other end."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
        os.execv(COMMAND[0], [*COMMAND, *words])
    return pid, terminal


def read_all(terminal: int) -> bytes:
    found = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            return found
        if not piece:
            return found
        found += piece


@pytest.mark.slow
@pytest.mark.needs("terminals")
@pytest.mark.on_disk
def test_a_run_outlives_its_terminal_and_is_stopped_from_another(tmp_path: Path) -> None:
    pid, terminal = in_terminal(("run", "iops", *FILE, *LONG, "--out", "run", "--detach"), tmp_path)
    said = read_all(terminal).decode()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said
    os.close(terminal)
    assert "run folder run, in " in said
    folder = tmp_path / "run"
    owner = read_owner(folder / CLAIM_NAME)
    assert owner is not None
    assert alive(owner.pid)
    os.kill(owner.pid, signal.SIGHUP)
    until(lambda: any(line["kind"] == "progress" for line in lines(folder)), "measured")
    (listed,) = openpts("attach", "run", "--json", cwd=tmp_path).json["runs"][:1]
    assert (listed["state"], listed["test"]) == ("running", "iops")
    assert "on drive.img: running" in openpts("attach", "run", cwd=tmp_path).stdout

    stopped = openpts("attach", "run", "--stop", cwd=tmp_path)
    assert (stopped.exit_code, stopped.stderr) == (0, "")
    assert not alive(owner.pid)
    assert [line["kind"] for line in lines(folder)][-2:] == ["run_finished", "stream_finished"]
    assert lines(folder)[-1]["exit_code"] == 130
    assert read_run(folder).manifest.state == "interrupted"
    assert "stopped by the operator" in (folder / LOG_NAME).read_text()
    assert openpts("attach", "run", "--stop", cwd=tmp_path).complaint.endswith(
        "is not running: no process holds it"
    )


@pytest.mark.on_disk
def test_a_refusal_is_said_at_once_with_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "drive.img").write_bytes(b"data" * 4096)
    words = ("run", "iops", "file:drive.img", *LONG, "--out", "run")
    apart = openpts(*words, "--detach", cwd=tmp_path)
    here = openpts(*words, cwd=tmp_path)
    assert (apart.exit_code, apart.stderr) == (here.exit_code, here.stderr)
    assert apart.exit_code == 4
    assert not (tmp_path / "run").exists()
    for more in (("--json",), ("--events", "-")):
        assert openpts(*words, "--detach", *more, cwd=tmp_path).exit_code == 2


def started_in(folder: Path) -> bool:
    """Whether a process is there that was started by way of a folder below this one."""
    words = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words += path.read_bytes()
    return bytes(folder / "openpts-temporary-detach-") in words


@pytest.mark.on_disk
def test_a_start_that_is_killed_leaves_no_folder(tmp_path: Path) -> None:
    words = ("run", "iops", *FILE, *LONG, "--out", "run", "--detach")
    # the path of a socket has room for 108 bytes
    with TemporaryDirectory() as place, start_openpts(*words, cwd=tmp_path, TMPDIR=place) as process:
        until(partial(started_in, Path(place)), "started", 60)
        process.kill()
        process.communicate()
        until(lambda: not list(Path(place).glob("openpts-temporary-detach-*")), "removed", 60)
    openpts("attach", "run", "--stop", cwd=tmp_path)  # one that had begun before


@pytest.mark.slow
def test_suites_and_several_drives_print_into_their_folders(tmp_path: Path) -> None:
    short = ("--quick", "--no-report", "--detach")
    for words in (("all", "sim:mlc", "--tests", "tp,lat"), ("tp", "sim:mlc", "sim:client-qlc")):
        done = openpts("run", *words, *short, "--out", words[0], cwd=tmp_path)
        assert done.exit_code == 0, done.stderr
        assert f"run folder {words[0]}, in " in done.stdout
        path = tmp_path / words[0] / LOG_NAME
        until(partial(has_ended, path), "ended")
    every = openpts("attach", ".", "--json", cwd=tmp_path).json["runs"]
    here = [run for run in every if Path(run["folder"]).is_relative_to(tmp_path.resolve())]
    assert [run["state"] for run in here] == ["complete"] * 4


@pytest.mark.slow
@pytest.mark.on_disk
def test_a_suite_shows_its_run_in_progress_and_is_stopped_as_a_whole(tmp_path: Path) -> None:
    words = (
        "run",
        "all",
        *FILE,
        "--tests",
        "tp,lat",
        "--step-seconds",
        "60",
        "--no-report",
        "--out",
        "suite",
    )
    started = openpts(*words, "--detach", cwd=tmp_path)
    assert started.exit_code == 0, started.stderr
    inner = tmp_path / "suite" / "1-tp"
    until(lambda: (inner / EVENTS_NAME).exists() and len(lines(inner)) > 1, "began")
    shown = openpts("attach", "suite", cwd=tmp_path).stdout
    assert shown.startswith("TP, ")
    assert "on drive.img: running" in shown
    assert openpts("attach", "suite/1-tp", cwd=tmp_path).stdout.splitlines()[0] == shown.splitlines()[0]

    stopped = openpts("attach", "suite", "--stop", cwd=tmp_path)
    assert (stopped.exit_code, stopped.stderr) == (0, "")
    (row,) = [row for row in openpts("attach", "suite", cwd=tmp_path).stdout.splitlines() if "1-tp" in row]
    assert row.split()[:2] == ["interrupted", "tp"]


@pytest.mark.parametrize("words", [("--stop",), ("--stop", "--json", "."), ("missing",)])
def test_words_that_name_no_run_are_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    assert openpts("attach", *words, cwd=tmp_path).exit_code == 2


@pytest.mark.on_disk
def test_a_signal_is_for_the_process_of_the_claim_alone(tmp_path: Path) -> None:
    """One that only has the number of a run's process, or its lock, gets none."""
    folder = tmp_path / "run"
    openpts("run", "iops", *FILE, *LONG, "--out", "run", "--detach", cwd=tmp_path)
    claim = folder / CLAIM_NAME
    whole = claim.read_bytes()
    other = subprocess.Popen(["sleep", "60"])
    try:
        forged = json.loads(whole) | {"pid": other.pid}
        claim.write_bytes(json.dumps(forged).encode() + b"\n")
        assert openpts("attach", "run", "--stop", cwd=tmp_path).exit_code == 2
        started = Path(f"/proc/{other.pid}/stat").read_text().rpartition(")")[2].split()[19]
        forged |= {"process_started_ticks": int(started)}
        claim.write_bytes(json.dumps(forged).encode() + b"\n")
        assert "does not hold it" in openpts("attach", "run", "--stop", cwd=tmp_path).complaint
        forged |= {"boot_id": "another"}
        claim.write_bytes(json.dumps(forged).encode() + b"\n")
        assert (
            "use `openpts attach run --stop` there"
            in openpts("attach", "run", "--stop", cwd=tmp_path).complaint
        )
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
        claim.write_bytes(whole)
        assert openpts("attach", "run", "--stop", cwd=tmp_path).exit_code == 0


def measured(folder: Path) -> list[dict[str, Any]]:
    """What the events tell of the measurement, without moments and names."""
    kept = {"phase_started", "step_finished", "steady_state", "cycle_finished", "run_finished"}
    return [{**line, "at": ""} for line in lines(folder) if line["kind"] in kept]


@pytest.mark.slow
@pytest.mark.needs("terminals")
def test_a_viewer_that_is_killed_leaves_events_and_record_as_they_are(tmp_path: Path) -> None:
    pytest.importorskip("textual", reason="the extra openpts[watch] is not installed")
    words = ("run", "iops", "sim:enterprise-tlc", "--seed", "1", "--no-report")
    assert openpts(*words, "--out", "alone", "--detach", cwd=tmp_path).exit_code == 0
    assert openpts(*words, "--out", "seen", "--detach", cwd=tmp_path).exit_code == 0
    pid, terminal = in_terminal(("attach", "seen"), tmp_path)
    drawn = b""
    while b"Plan" not in drawn:
        drawn += os.read(terminal, 65536)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    for name in ("alone", "seen"):
        until(partial(is_over, tmp_path / name), "finished")
    assert measured(tmp_path / "seen") == measured(tmp_path / "alone")
    alone, seen = (read_run(tmp_path / name) for name in ("alone", "seen"))
    assert [step.sample for step in seen.steps] == [step.sample for step in alone.steps]
