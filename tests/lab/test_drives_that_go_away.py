"""A drive is pulled during a run, comes back, and another one comes in its place: nothing is written to that.

One machine for all of it. While a run has its drive open, the kernel gives its name to no other; afterwards
the operator's word names the drive by its serial number, and so does what there is to put back.
"""

from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.vocabulary.sample import StepState
from tests.lab.drive_faults import NVME, Left, left_by
from tests.lab.machine import OPENPTS, QUICK, TESTBENCH, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

LONG = "--step-seconds 60"  # they end when the drive has gone
PULLED = ("nvme", "scsi", "yanked", "vanished")


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """What all of it left. The run stands still while drives are changed, so that it has its drive open."""
    folder = disk_path_factory.mktemp("pulled")
    left_by(
        folder,
        *("--nvme", "64M", "--nvme", "64M", "--scsi", "64M", "--scsi", "64M"),
        *("--append", "nvme_core.io_timeout=4"),
        script=f"""
        node_of() {{ lsblk -dno NAME,SERIAL | sed -n "s/^\\([^ ]*\\) *$1\\$/\\/dev\\/\\1/p"; }}
        until_there() {{ until [ -b "$(node_of $1)" ]; do sleep 0.2; done; }}
        writes_to() {{ awk '{{print $5}}' /sys/block/$(basename $(node_of $1))/stat; }}
        # exchanged NAME OURS ITS-SERIAL OTHER ITS-SERIAL: during a run on OURS
        exchanged() {{
          what_is $1-other-before sha256sum < $(node_of $5)
          lab-ctl unplug $4
          mine=$(node_of $3)
          begin $1 $mine --confirm-serial $3 {LONG}
          until_log $1 'WIPC done'; kill -STOP $run
          lab-ctl unplug $2; lab-ctl plug $4; until_there $5
          echo $mine $(node_of $5) > $1-names
          kill -CONT $run; ended $1
          sleep 1
          writes_to $5 > $1-writes
          what_is $1-other-after sha256sum < $(node_of $5)
        }}
        exchanged nvme nvme0 LABNVME0000 nvme1 LABNVME0001
        what_is cache-other nvme get-feature $(node_of LABNVME0001) -f 6
        # now that nothing has the old name open, the other drive takes it
        lab-ctl unplug nvme1; lab-ctl plug nvme1; until_there LABNVME0001
        node_of LABNVME0001 > taken
        {OPENPTS} run iops {NVME} --out again 2> refusal; echo $? > again.status
        ls state/journal | wc -l > journal-before
        lab-ctl plug nvme0; until_there LABNVME0000
        node_of LABNVME0000 > returned
        # its new life began with the cache on
        nvme set-feature $(node_of LABNVME0000) -f 6 -v 0
        what_is restored {OPENPTS} doctor --restore
        what_is cache-back nvme get-feature $(node_of LABNVME0000) -f 6
        what_is cache-other-at-last nvme get-feature $(node_of LABNVME0001) -f 6
        ls state/journal | wc -l > journal-after
        exchanged scsi scsi0 LABSCSI0000 scsi1 LABSCSI0001
        begin yanked $(node_of LABNVME0001) --confirm-serial LABNVME0001 {LONG}
        until_log yanked 'WIPC done'; lab-yank $(basename $(node_of LABNVME0001) n1); ended yanked
        # served by NVMe over TCP, and its server is gone: the kernel gives it up after five seconds
        modprobe nvme-tcp || exit 10
        {TESTBENCH} --nvme-tcp 127.0.0.1:4420 --serial VANISHES --vanish-after 1500 \
          'client-qlc?capacity=200MB' > served & server=$!
        until [ -s served ]; do sleep 0.2; done
        connect=$(sed -n 's/.*"connect": "\\([^"]*\\)".*/\\1/p' served)
        $connect --ctrl-loss-tmo=5 --reconnect-delay=1 || exit 11
        until_there VANISHES
        begin vanished $(node_of VANISHES) --confirm-serial VANISHES {LONG}; ended vanished
        kill $server; wait
        """,
    )
    return folder


@pytest.mark.parametrize("name", PULLED)
def test_the_run_ends_and_its_record_is_honest(folder: Path, name: str) -> None:
    left = Left(folder, name)
    assert left.status == 7, left.complaint
    (line,) = left.complaint.splitlines()
    assert "has gone away: see dmesg" in line
    run = left.run
    assert run.manifest.state is RunState.FAILED
    assert run.manifest.state_reason
    assert f"openpts: {run.manifest.state_reason}; " in line
    *before, last = run.steps
    assert all(step.sample.state is StepState.COMPLETE for step in before)
    assert last.sample.state is not StepState.COMPLETE


@pytest.mark.parametrize("name", ["nvme", "yanked", "vanished"])
def test_a_cache_that_could_not_be_set_back_is_named_in_the_record(folder: Path, name: str) -> None:
    reason = Left(folder, name).run.manifest.state_reason
    assert reason is not None
    assert "could not be set back to WCE" in reason
    assert "`openpts doctor --restore`" in reason


@pytest.mark.parametrize("name", ["nvme", "scsi"])
def test_nothing_is_written_to_another_drive(folder: Path, name: str) -> None:
    left = Left(folder, name)
    mine, other = left.said(f"{name}-names").split()
    assert mine != other
    assert left.said(f"{name}-writes") == "0\n"
    assert left.said(f"{name}-other-before") == left.said(f"{name}-other-after") != ""


def test_a_drive_that_has_taken_the_name_is_refused_and_left_alone(folder: Path) -> None:
    left = Left(folder, "again")
    assert left.said("taken") == "/dev/nvme0n1\n"
    assert left.status == 4
    assert "LABNVME0001" in left.said("refusal")
    assert not (folder / "again").exists()
    assert left.said("cache-other") == left.said("cache-other-at-last")


def test_the_drive_is_found_again_under_another_name_and_its_cache_is_set_back(folder: Path) -> None:
    left = Left(folder, "nvme")
    assert left.said("returned") != "/dev/nvme0n1\n"
    assert (left.said("journal-before"), left.said("journal-after")) == ("1\n", "0\n")
    assert "is WCE again" in left.said("restored")
    assert "00000001" in left.said("cache-back")


def test_a_run_whose_drive_is_pulled_and_back_at_once_ends_and_is_resumed_on_it(tmp_path: Path) -> None:
    """Nothing waits for the run: the drive gets the name that is free when it is back."""
    left_by(
        tmp_path,
        *QUICK,
        *("--nvme", "64M"),
        script=f"""
        node_of() {{ lsblk -dno NAME,SERIAL | sed -n "s/^\\([^ ]*\\) *$1\\$/\\/dev\\/\\1/p"; }}
        begin pulled {NVME} --step-seconds 4
        until_log pulled 'WIPC done'; lab-ctl unplug nvme0; lab-ctl plug nvme0; ended pulled
        until [ -b "$(node_of LABNVME0000)" ]; do sleep 0.2; done
        node_of LABNVME0000 > name
        {OPENPTS} resume pulled --target $(node_of LABNVME0000) --confirm-serial LABNVME0000 \
          --accept-interruption --no-report > resumed.log 2> resumed.complaint
        echo $? > resumed.status
        ls state/journal | wc -l > journal
        what_is cache nvme get-feature $(node_of LABNVME0000) -f 6
        """,
    )
    left = Left(tmp_path, "pulled")
    assert left.status == 7, left.complaint
    assert "has gone away: see dmesg" in left.complaint
    assert Left(tmp_path, "resumed").status == 0, left.said("resumed.complaint")
    attempts = left.run.manifest.attempts
    assert left.run.manifest.state is RunState.COMPLETE
    assert [attempt.end for attempt in attempts[:-1]] == [RunState.FAILED]
    assert left.said("journal") == "0\n"
    assert "00000001" in left.said("cache")
