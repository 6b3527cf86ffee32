"""A report that is ended or killed says so itself, and its helpers say nothing."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from openpts.record.writer import DATABASE_NAME

PATIENCE_S = 60


def report(program: str, *folders: Path, out: Path) -> "subprocess.Popen[str]":
    """`openpts report` with something put in its way, in a process group of its own."""
    script = f"{textwrap.dedent(program)}\nfrom openpts.cli.main import main\nmain()"
    return subprocess.Popen(
        [sys.executable, "-c", script, "report", *map(str, folders), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENPTS_CACHE": "off"},
        process_group=0,
    )


# nothing is made until the signal has come, with the helpers that draw at work
WAITING = """
    import time
    from openpts.report import write
    def wait(*_arguments):
        print("ready", flush=True)
        time.sleep(60)
    write._parts = wait
"""
# two other processes are in the middle of a record, and go on for a while
READING = """
    import time
    from openpts_pages.plots import worker_processes
    from openpts.report import write
    worker_processes._processors = lambda: 2
    make = write.part_of
    def slowly(*arguments):
        print("ready", flush=True)
        time.sleep(1)
        return make(*arguments)
    write.part_of = slowly
"""
# another process draws, and goes on for a while
DRAWING = """
    import time
    from openpts_pages.plots import svg, worker_processes
    worker_processes._processors = lambda: 2
    draw = svg.made_drawing
    def made_drawing(spec):
        print("ready", flush=True)
        time.sleep(1)
        return draw(spec)
    svg.made_drawing = made_drawing
"""


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize(
    ("program", "send", "number"),
    [
        (WAITING, os.kill, signal.SIGTERM),
        (READING, os.killpg, signal.SIGINT),
        (DRAWING, os.killpg, signal.SIGHUP),
    ],
)
def test_a_signal_ends_a_report_with_a_word(program, send, number, reports, tmp_path) -> None:
    folders = [reports.folder("steady"), reports.folder("five rounds")]
    with report(program, *folders, out=tmp_path / "out") as process:
        assert process.stdout.readline() == "ready\n"
        send(process.pid, number)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert errors.strip() == "openpts: stopped by the operator"
    assert process.returncode == 130
    assert not (tmp_path / "out").exists()


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("program", [READING, DRAWING], ids=["reading", "drawing"])
def test_helpers_of_a_killed_report_end_without_a_word(program, reports, tmp_path) -> None:
    folders = [reports.folder("steady"), reports.folder("five rounds")]
    with report(program, *folders, out=tmp_path / "out") as process:
        assert process.stdout.readline() == "ready\n"
        process.kill()
        # until the last of them has closed the error channel, which they share
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert errors == ""


def test_a_helper_that_can_t_say_what_failed_to_a_killed_report_says_nothing(tmp_path) -> None:
    """The other way to end: with a record that can't be read."""
    folders = []
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / DATABASE_NAME).write_bytes(b"no database")
        folders.append(tmp_path / name)
    failing = READING.replace("return make(*arguments)", "raise write.RecordError('unreadable')")
    failing = failing.replace("slowly\n", "slowly\n    write.read_for_report = str\n")
    failing += "    write.date_of = lambda _manifests: ''\n"
    failing += "    from unittest.mock import Mock\n"
    failing += "    write.ReportSource.manifests = lambda source: [Mock() for _ in source.run_folders]\n"
    with report(failing, *folders, out=tmp_path / "out") as process:
        assert process.stdout.readline() == "ready\n"
        process.kill()
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert errors == ""
