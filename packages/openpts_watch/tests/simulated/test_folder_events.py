"""The events in a run's folder: in each run, whole after a kill, appended to, and no part of a record."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from msgspec.structs import replace

from docs.schema_files import EVENTS
from openpts.cli.folder_events import folder_events
from openpts.record.manifest import RunState
from openpts.record.writer import EVENTS_NAME
from openpts.runner.event_lines import RunEnded
from tests.support.openpts_command import COMMAND
from tests.support.openpts_process import openpts
from tests.support.told_run import STARTED

SHORT = ("--quick", "--no-report")


def lines_of(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / EVENTS_NAME).read_bytes().splitlines()]
    of = Draft202012Validator(json.loads(EVENTS.read_text()))
    for line in found:
        of.validate(line)
    return found


def killed(folder: Path) -> None:
    """A run of which some steps are finished when it is killed."""
    words = ("run", "iops", "sim:mlc", "--quick", "--no-report", "--seed", "1", "--out", "run")
    process = subprocess.Popen([*COMMAND, *words], cwd=folder, stdout=subprocess.DEVNULL)
    path = folder / "run" / EVENTS_NAME
    while not (path.exists() and path.read_bytes().count(b"step_finished") > 5):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_a_run_that_was_killed_and_resumed_has_the_events_of_both_attempts(tmp_path: Path) -> None:
    killed(tmp_path)
    with (tmp_path / "run" / EVENTS_NAME).open("ab") as file:
        file.write(b'{"kind":"step_fin')  # what a full disk or a power cut leaves
    done = openpts("resume", "run", "--no-report", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    lines = lines_of(tmp_path / "run")
    kinds = [line["kind"] for line in lines]
    assert kinds.count("stream_started") == kinds.count("run_started") == 2
    first, second = (line for line in lines if line["kind"] == "run_started")
    assert (first["resumes_at"], first["run"]) == ("", second["run"])
    assert second["resumes_at"]
    assert kinds[-2:] == ["run_finished", "stream_finished"]
    assert openpts("report", "run", "--no-pdf", cwd=tmp_path).exit_code == 0
    assert openpts("verify", "run", cwd=tmp_path).exit_code == 0


@pytest.mark.slow
def test_each_test_of_a_suite_has_its_own_and_its_plan(tmp_path: Path) -> None:
    done = openpts("run", "all", "sim:mlc", "--tests", "iops,tp", *SHORT, "--out", "s", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    for name in ("1-iops", "2-tp"):
        lines = lines_of(tmp_path / "s" / name)
        (started,) = (line for line in lines if line["kind"] == "run_started")
        assert Path(started["folder"]) == (tmp_path / "s" / name)
        assert sum(phase["steps"] for phase in started["plan"]) == started["planned_steps"]
        assert sum(phase["longest_ns"] for phase in started["plan"]) == started["longest_ns"]
        judged = [line for line in lines if line["kind"] == "steady_state"]
        for variable in (one for line in judged for one in line["variables"]):
            values, window = variable["values"], variable["window"]
            assert len(values) == len(window) == 5
            assert abs(sum(values) / 5 / variable["average"] - 1) < 1e-9


def test_a_link_in_its_place_is_not_followed_and_ends_no_run(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "elsewhere").write_text("kept")
    (tmp_path / EVENTS_NAME).symlink_to("elsewhere")
    with folder_events() as on_event:
        on_event(replace(STARTED, folder=tmp_path))
        on_event(RunEnded(state=RunState.COMPLETE, reason=None))
    assert (tmp_path / "elsewhere").read_text() == "kept"
    assert "events.jsonl is incomplete, the run itself is not: " in capsys.readouterr().err


def test_a_line_that_the_disk_has_no_room_for_is_left_out_whole(tmp_path: Path, capsys: Any) -> None:
    """A limit on the file's size is a disk that is full in the middle of a line."""
    script = f"""
import resource, signal
from pathlib import Path
from msgspec.structs import replace
from openpts.cli.folder_events import folder_events
from openpts.record.manifest import RunState
from openpts.runner.event_lines import RunEnded, ProgramStarted
from tests.support.told_run import STARTED
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with folder_events() as on_event:
    on_event(ProgramStarted(program_version="0", command_line=("run",)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))
    on_event(replace(STARTED, folder=Path({str(tmp_path)!r})))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    on_event(RunEnded(state=RunState.COMPLETE, reason=None))
"""
    done = subprocess.run([COMMAND[0], "-c", script], capture_output=True, text=True, check=True)
    assert [line["kind"] for line in lines_of(tmp_path)] == ["stream_started", "run_finished"]
    assert "1 lines are missing: no space left" in done.stderr
