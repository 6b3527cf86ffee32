"""What is wrong with the words of a run is said when it is submitted, and not when its turn has come."""

import os
from pathlib import Path

import click
import pytest

from openpts.errors import FleetError, UsageError
from openpts_many.cli.fleet import fleet

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
