"""Commands of the operator's at moments of a run: when they start, and what becomes of their failures."""

import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from msgspec.structs import replace

from openpts.errors import RunFailedError, UsageError
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.report.run_conditions_page import run_conditions_page
from openpts.runner.event_lines import PurgeStarted, RunEnded
from openpts.runner.events import Event, StepFinished
from openpts.runner.run import run_test
from openpts.runner.settings import RunSettings
from openpts.vocabulary.hook import Hook, HookPoint, HookRun
from tests.support.killed_run import small
from tests.support.manual import ROOT
from tests.support.page_blocks import rows, tables


def settings_with(tmp_path: Path, *hooks: str, limit_s: float = 20.0) -> RunSettings:
    """A throughput test of two cycles, on a drive that follows a script, with these hooks."""
    return replace(small(tmp_path), hooks=hooks, hook_limit_s=limit_s)


def hooks_of(folder: Path) -> tuple[HookRun, ...]:
    return read_run(folder).manifest.hooks


def test_each_moment_comes_when_it_is_there(tmp_path: Path) -> None:
    """Each command writes its moment into a file; the run writes there as well."""
    log = tmp_path / "log"
    words = f"sh -c 'echo $OPENPTS_MOMENT $OPENPTS_CYCLE $OPENPTS_PHASE $OPENPTS_RUN_STATE >> {log}'"
    moments = ("run-start", "cycle-start", "cycle-end", "run-end")

    def listen(event: Event) -> None:
        if isinstance(event, PurgeStarted | RunEnded):
            with log.open("a") as file:
                file.write(f"{type(event).__name__}\n")

    settings = settings_with(tmp_path, *(f"{moment}={words}" for moment in moments))
    folder = run_test(PROCEDURES["tp"], settings, [listen]).folder
    cycle = ["cycle-start", "PurgeStarted"]
    expected = ["run-start", *cycle, "cycle-end 1", *cycle, "cycle-end 2", "run-end complete", "RunEnded"]
    assert [" ".join(line.split()) for line in log.read_text().splitlines()] == expected
    assert [hook.moment.value for hook in hooks_of(folder)] == [
        word for line in expected if (word := line.split()[0]) in moments
    ]
    assert all(hook.succeeded for hook in hooks_of(folder))


def test_phases_do_not_wait_for_theirs(tmp_path: Path) -> None:
    finished = tmp_path / "finished"

    def listen(event: Event) -> None:
        if isinstance(event, StepFinished):
            finished.touch()

    wait = f"until [ -e {finished} ]; do sleep 0.05; done"
    settings = settings_with(tmp_path, f"phase-start=sh -c '{wait}; echo $OPENPTS_PHASE $OPENPTS_NUMBER'")
    folder = run_test(PROCEDURES["tp"], settings, [listen]).folder
    run = read_run(folder)
    phases = {f"{step.place.phase} {step.place.number}" for step in run.steps}
    assert {hook.output for hook in run.manifest.hooks} == phases


def test_a_failure_at_the_start_ends_the_run_before_its_purge(tmp_path: Path) -> None:
    seen: list[type[Event]] = []
    settings = settings_with(tmp_path, "run-start=sh -c 'echo no relay; exit 3'")
    with pytest.raises(RunFailedError) as failed:
        run_test(PROCEDURES["tp"], settings, [lambda event: seen.append(type(event))])
    assert str(failed.value) == "--hook run-start: \"sh -c 'echo no relay; exit 3'\": exit code 3"
    assert PurgeStarted not in seen
    run = read_run(tmp_path / "whole")
    assert run.manifest.state is RunState.FAILED
    assert [(hook.exit_code, hook.output) for hook in run.manifest.hooks] == [(3, "no relay")]


def test_a_program_that_is_not_there_is_refused_before_anything_else(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--hook run-end: program no-such-program not found$"):
        run_test(PROCEDURES["tp"], settings_with(tmp_path, "run-end=no-such-program"), [])
    assert not (tmp_path / "whole").exists()


def test_other_failures_are_in_record_and_report(tmp_path: Path) -> None:
    removed = tmp_path / "removed"
    removed.write_text("#!/bin/sh\n")
    removed.chmod(0o755)
    settings = settings_with(
        tmp_path,
        f"run-start=rm {removed}",
        "cycle-end=false",
        f"run-end={removed}",
        "0s=sleep 60",
        "0.1s=yes",
        limit_s=0.5,
    )
    began_s = time.monotonic()
    folder = run_test(PROCEDURES["tp"], settings, []).folder
    assert time.monotonic() - began_s < 30
    run = read_run(folder)
    assert run.manifest.state is RunState.COMPLETE
    ended = {(hook.moment, hook.command): hook.how_it_ended for hook in run.manifest.hooks}
    assert ended[HookPoint.CYCLE_END, "false"] == "exit code 1"
    assert ended[HookPoint.RUN_END, str(removed)] == "can't be started: No such file or directory"
    assert ended[HookPoint.TIME, "sleep 60"] == "killed at its time limit of 0.50 s"
    table = tables(run_conditions_page(run))["run-conditions-hooks"]
    assert len(rows(table)) == len(run.manifest.hooks)


def test_a_time_that_never_comes_starts_nothing(tmp_path: Path) -> None:
    folder = run_test(PROCEDURES["tp"], settings_with(tmp_path, "2h=touch never"), []).folder
    assert hooks_of(folder) == ()


@pytest.mark.parametrize("text", ["later=true", "run-start", "run-start=", "run-start='", "1d=true", "=true"])
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^invalid --hook "):
        Hook.of(text)


@contextmanager
def _receiver(received: list[bytes]) -> Iterator[str]:
    """The address of a server that keeps what is sent to it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_lines_of_the_manual_send_how_a_run_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8")
    curl, mail = re.findall(r"--hook ('run-end=sh -c .*')", page)
    mailer = tmp_path / "mail"
    mailer.write_text(f'#!/bin/sh\n(echo "$@"; cat) > {tmp_path / "mailed"}\n')
    mailer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    received: list[bytes] = []
    with _receiver(received) as address:
        (curl,) = shlex.split(curl.replace("https://ntfy.sh/ssd-lab", address))
        settings = settings_with(tmp_path, curl, *shlex.split(mail))
        folder = run_test(PROCEDURES["tp"], settings, []).folder
    run = read_run(folder).manifest
    assert received == [f"{run.test_id}:complete".encode()]
    assert (tmp_path / "mailed").read_text().split() == ["-s", "complete", "lab@example.com", str(folder)]
