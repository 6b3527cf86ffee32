"""A drive is reset, fails where its driver tries again, does not answer for seconds, gets 100 times slower.

Its run goes on to the end, on one machine for all of it. What the drive took is in the figures and in the
ledger; no time limit of openpts ends a run. Only the operator does, also while the drive hangs.
"""

import re
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import Duration
from tests.lab.drive_faults import NVME, Left, left_by
from tests.lab.machine import needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

PART = "/dev/mapper/part --confirm-device-path /dev/mapper/part"
SECTORS = 262144
TWO_S = "--step-seconds 2"
IO_TIMEOUT_S = 4
HANG_S = 12
SLOW_MS = 50  # instead of some tenths of a millisecond


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """What all of them left."""
    folder = disk_path_factory.mktemp("slow")
    config = "/sys/bus/pci/devices/0000:01:00.0/config"
    left_by(
        folder,
        *("--nvme", "256M", "--append", f"nvme_core.io_timeout={IO_TIMEOUT_S}"),
        script=f"""
        begin reset {NVME} {TWO_S}
        until_log reset 'WIPC done'; sleep 1; nvme reset /dev/nvme0 || exit 10; ended reset
        begin retried {NVME} {TWO_S} --read-pcts 0
        until_log retried 'WIPC done'; lab-ctl fail nvme0 write once; ended retried
        begin timeout {NVME} {TWO_S}
        # without bus mastering the drive can't answer: the kernel aborts, resets it, and issues all again
        until_log timeout 'WIPC done'; sleep 1
        printf '\\0\\0' | dd of={config} bs=1 seek=4 conv=notrunc status=none
        ended timeout
        dmsetup create part --table '0 {SECTORS} linear /dev/nvme0n1 0' || exit 11
        begin hang {PART} {TWO_S}
        until_log hang 'WIPC done'; sleep 1
        dmsetup suspend --nolockfs --noflush part; sleep {HANG_S}; dmsetup resume part; ended hang
        begin left {PART} {TWO_S}
        until_log left 'WIPC done'; sleep 1
        dmsetup suspend --nolockfs --noflush part; sleep {HANG_S}; kill -TERM $run
        until_log left 'run interrupted'; dmsetup resume part; ended left
        begin slow {PART} {TWO_S} --precondition-passes 6
        until_log slow 'WIPC:'; mapped part --table '0 {SECTORS} delay /dev/nvme0n1 0 {SLOW_MS}'; ended slow
        dmesg > dmesg
        """,
    )
    return folder


@pytest.fixture(params=["reset", "retried", "timeout", "hang", "slow"])
def left(folder: Path, request: pytest.FixtureRequest) -> Left:
    return Left(folder, request.param)


def test_the_run_comes_to_its_end(left: Left) -> None:
    assert left.status == 0, left.complaint + left.log
    assert left.run.manifest.state is RunState.COMPLETE
    assert all(step.sample.state is StepState.COMPLETE for step in left.run.steps)
    assert not any(step.sample.errors for step in left.run.steps)


def test_steps_by_time_end_when_it_is_over_and_the_last_ios_are_answered(left: Left) -> None:
    for step in left.run.steps:
        if isinstance(step.sample.step.stop, Duration):
            longest_ns = max(operation.latency_max_ns or 0 for operation in step.sample.transfers)
            planned_ns = step.sample.step.stop.duration_ns
            assert planned_ns * 0.99 <= step.sample.elapsed_ns <= planned_ns + longest_ns + NS_PER_S


@pytest.mark.parametrize(("name", "least_s"), [("timeout", IO_TIMEOUT_S), ("hang", HANG_S - 1)])
def test_what_the_drive_did_not_answer_is_shown_and_in_the_figures_and_the_ledger(
    folder: Path, name: str, least_s: int
) -> None:
    left = Left(folder, name)
    assert "has not been answered for 5 s" in left.log
    longest_ns = max(
        operation.latency_max_ns or 0 for step in left.run.steps for operation in step.sample.transfers
    )
    assert longest_ns >= least_s * NS_PER_S
    assert any("lasted " in entry.used and " instead of 2.00 s" in entry.used for entry in left.run.ledger)


def test_a_controller_was_reset_and_its_cache_is_as_the_test_needs_it(folder: Path) -> None:
    assert "reset controller" in (folder / "dmesg").read_text()
    run = Left(folder, "reset").run
    assert "PTS-CACHE-01" not in {entry.rule_id for entry in run.ledger}


def test_the_operator_leaves_a_drive_that_hangs(folder: Path) -> None:
    left = Left(folder, "left")
    assert left.status == 130
    assert "not been answered" in left.log
    run = left.run
    assert run.manifest.state is RunState.INTERRUPTED
    *before, last = run.steps
    assert all(step.sample.state is StepState.COMPLETE for step in before)
    assert last.sample.state is not StepState.COMPLETE
    assert all(error.reason.startswith("no answer within") for error in last.sample.errors)


def test_the_time_left_follows_a_drive_that_gets_slower(folder: Path) -> None:
    left = Left(folder, "slow")
    tracked = [step.sample for step in left.run.steps if isinstance(step.sample.step.stop, Duration)]
    assert all((sample.mean_latency_ns or 0) >= SLOW_MS * 10**6 for sample in tracked)
    *_, foreseen = (line for line in left.log.splitlines() if "WIPC, step 1 of 1" in line)
    time_left = re.search(r"about (?:(\d+) min )?([\d.]+) s left$", foreseen)
    assert time_left, foreseen
    foreseen_s = 60 * int(time_left[1] or 0) + float(time_left[2])
    real_s = seconds_at(left.log.splitlines()[-1]) - seconds_at(foreseen)
    assert foreseen_s == pytest.approx(real_s, rel=0.5, abs=10)


def seconds_at(line: str) -> int:
    hours, minutes, seconds = map(int, line[1:9].split(":"))
    return 3600 * hours + 60 * minutes + seconds
