"""NVMe, SATA and SAS drives of an emulator behind the kernel's real drivers.

They are looked for by their serial numbers, LABNVME0000 and so on, which no drive of a shop has; the
machine must say with LAB=1 that it is a virtual one whose drives may be overwritten.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from openpts.device.ata_identify import serial_number
from openpts.device.block_device import whole_drives
from openpts.device.guard.guard import Safety, open_target
from openpts.device.identity import dut_facts
from openpts.device.purge.purge import purge
from openpts.device.targets.target import BlockTarget
from openpts.device.write_cache import read_write_cache, write_cache_control
from openpts.errors import RefusedError
from openpts.journal import Journal
from openpts.system_files import SystemRoots
from openpts.vocabulary.purge import Consent
from openpts_drives.listing import ListedDevice, list_device

SERIALS = {"NVMe": "LABNVME0000", "SATA": "LABSATA0000", "SAS": "LABSCSI0000"}


@cache
def _drive(interface: str) -> ListedDevice:
    roots = SystemRoots()
    serial = SERIALS[interface]
    if os.environ.get("LAB") != "1":
        pytest.skip(f"needs a virtual machine (LAB=1) with a drive of serial number {serial}")
    found = [disk for disk in whole_drives(roots) if serial_number(disk).value == serial]
    listing = list_device(found[0], roots, 60.0) if found else None
    if listing is None or not str(listing.facts["interface"].value).startswith(interface):
        pytest.skip(f"this virtual machine has no {interface} drive of serial number {serial}")
    return listing


@pytest.fixture(
    params=[
        pytest.param(interface, marks=pytest.mark.slow) if interface == "SATA" else interface
        for interface in sorted(SERIALS)
    ],
    scope="module",
)
def drive(request: pytest.FixtureRequest) -> ListedDevice:
    """One drive of each interface that is there, as it was listed before any test of it."""
    return _drive(request.param)


def _open(drive: ListedDevice, roots: SystemRoots, serial: str | None = None):
    consent = Consent(confirm_serial=serial or drive.facts["serial"].value)
    return open_target(BlockTarget(Path(drive.path)), consent, roots)


def test_the_serial_number_opens_it_and_no_other(drive: ListedDevice, roots: SystemRoots) -> None:
    assert drive.safety.verdict is Safety.FREE
    with _open(drive, roots) as target:
        assert target.facts.path == drive.path
        assert target.facts.user_capacity_bytes == drive.capacity_bytes
        assert target.facts.sector_bytes == drive.logical_sector_bytes
    with pytest.raises(RefusedError, match="does not match"):
        _open(drive, roots, "LABNVME9999").__enter__()


def test_a_discard_is_proven(drive: ListedDevice, roots: SystemRoots) -> None:
    with _open(drive, roots) as target:
        report = purge(target)
    assert (report.samples, report.changed_samples) == (64, 64)


def test_it_is_described(drive: ListedDevice, roots: SystemRoots) -> None:
    with _open(drive, roots) as target:
        facts = dut_facts(target.facts, roots)
    assert str(facts["model"].value).startswith("QEMU")
    assert facts["serial"].value == drive.facts["serial"].value
    assert facts["firmware"].value is not None
    assert facts["features"].value is not None
    assert facts["hba"].value is not None


def test_the_version_and_features_of_nvme_come_from_the_controller(roots: SystemRoots) -> None:
    with _open(_drive("NVMe"), roots) as target:
        facts = dut_facts(target.facts, roots)
    assert str(facts["interface"].value).startswith("NVMe 1.")
    assert "Deallocate" in str(facts["features"].value)
    assert str(facts["pcie"].value).startswith("Gen ")


@pytest.mark.parametrize(("value", "actual"), [(0, "WCD"), (1, "WCE")])
def test_the_cache_of_nvme_is_its_feature(value: int, actual: str, run, roots: SystemRoots) -> None:
    with _open(_drive("NVMe"), roots) as target:
        assert target.device is not None
        run("nvme", "set-feature", f"/dev/{target.device.folder.parent.name}", "-f", "6", "-v", value)
        assert read_write_cache(target, False, roots).actual == actual


@pytest.mark.parametrize(
    ("interface", "text", "actual"),
    [
        ("SATA", "write back", "WCE"),
        ("SAS", "write through", "WCD"),
        pytest.param("SATA", "write through", "WCD", marks=pytest.mark.slow),
        pytest.param("SAS", "write back", "WCE", marks=pytest.mark.slow),
    ],
)
def test_the_cache_of_scsi_is_its_mode_page(
    interface: str, text: str, actual: str, roots: SystemRoots
) -> None:
    with _open(_drive(interface), roots) as target:
        assert target.device is not None
        (cache_type,) = target.device.folder.glob("device/scsi_disk/*/cache_type")
        cache_type.write_text(text)
        assert read_write_cache(target, False, roots).actual == actual


@pytest.mark.parametrize(
    ("required", "actual"), [(False, "WCD"), pytest.param(True, "WCE", marks=pytest.mark.slow)]
)
def test_the_cache_is_set_read_back_and_left_as_it_was_found(
    drive: ListedDevice, required: bool, actual: str, tmp_path: Path, roots: SystemRoots
) -> None:
    first, second = Journal(tmp_path / "first"), Journal(tmp_path / "second")
    with _open(drive, roots) as target, write_cache_control(target, roots, first) as before:
        before.require(not required)
        found = read_write_cache(target, required, roots).actual
        with write_cache_control(target, roots, second) as cache:
            report = cache.require(required)
            assert report.actual == actual
            assert "set by openpts" in report.source
        assert read_write_cache(target, required, roots).actual == found != actual
