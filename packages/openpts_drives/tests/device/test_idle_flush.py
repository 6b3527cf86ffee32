"""`openpts idle-flush` as its user starts it."""

import hashlib
import os
import signal
import time
from pathlib import Path

import pytest

from openpts.units import MIB
from tests.support.openpts_process import openpts, start_openpts
from tests.support.transcript import Golden

QUICK = ("--look", "0.01", "--probe", "0.1", "--least", "0.01")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    path = tmp_path / "scratch"
    path.write_bytes(os.urandom(32 * MIB))
    return path


@pytest.mark.slow
def test_it_waits_reads_and_changes_nothing(scratch: Path) -> None:
    before = hashlib.sha256(scratch.read_bytes()).hexdigest()
    order = ("idle-flush", f"file:{scratch}", *QUICK, "--longest", "0.1", "--json")
    started = time.monotonic()
    ended = openpts(*order, cwd=scratch.parent, timeout_s=60)
    looks = ended.json["looks"]
    assert ended.exit_code == (0 if ended.json["settled"] else 9), ended.stderr
    assert ended.json["target"] == f"file:{scratch}"
    assert ended.json["user_capacity_bytes"] == 32 * MIB
    assert ended.json["rule"]["probe_ns"] == 10**8
    # the shared machine may never be quiet: then the wait lasts as long as it may
    assert 5 <= len(looks) <= 10
    assert ended.json["settled"] is looks[-1]["settled"]
    assert looks[-1]["settled"] or len(looks) == 10
    assert looks[-1]["idle_s"] == pytest.approx(0.6 * len(looks))
    assert time.monotonic() - started >= 0.7 * len(looks)
    assert all(0 < look["median_us"] <= look["p99_us"] for look in looks)
    assert hashlib.sha256(scratch.read_bytes()).hexdigest() == before


def test_a_wait_that_can_not_settle_anything_is_refused(scratch: Path, golden: Golden) -> None:
    ended = openpts("idle-flush", f"file:{scratch}", "--longest", "2", cwd=scratch.parent, timeout_s=60)
    assert ended.exit_code == 2
    assert ended.stderr == golden


def test_what_does_not_exist_is_not_waited_for(tmp_path: Path, golden: Golden) -> None:
    ended = openpts("idle-flush", "/dev/no-such-drive", cwd=tmp_path, timeout_s=60)
    assert ended.exit_code == 3
    assert ended.stderr == golden


def test_ctrl_c_ends_it_at_once(scratch: Path) -> None:
    with start_openpts("idle-flush", f"file:{scratch}", "--look", "5", cwd=scratch.parent) as process:
        assert process.stdout is not None
        while "what still moves" not in (line := process.stdout.readline()):
            assert line, "it has ended without a word of that"
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=20)
    assert (process.returncode, complaint) == (130, "openpts: stopped by the operator\n")
