"""Words of a run that is submitted to a fleet, or goes on on another host: what is wrong is said at once."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from openpts.errors import FleetError, UsageError
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.cli.fleet import fleet
from openpts_batch.fleet.configuration import Observation

FLEET = """
[hosts.h1]
slots = { s00 = "sim:mlc" }
"""


def submit(folder: Path, *test_words: str) -> None:
    (folder / "fleet.toml").write_text(FLEET)
    words = ("submit", "--fleet", str(folder / "fleet.toml"), "--host", "h1", "--slot", "s00", *test_words)
    fleet.main(list(words), standalone_mode=False)


def test_a_test_that_there_is_not(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"^there is no test 'iosp': did you mean iops\?$"):
        submit(tmp_path, "iosp")
    with pytest.raises(UsageError, match=r"^there is no test 'xyzzy': there are iops, tp, "):
        submit(tmp_path, "xyzzy")


@pytest.mark.parametrize("words", [("iops", "--hepl"), ("iops", "--tc", "none"), ("iops", "--tc")])
def test_an_option_that_the_test_does_not_take(tmp_path, words) -> None:
    with pytest.raises(click.UsageError):
        submit(tmp_path, *words)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--json",), "--json stands before iops"),
        (("--run-id=019aa0c1-7d52-7c43-9d1e-0e5c8b3f2a10",), "--run-id stands before iops"),
        (("--label", "lot=7"), "--label stands before iops"),
        (("--confirm-serial", "S"), "--confirm-serial can't be given: --serial, before iops, is"),
        (("--out", "x"), "--out can't be given: the host has a folder for each run"),
        (("--events", "x"), "--events can't be given: the host keeps the events of each run"),
        (("--drives", "slot=1"), "--drives is for the drives of one machine"),
        (("--at-most", "2"), "--at-most is for the drives of one machine"),
    ],
)
def test_what_the_fleet_gives_a_run_itself(tmp_path, words, what) -> None:
    with pytest.raises(UsageError, match=f"^{what}"):
        submit(tmp_path, "iops", *words)


def test_the_slot_is_the_target(tmp_path) -> None:
    with pytest.raises(click.UsageError, match=r"^/dev/sdx: the drive of a run is named once, by its slot"):
        submit(tmp_path, "iops", "--tc", "2", "/dev/sdx")


@pytest.mark.parametrize("words", [("iops", "--tc", "2"), ("app", "--", "make", "--out", "x")])
def test_words_that_make_sense_go_to_slurm(tmp_path, words, monkeypatch) -> None:
    # Slurm's own would wait for a controller
    (tmp_path / "squeue").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(FleetError, match=r"squeue failed|Slurm can't be asked: "):
        submit(tmp_path, *words)


RUN = "019aa0c1-7d52-7c43-9d1e-0e5c8b3f2a10"
REQUEST = RunRequest(
    run_id=RUN,
    test_words=(
        *("iops", "--confirm-device-path", "/dev/nvme0n1", "--erase-signatures", "--tc", "2"),
        *("--confirm-namespace=/dev/nvme0n2", "--confirm-namespace", "/dev/nvme0n3"),
    ),
    slot="s00",
    serial="S1",
    host="h1",
)
NAMED = ("--confirm-device-path=/dev/nvme0n1",)
NAMESPACES = ("--confirm-namespace=/dev/nvme0n2", "--confirm-namespace=/dev/nvme0n3")


class Backend:
    """Has one run that was interrupted; ``then`` is how it is found when it was submitted again."""

    def __init__(self, then: RunState = RunState.RUNNING, reason: str = "") -> None:
        self.then, self.reason = then, reason
        self.words: Sequence[str] | None = None

    def observe(self, run_id: str) -> Observation:
        return Observation(run_id, RunState.INTERRUPTED, "h1", "its process was killed", request=REQUEST)

    def submit(self, request: RunRequest, *, again: bool, resume_words: Sequence[str]) -> Observation:
        assert (request, again) == (REQUEST, True)
        self.words = tuple(resume_words)
        return Observation(request.run_id, self.then, "h1", self.reason, request=request)


def resume(monkeypatch, backend: Backend, *words: str) -> Any:
    monkeypatch.setattr("openpts_batch.cli.fleet.backend_of", lambda _: backend)
    return CliRunner().invoke(fleet, ["resume", "--fleet", str(Path("f.toml")), RUN, *words])


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ((), (*NAMED, *NAMESPACES)),
        (("--confirm-serial", "S1"), (*NAMED, *NAMESPACES)),
        (("--erase-signatures",), (*NAMED, *NAMESPACES, "--erase-signatures")),
        (
            ("--confirm-device-path", "/dev/nvme1n1", "--accept-other-version"),
            (*NAMESPACES, "--accept-other-version", "--confirm-device-path=/dev/nvme1n1"),
        ),
        (
            ("--confirm-namespace", "/dev/nvme1n2", "--confirm-namespace", "/dev/nvme1n3"),
            (*NAMED, "--confirm-namespace=/dev/nvme1n2", "--confirm-namespace=/dev/nvme1n3"),
        ),
    ],
)
def test_what_names_a_drive_is_handed_on_and_what_is_typed_counts_instead(
    monkeypatch, typed, expected
) -> None:
    backend = Backend()
    assert resume(monkeypatch, backend, *typed).exit_code == 0
    assert backend.words is not None
    assert sorted(backend.words) == sorted(expected)


def test_the_serial_number_of_another_drive_is_no_consent(monkeypatch) -> None:
    backend = Backend()
    done = resume(monkeypatch, backend, "--confirm-serial", "S2")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == f"--confirm-serial S2: run {RUN} is for S1"
    assert backend.words is None


def test_a_run_that_its_host_refuses_to_go_on_with_is_an_error(monkeypatch) -> None:
    """It names what the operator has not typed now, as just that may be out of date."""
    refusal = "can't continue: refused [confirmation]: --confirm-device-path /dev/nvme0n1 does not match"
    words = ("--confirm-namespace", "/dev/nvme1n2", "--json")
    done = resume(monkeypatch, Backend(RunState.INTERRUPTED, refusal), *words)
    assert isinstance(done.exception, FleetError)
    handed_on = "; it was submitted with --confirm-device-path=/dev/nvme0n1"
    assert str(done.exception) == f"run {RUN} is interrupted: {refusal}{handed_on}"
    printed = json.loads(done.stdout)
    assert (printed["exit_code"], printed["runs"][0]["reason"]) == (15, refusal)
