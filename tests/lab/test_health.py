"""What drives of a virtual machine tell of their health, behind the kernel's real drivers.

One machine serves all of them.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.lab.machine import in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

# each disk by its model, twice: as it is, and after 64 MiB were written to it
READ = """
import json, subprocess, sys
from pathlib import Path
from openpts.device.block_device import BlockDevice
from openpts_drives.health.health import read_health_of
from openpts.system_files import SystemRoots

def reading(device):
    found = read_health_of(device)
    return {"source": found.source, "values": dict(found.values)}

told = {}
for link in sorted(Path("/sys/block").glob("*")):
    device = BlockDevice.of_name(link.name, SystemRoots())
    if (model := device.text("device/model")) is None:
        continue
    before = reading(device)
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={device.node}", "bs=1M", "count=64", "oflag=direct"], check=False
    )
    told[f"{device.kind}: {model}"] = [before, reading(device)]
json.dump(told, open(sys.argv[1], "w"))
"""


@pytest.fixture(scope="module")
def told(disk_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Readings before and after a write, of each drive."""
    folder = disk_path_factory.mktemp("lab")
    (folder / "read.py").write_text(READ)
    drives = ("--nvme", "128M", "--sata", "128M", "--scsi", "128M", "--scsi-debug", "dev_size_mb=64")
    script = f"{sys.executable} {folder / 'read.py'} {folder / 'told.json'}"
    ended = in_lab(folder, *drives, script=script)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    readings: Mapping[str, Any] = json.loads((folder / "told.json").read_text())
    return readings


def test_an_nvme_drive_counts_what_was_written(told: Mapping[str, Any]) -> None:
    before, after = told["NVMe: QEMU NVMe Ctrl"]
    assert (before["source"], after["source"]) == ("NVMe log page 02h", "NVMe log page 02h")
    written = after["values"]["host_write_bytes"] - before["values"]["host_write_bytes"]
    assert 64 * 2**20 <= written < 64 * 2**20 + 512_000
    assert after["values"]["temperature_c"] == 50
    # a drive without spare blocks is well
    assert (after["values"]["available_spare_pct"], after["values"]["critical_warning"]) == (0, 0)


def test_asking_leaves_no_error_in_the_log(told: Mapping[str, Any]) -> None:
    _, after = told["NVMe: QEMU NVMe Ctrl"]
    assert after["values"]["error_log_entries"] == 0


def test_a_sata_drive_tells_its_attributes(told: Mapping[str, Any]) -> None:
    _, after = told["ATA: QEMU HARDDISK"]
    assert after["source"].startswith("smartctl ")
    assert after["values"] == {
        "temperature_c": 31,
        "power_cycles": 0,
        "power_on_hours": 1,
        "reallocated_sectors": 0,
        "failure_foretold": 0,
    }


def test_a_scsi_disk_tells_its_temperature_or_that_it_tells_nothing(told: Mapping[str, Any]) -> None:
    _, debug = told["SCSI: scsi_debug"]
    assert debug["values"] == {"temperature_c": 38, "warning_limit_c": 65, "failure_foretold": 0}
    _, disk = told["SCSI: QEMU HARDDISK"]
    assert disk["values"] == {}
    assert disk["source"].endswith("the drive reports nothing of its health")
