"""Purges of NVMe drives on the kernel's own driver: formats that work, fail or would reach too far.

One machine for all: it is the start of one that takes the time.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from openpts.record.reader import read_run
from tests.lab.machine import in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

DRIVES = (
    "--nvme",
    "256M,ns=2",
    "--nvme",
    "256M,logical_block_size=4096",
    "--nvme",
    "256M,ms=8,pi=1,mset=1",
    "--sata",
    "256M",
)
GUEST = """
import json, subprocess, sys, threading, time
from click.testing import CliRunner
from openpts.cli.main import cli
from openpts.device.block_device import BlockDevice
from openpts.device.ata_identify import serial_number
from openpts.errors import OpenptsError
from openpts.system_files import SystemRoots

folder = sys.argv[1]
roots = SystemRoots()
nodes = {}
for block in sorted((roots.sys / "block").glob("[ns][vd]*")):
    device = BlockDevice(block.resolve(), roots)
    nodes.setdefault(serial_number(device).value, []).append(str(device.node))
two, other = nodes["LABNVME0000"]
(large,), (protected,), (sata,) = nodes["LABNVME0001"], nodes["LABNVME0002"], nodes["LABSATA0000"]
found = {}


def sh(text):
    return subprocess.run(text, shell=True, check=True, capture_output=True, text=True).stdout


def openpts(name, *words):
    sh("udevadm settle")  # it claims a drive for a moment after each that has written to it
    started = time.monotonic()
    try:
        done = CliRunner().invoke(cli, words, standalone_mode=False, catch_exceptions=False)
        found[name] = {"code": 0, "said": done.output}
    except OpenptsError as error:
        found[name] = {"code": error.exit_code, "said": str(error)}
    print(name, f"{time.monotonic() - started:.1f} s", found[name]["code"], file=sys.stderr)


def purge(name, node, serial, *words):
    openpts(name, "purge", node, "--confirm-serial", serial, "--confirm-device-path", node, "--json", *words)


sh(f"dd if=/dev/urandom of={two} bs=1M count=250 oflag=direct")
purge("format", two, "LABNVME0000")
purge("protected", protected, "LABNVME0002")
purge("order", two, "LABNVME0000", "--method", "nvme-sanitize-block,discard")
purge("sata", sata, "LABSATA0000")

sh(f"mkfs.ext4 -q {other} && mkdir -p /mnt/other && mount {other} /mnt/other")
sh("echo kept > /mnt/other/file && sync")
purge("sibling mounted", two, "LABNVME0000", "--confirm-namespace", other)
found["kept"] = sh("cat /mnt/other/file").strip()
sh("umount /mnt/other")
purge("sibling", two, "LABNVME0000", "--confirm-namespace", other, "--erase-signatures")
found["beside"] = sh(f"blkid -p -o value -s TYPE {other}").strip()
purge("stranger", two, "LABNVME0000", "--confirm-namespace", large)

sh("lab-ctl fail nvme1 write-zeroes")
purge("broken", large, "LABNVME0001")
purge("unreadable", large, "LABNVME0001")
sh("lab-ctl heal nvme1")
found["healed by"] = found["broken"]["said"].partition("until a format succeeds: ")[2]
sh(found["healed by"])
purge("healed", large, "LABNVME0001")

short = "--step-seconds 0.1 --max-rounds 1 --precondition-passes 0.25 --no-report".split()
short += ["--confirm-serial", "LABNVME0000", "--confirm-device-path", two]
short += ["--read-pcts", "0", "--block-sizes", "4KiB", "--tracking", "RND 4KiB RW0"]
for name, method in (("run", "nvme-format,discard"), ("overwritten", "overwrite")):
    words = ["--purge", method, "--out", f"{folder}/{name}"]
    openpts(name, "run", "iops", two, *short, *words)


def unplug_when_written():
    stat = BlockDevice.of_name(protected.removeprefix("/dev/"), roots).folder / "stat"
    while int(stat.read_text().split()[6]) < 40_000:  # sectors, that is 20 MB
        time.sleep(0.05)
    sh("lab-ctl unplug nvme2")


threading.Thread(target=unplug_when_written).start()
purge("gone", protected, "LABNVME0002", "--method", "overwrite")

sh("mount --bind /dev/null $(readlink -f $(which nvme))")
purge("no nvme-cli", two, "LABNVME0000")
with open(f"{folder}/found.json", "w") as file:
    json.dump(found, file)
"""


@pytest.fixture(scope="module")
def guest(disk_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what the machine has left."""
    folder = disk_path_factory.mktemp("nvme-purges")
    (folder / "guest.py").write_text(GUEST)
    script = f"{sys.executable} {folder}/guest.py {folder}"
    ended = in_lab(folder, *DRIVES, script=script, timeout_s=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


@pytest.fixture(scope="module")
def found(guest: Path) -> dict[str, Any]:
    return json.loads((guest / "found.json").read_text())


def _report(said: str) -> dict[str, Any]:
    report = json.loads(said[said.index("{\n") :])["purge"]
    assert (report["samples"], report["changed_samples"]) == (64, 64)
    return report


@pytest.mark.parametrize(
    ("name", "method", "detail"),
    [
        ("format", "nvme-format", "LBA format 0: 512 B blocks, kept"),
        (
            "protected",
            "nvme-format",
            "LBA format 1: 512 B blocks, 8 B metadata (extended blocks), protection type 1, kept",
        ),
        ("order", "discard", "bytes 0 to 268,435,455"),
        ("sata", "discard", "bytes 0 to 268,435,455"),
        ("healed", "nvme-format", "LBA format 4: 4096 B blocks, kept"),
        ("sibling", "nvme-format", "LBA format 0"),
        ("no nvme-cli", "discard", "bytes 0 to"),
    ],
)
def test_a_purge_is_proven(found: dict[str, Any], name: str, method: str, detail: str) -> None:
    assert found[name]["code"] == 0, found[name]["said"]
    report = _report(found[name]["said"])
    assert (report["name"], report["ran"]) == (method, True)
    assert report["detail"].startswith(detail)
    assert report["blank_samples"] == report["samples"] + report["other_samples"]


def test_data_of_others_is_sampled_too(found: dict[str, Any]) -> None:
    assert _report(found["format"]["said"])["other_samples"] > 50


def test_what_was_passed_over_is_told(found: dict[str, Any]) -> None:
    (attempt,) = _report(found["order"]["said"])["attempts"]
    assert attempt["method"] == "nvme-sanitize-block"
    assert "SANICAP 0x0" in attempt["outcome"]
    attempts = _report(found["no nvme-cli"]["said"])["attempts"]
    assert {attempt["outcome"] for attempt in attempts} == {
        "the program nvme is missing: install the package nvme-cli",
        "has no TCG (Identify Controller: OACS has no Security Receive)",
    }
    assert _report(found["sata"]["said"])["attempts"][0]["method"] == "ata-sanitize-block"


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("sibling mounted", 4, "refused [mounted]"),
        ("stranger", 4, "refused [namespaces]"),
        ("broken", 6, "Internal Error"),
        ("unreadable", 6, "takes nothing until one succeeds"),
        ("gone", 6, "overwriting /dev/nvme2n1 failed"),
    ],
)
def test_what_can_not_be_purged_says_why(found: dict[str, Any], name: str, code: int, says: str) -> None:
    assert found[name]["code"] == code
    assert says in found[name]["said"]


def test_other_namespaces_keep_their_data(found: dict[str, Any]) -> None:
    """Nothing but the guard keeps Format off a mounted disk; and this drive formats one namespace alone."""
    assert found["kept"] == "kept"
    assert found["beside"] == "ext4"


def test_a_run_takes_the_order_of_its_operator(guest: Path, found: dict[str, Any]) -> None:
    assert found["run"]["code"] == 0, found["run"]["said"]
    (purge,) = read_run(guest / "run").manifest.purges
    assert (purge.ran, purge.name, purge.changed_samples) == (True, "nvme-format", 64)
    assert purge.status["reads_as"].value == "zeros"


@pytest.mark.proves("PTS-PRG-02")
def test_a_run_on_a_drive_that_was_only_overwritten_says_so(guest: Path, found: dict[str, Any]) -> None:
    assert found["overwritten"]["code"] == 0, found["overwritten"]["said"]
    run = read_run(guest / "overwritten")
    assert not run.manifest.purges[0].ran
    assert any(d.rule_id == "PTS-PRG-01" and d.used.startswith("no purge") for d in run.ledger)
