"""The list of drives, as text and as JSON."""

import json

import pytest
from click.testing import CliRunner

from openpts.cli import devices as devices_module
from openpts.cli.devices import devices
from openpts.device.discovery import DeviceListing, Safety

LISTINGS = [
    DeviceListing("/dev/nvme0n1", "[bold]Drive", "S3R1AL", 1_920_383_410_176, "NVMe", 512, Safety.FREE, ""),
    DeviceListing(
        "/dev/sda",
        None,
        None,
        10**9,
        None,
        None,
        Safety.REFUSED,
        "refused [mounted]: /dev/sda1 is mounted at /home; see findmnt; unmount it if nobody needs it",
    ),
]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices_module, "list_devices", lambda _roots: LISTINGS)


def test_a_line_per_drive_with_its_verdict_and_without_markup() -> None:
    _, nvme, sata = CliRunner().invoke(devices).output.splitlines()
    assert nvme.split("  ")[0] == "/dev/nvme0n1"
    for part in ("[bold]Drive", "S3R1AL", "1,920 GB", "NVMe", "512 B", "free"):
        assert part in nvme
    assert sata.rstrip().endswith(LISTINGS[1].reason)


def test_json_is_an_array_of_objects() -> None:
    listed = json.loads(CliRunner().invoke(devices, ["--json"]).output)
    assert [drive["path"] for drive in listed] == ["/dev/nvme0n1", "/dev/sda"]
    assert listed[0]["capacity_bytes"] == 1_920_383_410_176
    assert listed[1]["safety"] == "refused"
