"""Purges of ATA and SCSI drives that lie: no program's success counts, nor what a drive says of itself.

None of the lab's drives can erase itself. Each method is carried out all the same, as if the drive had said
that it has it, and must end as a failed purge with the data still there.
"""

import json
import sys

import pytest

from tests.lab.machine import in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

GUEST = """
import json, sys
from pathlib import Path
from openpts.device.block_device import BlockDevice
from openpts.vocabulary.purge import Consent
from openpts.device.guard.guard import open_target
from openpts.device.purge import methods
from openpts_drives.purge.ata_security import AtaSecurityErase
from openpts.device.purge.methods import Capability
from openpts.device.purge.purge import purge
from openpts.device.purge.methods import SanitizeKind
from openpts_drives.purge.scsi import ScsiFormat
from openpts_drives.purge.scsi import ScsiSanitize
from openpts.device.ata_identify import serial_number
from openpts.device.targets.target import BlockTarget
from openpts.errors import PurgeError
from openpts.journal import Journal
from openpts.system_files import SystemRoots
from openpts.vocabulary.purge import PurgeChoice

roots = SystemRoots()
disks = {
    serial_number(disk).value: disk
    for disk in (BlockDevice(folder.resolve(), roots) for folder in (roots.sys / "block").glob("sd*"))
}
told = {
    serial: {m.name: [m.capability(disk).supported, m.capability(disk).reason] for m in methods.methods()}
    for serial, disk in disks.items()
}


class BoldErase(AtaSecurityErase):
    def capability(self, device):
        return Capability(True, "")

    def _against(self, device, identity):
        return None


class BoldFormat(ScsiFormat):
    def capability(self, device):
        return Capability(True, "")


class BoldSanitize(ScsiSanitize):
    def capability(self, device):
        return Capability(True, "")


tried = {}
for serial, method in (
    ("LABSATA0000", BoldErase()),
    ("LABSATA0000", BoldErase(enhanced=True)),
    ("LABSCSI0000", BoldFormat()),
    *(("LABSCSI0000", BoldSanitize(kind)) for kind in SanitizeKind),
    ("16000", BoldFormat()),
):
    methods.methods = lambda method=method: iter((method,))
    methods._offered = lambda method=method: {method.name: None}
    methods._loaded = lambda *_, method=method: method
    target = BlockTarget(disks[serial].node)
    with open_target(target, Consent(confirm_serial=serial), roots) as opened:
        before = (disks[serial].integer("size"), disks[serial].integer("queue/logical_block_size"))
        try:
            purge(opened, PurgeChoice((method.name,)))
        except PurgeError as error:
            tried[f"{serial} {method.name}"] = str(error)
        assert before == (disks[serial].integer("size"), disks[serial].integer("queue/logical_block_size"))
print(json.dumps({"told": told, "tried": tried, "journal": len(Journal.of_machine().entries())}))
"""

# killed at the moment at which hdparm sets the password
KILLED = """
import os, signal, sys
from pathlib import Path
from openpts.device.block_device import BlockDevice
from openpts.vocabulary.purge import Consent
from openpts.device.guard.guard import open_target
from openpts_drives.purge.ata_security import AtaSecurityErase
from openpts.device.targets.target import BlockTarget
from openpts.programs import run_program
from openpts.system_files import SystemRoots

class BoldErase(AtaSecurityErase):
    def _against(self, device, identity):
        return None

def run(command, timeout_s, *, to_the_end=False):
    answer = run_program(command, timeout_s, to_the_end=to_the_end)
    if "--security-set-pass" in command:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer

target, consent = BlockTarget(Path(sys.argv[1])), Consent(confirm_serial="LABSATA0000")
with open_target(target, consent, SystemRoots()) as opened:
    BoldErase(run=run).carry_out(opened, lambda *_: None)
"""

# a start of openpts takes seconds on an emulated processor
CALLS = """
import os, sys
from pathlib import Path
from click.testing import CliRunner
from openpts.cli.main import cli
from openpts.errors import OpenptsError

for call in sys.argv[1:]:
    name, code, *words = call.split()
    try:
        said, ended = CliRunner().invoke(cli, words, standalone_mode=False, catch_exceptions=False).output, 0
    except OpenptsError as error:
        said, ended = str(error), error.exit_code
    if ended != int(code):
        sys.exit(f"{call}: ended with {ended}: {said}")
    (Path(sys.argv[0]).parent / name).write_text(said)
    if name == "healed" and os.listdir(os.environ["OPENPTS_STATE"] + "/journal"):
        sys.exit("the journal is not empty")
"""


@pytest.fixture(scope="module")
def guest(disk_path_factory: pytest.TempPathFactory) -> dict:
    """What was seen in one virtual machine with a SATA, a SCSI and a scsi_debug drive."""
    folder = disk_path_factory.mktemp("purges")
    (folder / "guest.py").write_text(GUEST)
    (folder / "killed.py").write_text(KILLED)
    (folder / "calls.py").write_text(CALLS)
    ended = in_lab(
        folder,
        *("--sata", "64M", "--scsi", "64M", "--scsi-debug", "dev_size_mb=64"),
        script=f"""
        export OPENPTS_STATE={folder}/state
        {sys.executable} {folder}/guest.py > {folder}/seen.json || exit 9
        sata=$(lsblk --noheadings --nodeps --output PATH,SERIAL | awk '$2 == "LABSATA0000" {{print $1}}')
        {sys.executable} {folder}/calls.py "unlock 0 purge --unlock $sata" \
          "list 0 purge --unlock --list" || exit 10
        {sys.executable} {folder}/killed.py $sata
        [ $? = 137 ] || exit 12
        purge="purge $sata --confirm-serial LABSATA0000"
        {sys.executable} {folder}/calls.py "refused 4 $purge" "left 0 purge --unlock --list" \
          "healed 0 purge --unlock LABSATA0000" "purged 0 $purge" || exit 13
        """,
        timeout_s=600,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    seen = json.loads((folder / "seen.json").read_text())
    texts = ("unlock", "list", "refused", "left", "healed", "purged")
    return seen | {name: (folder / name).read_text() for name in texts}


@pytest.mark.parametrize(
    ("serial", "method", "reason"),
    [
        ("LABSATA0000", "ata-security-erase", "has no security feature set (IDENTIFY DEVICE word 82)"),
        ("LABSATA0000", "ata-sanitize-block", "has no such sanitize operation: IDENTIFY DEVICE word 59"),
        ("LABSATA0000", "scsi-format", "is an ATA drive"),
        ("LABSCSI0000", "scsi-format", "can't read which commands it has: "),
        ("LABSCSI0000", "scsi-sanitize-crypto", "can't read which commands it has: "),
        ("LABSCSI0000", "ata-security-erase-enhanced", "is no ATA drive"),
        ("16000", "scsi-format", "has no such command: REPORT SUPPORTED OPERATION CODES does not list 0x04"),
        ("16000", "scsi-sanitize-block", "has no such command"),
    ],
)
def test_what_a_drive_cannot_do_is_not_supported_and_says_why(
    guest: dict, serial: str, method: str, reason: str
) -> None:
    supported, told = guest["told"][serial][method]
    assert not supported
    assert reason in told


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        ("LABSATA0000 ata-security-erase", "the drive aborted the command (hdparm ended with 0)"),
        ("LABSATA0000 ata-security-erase-enhanced", "the drive aborted the command (hdparm ended with 0"),
        ("LABSCSI0000 scsi-format", "ended without an error. "),
        ("LABSCSI0000 scsi-sanitize-block", "Invalid opcode"),
        ("LABSCSI0000 scsi-sanitize-crypto", "Invalid opcode"),
        ("LABSCSI0000 scsi-sanitize-overwrite", "DID_ERROR"),
        ("16000 scsi-format", "Invalid opcode"),
    ],
)
def test_what_it_is_told_to_do_all_the_same_is_a_failed_purge(guest: dict, tried: str, said: str) -> None:
    assert said in guest["tried"][tried]


def test_no_password_is_left_and_unlock_says_so(guest: dict) -> None:
    assert guest["journal"] == 0
    assert guest["unlock"].endswith("has no password (no security feature set)\n")
    assert guest["list"].startswith("no password is recorded (records are in ")


def test_a_killed_erasure_is_noted_refused_healed_and_then_the_drive_is_free(guest: dict) -> None:
    assert "was interrupted while openpts had a password on QEMU HARDDISK" in guest["refused"]
    assert "openpts purge --unlock /dev/sd" in guest["refused"]
    assert guest["left"].startswith("QEMU HARDDISK, serial number LABSATA0000: password set 20")
    assert "no longer has a password" in guest["left"]
    assert "has no password: nothing to remove" in guest["healed"]
    assert "purge done: discard of all LBAs (BLKDISCARD), 64 of 64 marks gone" in guest["purged"]
