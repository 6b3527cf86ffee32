"""An array of md and a rotational disk of a virtual machine, as their user measures them.

OPENPTS_LAB names the lab's program; without it these tests are skipped.
"""

from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.report.summary import summarize
from openpts.vocabulary.phase import Phase
from tests.lab.machine import OPENPTS, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

ROUNDS = (
    "--step-seconds 0.05 --max-rounds 1 --precondition-passes 0.1 --block-sizes 1024KiB,128KiB --no-report"
)
MEMBERS = ("LABNVME0000", "LABNVME0001", "LABNVME0002")
DRIVES = (*("--nvme", "128M") * 3, "--sata", "256M,rotation_rate=7200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all of it left behind, from one boot."""
    folder = tmp_path_factory.mktemp("lab")
    confirmed = " ".join(f"--confirm-member {serial}" for serial in MEMBERS)
    array = f"{OPENPTS} run tp /dev/md0 --confirm-device-path /dev/md0 {ROUNDS}"
    disk, named = "$(ls -d /dev/disk/by-id/ata-*LABSATA0000)", "--confirm-serial LABSATA0000"
    ended = in_lab(
        folder,
        *DRIVES,
        timeout_s=500,
        script=f"""
        cd {folder}
        echo 'AUTO -all' > /etc/mdadm/mdadm.conf
        modprobe raid456
        by_serial() {{ ls -d /dev/disk/by-id/nvme-*_$1 | head -1; }}
        mdadm --create /dev/md0 --run --quiet --level=5 --raid-devices=3 --chunk=64 --assume-clean \
          $(by_serial {MEMBERS[1]}) $(by_serial {MEMBERS[0]}) $(by_serial {MEMBERS[2]}) || exit 10
        mdadm --detail --export /dev/md0 > before
        cat /sys/block/md0/md/dev-*/slot > slots-before
        {array} --confirm-member {MEMBERS[0]} --out one 2> refusal
        [ $? = 4 ] || exit 11
        {array} {confirmed} --out array || exit 12
        mdadm --detail --export /dev/md0 > after
        cat /sys/block/md0/md/dev-*/slot > slots-after
        cat /sys/block/md0/size /sys/block/md0/md/sync_action > whole
        mdadm --stop --quiet /dev/md0
        mdadm --create /dev/md1 --run --quiet --level=1 --raid-devices=2 --assume-clean \
          $(by_serial {MEMBERS[0]}) $(by_serial {MEMBERS[1]}) < /dev/null || exit 15
        {OPENPTS} run tp /dev/md1 --confirm-device-path /dev/md1 {ROUNDS} {confirmed} \
          --purge overwrite --out mirror || exit 16
        {OPENPTS} run hdd {disk} {named} --zones 4 --step-seconds 0.2 --out disk || exit 13
        {OPENPTS} run wsat {disk} {named} --time-scale 1/3600 --no-report --out ssd-test \
          || exit 14
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


@pytest.fixture(scope="module")
def array(folder: Path) -> Run:
    return read_run(folder / "array")


def shape(export: str) -> dict[str, str]:
    """What mdadm says of an array, but for what is new with each: its UUID."""
    pairs = (line.split("=", 1) for line in export.splitlines())
    return {key: value for key, value in pairs if "UUID" not in key}


def test_a_member_that_was_not_named_is_not_purged(folder: Path) -> None:
    refusal = (folder / "refusal").read_text()
    assert "refused [members]" in refusal
    assert "LABNVME0001" in refusal
    assert "LABNVME0002" in refusal
    assert "LABNVME0000" not in refusal
    assert not (folder / "one").exists()


def test_an_array_is_purged_by_its_members_and_made_again_for_each_cycle(folder: Path, array: Run) -> None:
    assert array.manifest.state is RunState.COMPLETE
    first, second = array.manifest.purges
    for purge in (first, second):
        assert purge.changed_samples == purge.samples >= 3 * 64
        assert purge.method.endswith("member by member")
        assert purge.detail.startswith(
            "raid5 of 3 drives, chunk 64 KiB, left-symmetric: taken apart, 3 members"
        )
        assert purge.detail.endswith("each promises zeros and sampled places read as zeros")
    assert shape((folder / "after").read_text()) == shape((folder / "before").read_text())
    assert (folder / "slots-after").read_text() == (folder / "slots-before").read_text()
    size, action = (folder / "whole").read_text().split()
    assert int(size) * 512 == array.manifest.target.user_capacity_bytes
    assert action == "idle"


def test_members_that_were_written_over_are_neither_purged_nor_alike(folder: Path) -> None:
    run = read_run(folder / "mirror")
    assert run.manifest.state is RunState.COMPLETE
    assert all(not purge.ran for purge in run.manifest.purges)
    used = {entry.rule_id: entry.used for entry in run.ledger}
    assert used["PTS-PRG-01"].startswith("no purge: one sequential pass of random data")
    assert "2 members written over, made again; the members were brought in step" in used["PTS-PRG-03"]


def test_cycles_lie_one_behind_the_other_on_one_clock(array: Run) -> None:
    steps = [step.sample for step in array.steps]
    ends = [step.started_ns + step.elapsed_ns for step in steps]
    assert all(later.started_ns >= end - 10**7 for end, later in zip(ends, steps[1:], strict=False))


def test_an_array_is_no_drive_of_its_own(array: Run) -> None:
    used = {entry.used for entry in array.ledger if entry.rule_id == "PTS-GEN-05"}
    assert any("md0" in text for text in used)


def test_a_rotational_disk_is_measured_by_its_zones(folder: Path) -> None:
    run = read_run(folder / "disk")
    assert run.manifest.dut["media"].value == "rotational, 7,200 rpm"
    assert run.manifest.purges == ()
    assert len(run.phase(Phase.SWEEP)) == 4 * 6
    assert len(run.phase(Phase.PROFILE)) == 4
    figures = summarize(run)
    assert len(figures["zones"]) == 24
    assert all(zone["iops"] > 0 for zone in figures["zones"])
    assert not any(entry.rule_id == "PTS-GEN-01" and "rotational" in entry.used for entry in run.ledger)
    assert (folder / "disk/report.html").stat().st_size > 10_000


def test_a_test_for_solid_state_enters_the_platters_in_its_ledger(folder: Path) -> None:
    run = read_run(folder / "ssd-test")
    (entry,) = [e for e in run.ledger if e.rule_id == "PTS-GEN-01" and "rotational" in e.used]
    assert entry.required == "a solid state storage device"
