"""An array of md and a rotational disk of a virtual machine, as their user measures them.

OPENPTS_LAB names the lab's program; without it these tests are skipped.
"""

from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from tests.lab.machine import OPENPTS, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

ROUNDS = (
    "--step-seconds 0.05 --max-rounds 1 --precondition-passes 0.1 --block-sizes 1024KiB,128KiB --no-report"
)
MEMBERS = ("LABNVME0000", "LABNVME0001", "LABNVME0002")
DRIVES = (*("--nvme", "128M") * 3, "--sata", "256M,rotation_rate=7200")


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """What all of it left behind, from one boot."""
    folder = disk_path_factory.mktemp("lab")
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
        {array} --out purged 2> refusal
        [ $? != 0 ] || exit 11
        {array} --purge none --out array || exit 12
        {OPENPTS} io {disk} --bs 1m --pattern sequential --range 90:100 --seconds 1 || exit 13
        {OPENPTS} run wsat {disk} {named} --time-scale 1/3600 --no-report --out ssd-test \
          || exit 14
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def test_a_purge_of_an_array_is_refused_with_what_to_do(folder: Path) -> None:
    assert "purge the members of the array" in (folder / "refusal").read_text()
    assert not (folder / "purged").exists()


def test_an_array_is_no_drive_of_its_own(folder: Path) -> None:
    array = read_run(folder / "array")
    assert array.manifest.state is RunState.COMPLETE
    used = {entry.used for entry in array.ledger if entry.rule_id == "PTS-GEN-05"}
    assert any("md0" in text for text in used)


def test_a_test_for_solid_state_enters_the_platters_in_its_ledger(folder: Path) -> None:
    run = read_run(folder / "ssd-test")
    assert run.manifest.dut["media"].value == "rotational, 7,200 rpm"
    (entry,) = [e for e in run.ledger if e.rule_id == "PTS-GEN-01" and "rotational" in e.used]
    assert entry.required == "a solid state storage device"
