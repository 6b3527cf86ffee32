"""What a host does for a run: however often it is started, it is carried out once."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from openpts.ownership import new_run_id
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.fleet.configuration import Observation, read_fleet
from openpts_batch.fleet.host_side import HostJournal, HostSide, RunNote
from tests.support.openpts_process import Ended, openpts, start_openpts
from tests.support.processes import until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

SHORT = ("wsat", "--time-scale", "0.0005", "--tc", "1", "--qd", "1", "--telemetry-period", "off")
LONG = ("wsat", "--time-scale", "0.05", *SHORT[3:])


class Host:
    """A host of one slot, which is a scratch file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "fleet.toml"
        target = f"file:{folder}/scratch?size=16MiB"
        self.file.write_text(f'runs = "{folder}/runs"\n[hosts.h1.slots]\ns00 = "{target}"\n')
        self.side = HostSide(read_fleet(self.file).host("h1"))

    @property
    def journal(self) -> HostJournal:
        return self.side.journal

    def words(
        self, run_id: str, *test: str, again: bool = False, resume_words: tuple[str, ...] = (), **values: Any
    ) -> list[str]:
        request = {"run_id": run_id, "test_words": test, "slot": "s00", **values}
        verb = ["fleet", "start", "--fleet", str(self.file), "--here", "h1"]
        return [*verb, *["--again"] * again, "--job", "7", "--", json.dumps(request), *resume_words]

    def start(self, run_id: str, *test: str, again: bool = False, **values: Any) -> Ended:
        return openpts(*self.words(run_id, *test, again=again, **values), cwd=self.folder)

    def begin(self, run_id: str, *test: str) -> "subprocess.Popen[str]":
        """Start it, and return when it has claimed its folder and finished a step, if it has any."""
        process = start_openpts(*self.words(run_id, *test), cwd=self.folder)
        until(lambda: (self.journal.folder_of(run_id) / "run.db").exists() and self.journal.is_held(run_id))
        return process

    def observe(self, run_id: str) -> Observation:
        found = self.journal.settled(run_id)
        assert found is not None
        return found


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


def waits_for(process: "subprocess.Popen[str]", lock: Path) -> bool:
    """Whether it has the file open that the one before it has locked."""
    with suppress(OSError):
        return any(fd.readlink() == lock for fd in Path(f"/proc/{process.pid}/fd").iterdir())
    return False


def attempts(host: Host, run_id: str) -> int:
    return len((host.journal.note_of(run_id) or RunNote()).starts)


def test_a_run_that_is_complete_is_not_started_again(host: Host) -> None:
    run_id = new_run_id()
    first = host.start(run_id, *SHORT, labels={"lot": "7"})
    assert first.exit_code == 0, first.stderr
    claim = host.journal.claim_of(run_id).read_bytes()
    second = host.start(run_id, *SHORT)
    assert (second.exit_code, second.stdout) == (0, f"run {run_id} is complete\n")
    assert host.journal.claim_of(run_id).read_bytes() == claim
    assert attempts(host, run_id) == 1
    found = host.observe(run_id)
    assert (found.stage, found.job, found.folder) == (
        RunState.COMPLETE,
        "7",
        str(host.journal.folder_of(run_id)),
    )
    told = host.journal.events_of(run_id).read_text().splitlines()
    assert json.loads(told[-1])["kind"] == "stream_finished"


@pytest.mark.slow
def test_the_folder_is_the_runs_whatever_the_request_says(host: Host) -> None:
    """It was elsewhere, and the host said that nothing was written."""
    run_id = new_run_id()
    words = ("--out", str(host.folder / "elsewhere"), "--run-id", new_run_id())
    assert host.start(run_id, *SHORT, *words).exit_code == 0
    assert host.observe(run_id).stage is RunState.COMPLETE
    assert host.journal.claim_of(run_id).exists()
    assert not (host.folder / "elsewhere").exists()


def test_the_drive_comes_behind_what_the_test_itself_takes(host: Host) -> None:
    """A job file was taken for the drive, and the drive for the job file."""
    carried_out: list[Sequence[str]] = []
    words = ("workload", "job.fio", "--quick")
    host.side.start(RunRequest(run_id=new_run_id(), test_words=words, slot="s00"), carried_out.append)
    (found,) = carried_out
    assert found[:4] == ["run", *words]
    assert found[-1] == f"file:{host.folder}/scratch?size=16MiB"


def test_a_second_start_waits_for_the_first_and_says_how_it_ended(host: Host) -> None:
    run_id = new_run_id()
    first = host.begin(run_id, *LONG)
    second = start_openpts(*host.words(run_id, *LONG), cwd=host.folder)
    until(lambda: waits_for(second, host.journal.lock_of(run_id)))
    assert second.poll() is None
    assert host.observe(run_id).stage is RunState.RUNNING
    os.kill(first.pid, signal.SIGTERM)
    assert end(first)[0] == 130
    code, said = end(second)
    assert code == 15
    assert f"run {run_id} is interrupted: stopped by the operator" in said
    assert attempts(host, run_id) == 1


@pytest.mark.slow
def test_who_ends_a_start_that_waits_ends_the_run(host: Host) -> None:
    """A scheduler that has started a run twice knows only the second by now."""
    run_id = new_run_id()
    first = host.begin(run_id, *LONG)
    second = start_openpts(*host.words(run_id, *LONG), cwd=host.folder)
    until(lambda: waits_for(second, host.journal.lock_of(run_id)))
    second.terminate()
    assert end(first)[0] == 130
    assert "is cancelled" in end(second)[1]


@pytest.mark.slow
def test_a_killed_run_stays_interrupted_until_it_is_resumed(host: Host) -> None:
    run_id = new_run_id()
    process = host.begin(run_id, *SHORT)
    process.kill()
    end(process)
    found = host.observe(run_id)
    assert (found.stage, found.reason) == (RunState.INTERRUPTED, "its process was killed")
    again = host.start(run_id, *SHORT)
    assert again.exit_code == 15
    assert attempts(host, run_id) == 1
    resumed = host.start(run_id, *SHORT, again=True)
    assert resumed.exit_code == 0, resumed.stderr
    assert host.observe(run_id).stage is RunState.COMPLETE
    assert attempts(host, run_id) == 2
    assert len(host.journal.claim_of(run_id).read_text().splitlines()) == 2


@pytest.mark.slow
def test_what_was_put_in_the_way_since_is_lost_only_to_a_word_of_its_own(host: Host) -> None:
    run_id, words = new_run_id(), (*SHORT, "--overwrite-file")
    process = host.begin(run_id, *words)
    process.kill()
    end(process)
    (host.folder / "scratch").write_bytes(b"thesis" * 1000)
    refused = host.start(run_id, *words, again=True)
    assert refused.exit_code == 4
    assert (host.folder / "scratch").read_bytes().startswith(b"thesis")
    found = host.observe(run_id)
    assert found.stage is RunState.INTERRUPTED
    assert found.reason.startswith("can't continue: refused [file-data]: ")
    assert found.reason.endswith("to overwrite it add --overwrite-file")
    resumed = host.start(run_id, *words, again=True, resume_words=("--overwrite-file",))
    assert resumed.exit_code == 0, resumed.stderr
    assert (host.observe(run_id).stage, attempts(host, run_id)) == (RunState.COMPLETE, 3)
    assert len(host.journal.claim_of(run_id).read_text().splitlines()) == 2


def test_after_a_restart_of_the_host_its_runs_were_interrupted(host: Host, monkeypatch) -> None:
    run_id = new_run_id()
    process = host.begin(run_id, *SHORT)
    process.kill()
    end(process)
    monkeypatch.setattr("openpts_batch.fleet.host_side.boot_id", lambda _roots: "another")
    assert host.observe(run_id).reason == "the host was restarted, or lost its power, while it ran"
    monkeypatch.undo()
    assert host.observe(run_id).reason == "the host was restarted, or lost its power, while it ran"


def test_a_cancelled_run_ends_and_never_begins(host: Host) -> None:
    run_id, never = new_run_id(), new_run_id()
    process = host.begin(run_id, *LONG)
    found = host.side.stop(run_id)
    assert (found.stage, host.journal.is_alive(run_id)) == (RunState.CANCELLED, False)
    assert end(process)[0] == 130
    assert host.side.stop(never).stage is RunState.CANCELLED
    ended = host.start(never, *SHORT)
    assert ended.exit_code == 15
    assert not host.journal.folder_of(never).exists()
    assert host.start(run_id, *SHORT, again=True).exit_code == 15


@pytest.mark.slow
def test_who_ignores_a_request_to_end_is_killed(host: Host, monkeypatch) -> None:
    monkeypatch.setattr("openpts_batch.fleet.host_side._TO_STOP_S", 0.5)
    run_id = new_run_id()
    process = host.begin(run_id, *LONG)
    os.kill(process.pid, signal.SIGSTOP)
    assert host.side.stop(run_id).stage is RunState.CANCELLED
    assert end(process)[0] == -signal.SIGKILL


@pytest.mark.parametrize(
    ("test", "values", "said"),
    [
        (SHORT, {"slot": "s09"}, "h1 has no slot s09: see its fleet file"),
        (SHORT, {"serial": "S1"}, "refused [slot]: slot s00 of h1 has drive None, and run"),
        (SHORT, {"target": "file:/other?size=16MiB"}, "refused [slot]: slot s00 of h1 has file:/"),
        (("wsta",), {}, "No such command 'wsta'"),
        ((*SHORT, "--queue"), {}, "No such option '--queue'"),
    ],
)
def test_what_is_refused_has_its_reason_in_the_journal(
    host: Host, test: tuple[str, ...], values: dict[str, str], said: str
) -> None:
    run_id = new_run_id()
    ended = host.start(run_id, *test, **values)
    assert ended.exit_code in {2, 4}
    found = host.observe(run_id)
    assert found.stage is RunState.FAILED
    assert found.reason.startswith(said), found.reason
    assert host.start(run_id, *SHORT).exit_code == 15, "a refusal is final"


def test_what_the_host_prints_for_others_is_its_journal(host: Host) -> None:
    run_id = new_run_id()
    host.start(run_id, "wsta")
    verb = ["--fleet", str(host.file), "--here", "h1"]
    listed = openpts("fleet", "journal", *verb, cwd=host.folder).json
    assert listed == openpts("fleet", "journal", *verb, run_id, cwd=host.folder).json
    assert (listed[0]["run_id"], listed[0]["stage"]) == (run_id, "failed")
    assert openpts("fleet", "journal", *verb, new_run_id(), cwd=host.folder).json == []
    assert openpts("fleet", "slots", *verb, cwd=host.folder).json == {"s00": ""}


def test_a_damaged_note_is_an_error_and_no_permission(host: Host) -> None:
    run_id = new_run_id()
    host.start(run_id, "wsta")
    (host.folder / f"runs/journal/{run_id}.json").write_text("{")
    ended = host.start(run_id, *SHORT)
    assert ended.exit_code == 15
    assert f"{run_id}.json can't be read: " in ended.complaint
