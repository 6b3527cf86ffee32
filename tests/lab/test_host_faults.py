"""The host's clock is set, its suspend freezes all tasks, and its journal has no room, each in a run."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.record.writer import DATABASE_NAME
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Phase
from tests.lab.machine import OPENPTS, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

SUSPENDED_S = 5
"""What the kernel waits, by its own count of loops, in a suspend that ends where its tasks are frozen."""
STEP_S, ROUNDS = 3.0, 5

_SHORT = (
    "/dev/nvme0n1 --confirm-serial LABNVME0000 --precondition-passes 0.1 --read-pcts 0 --tc 1 --qd 4 "
    "--tracking 'RND 4KiB RW0' --block-sizes 64KiB,4KiB --no-report"
)


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """One machine, two runs."""
    folder = disk_path_factory.mktemp("host-faults")
    log = folder / "clock.log"
    script = f"""
        {OPENPTS} run iops {_SHORT} --class client --step-seconds {STEP_S} --max-rounds {ROUNDS} \\
            --out {folder}/clock > {log} 2>&1 &
        until grep -q 'WIPC done' {log}; do kill -0 $! || exit 10; sleep 0.1; done
        sleep 0.5
        date -s '1 hour' || exit 11
        sleep 0.5
        date -s '2 hours ago' || exit 11
        until grep -q 'round 1 done' {log}; do kill -0 $! || exit 10; sleep 0.1; done
        sleep 0.3
        echo freezer > /sys/power/pm_test && echo mem > /sys/power/state || exit 12
        wait $! || exit 13

        mkdir /full && mount -t tmpfs -o size=1m none /full && mkdir /full/journal || exit 14
        dd if=/dev/zero of=/full/filling bs=4k 2> /dev/null
        nvme get-feature /dev/nvme0 -f 6 > {folder}/cache-before
        OPENPTS_STATE=/full {OPENPTS} run iops {_SHORT} --class enterprise --step-seconds 0.2 \\
            --max-rounds 1 --out {folder}/journal > {folder}/journal.log 2>&1 || exit 15
        nvme get-feature /dev/nvme0 -f 6 > {folder}/cache-after
    """
    ended = in_lab(folder, "--nvme", "512M", script=script, timeout_s=900)
    logs = "".join(path.read_text() for path in folder.glob("*.log"))
    assert ended.returncode == 0, ended.stdout + ended.stderr + logs
    return folder


@pytest.fixture(scope="module")
def clock(folder: Path) -> Run:
    return read_run(folder / "clock")


def standstills_s(folder: Path) -> list[float]:
    """Those of all steps, also of the ones that were repeated."""
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as connection:
        return [ns / NS_PER_S for (ns,) in connection.execute("SELECT lasted_ns FROM standstill")]


def test_a_step_of_the_clock_changes_no_duration(clock: Run) -> None:
    manifest = clock.manifest
    assert manifest.state is RunState.COMPLETE
    assert manifest.ended_at is not None
    assert manifest.ended_at < manifest.started_at, "the texts have the time of the day"
    # what is emulated, with others on its processors, may end late, but not by hours
    for found in clock.phase(Phase.ROUND):
        assert STEP_S <= found.sample.elapsed_ns / NS_PER_S < STEP_S + 30
    assert sum(standstills_s(clock.folder)) < 600
    points = [point.t_ns for point in clock.sampled]
    assert 0 < max(points) - min(points) < 600 * NS_PER_S


def test_a_round_in_which_the_machine_was_suspended_is_repeated(clock: Run, folder: Path) -> None:
    rounds = [(found.place.number, found.place.position) for found in clock.phase(Phase.ROUND)]
    assert rounds == [(number, position) for number in range(1, ROUNDS + 1) for position in (0, 1)]
    assert not any(found.sample.standstills for found in clock.phase(Phase.ROUND))
    assert max(standstills_s(clock.folder)) > SUSPENDED_S / 2
    lines = (line for line in (folder / "clock.log").read_text().splitlines() if "did not run" in line)
    assert any(line.endswith("the steps are repeated when all of them have ended") for line in lines)


def test_a_full_journal_leaves_the_cache_of_the_drive_as_it_is(folder: Path) -> None:
    run = read_run(folder / "journal")
    assert run.manifest.state is RunState.COMPLETE
    (report,) = run.manifest.write_caches
    assert report.source.endswith(
        "setting WCD failed: /full/journal can't be written: No space left on device"
    )
    assert any(entry.rule_id == "PTS-CACHE-01" for entry in run.ledger)
    assert (folder / "cache-after").read_text() == (folder / "cache-before").read_text()
