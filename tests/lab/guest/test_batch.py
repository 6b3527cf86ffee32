"""Several NVMe drives at once on the kernel's own driver: found by slot, confirmed, each tested by itself.

For a virtual machine alone, which says so with LAB=1, with three NVMe drives in PCI slots of their own;
tests/lab/test_batch.py boots it.
"""

import os
from pathlib import Path

import pytest

from openpts.device.ata_identify import serial_number
from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.identity import slot
from openpts.ownership import new_run_id
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.system_files import SystemRoots
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.chosen_drives import ChosenDrive, chosen_drives, named_drives
from openpts_batch.side_by_side import SideBySide, new_batch

pytestmark = pytest.mark.skipif(os.environ.get("LAB") != "1", reason="needs a virtual machine (LAB=1)")

TEST = (
    *(
        "iops",
        "--class",
        "client",
        "--precondition-passes",
        "0.5",
        "--read-pcts",
        "0",
        "--block-sizes",
        "4KiB",
    ),
    *("--tracking", "RND 4KiB RW0", "--tc", "1", "--qd", "2", "--max-rounds", "1", "--step-seconds", "0.1"),
)


def drives(roots: SystemRoots) -> dict[str, BlockDevice]:
    """By serial number."""
    found = {serial_number(disk).value: disk for disk in whole_drives(roots)}
    return {serial: disk for serial, disk in found.items() if serial and serial.startswith("LABNVME")}


def chosen(query: str, roots: SystemRoots, *serials: str) -> list[ChosenDrive]:
    return chosen_drives(named_drives((), query, roots), Consent(), serials, (), roots)


def test_drives_are_in_the_slots_whose_address_is_theirs(roots: SystemRoots) -> None:
    found = {serial: slot(disk, roots) for serial, disk in drives(roots).items()}
    assert len({fact.value for fact in found.values()}) == 3
    for serial, fact in found.items():
        controller = (drives(roots)[serial].folder / "device/device").resolve()
        assert Path(fact.source).read_text().strip() == controller.name.rpartition(".")[0]


def test_a_query_selects_and_each_drive_has_to_be_confirmed(roots: SystemRoots) -> None:
    first, second = chosen("serial=labnvme000[01]", roots, "LABNVME0000")
    assert (first.serial, first.refusal) == ("LABNVME0000", "")
    assert (second.serial, second.verdict) == ("LABNVME0001", "not confirmed")
    assert "--confirm-serial LABNVME0001" in second.refusal
    place = slot(drives(roots)["LABNVME0002"], roots).value
    assert [one.serial for one in chosen(f"slot={place}", roots)] == ["LABNVME0002"]


def test_a_drive_by_another_of_its_names_is_refused(roots: SystemRoots) -> None:
    (link,) = Path("/dev/disk/by-path").glob("*0000:01:00.0-nvme-1")
    named = named_drives(("/dev/nvme0n1", str(link)), None, roots)
    _, again = chosen_drives(named, Consent(), ("LABNVME0000",), (), roots)
    assert again.verdict == "no: twice"


def test_runs_by_slot_write_to_the_drive_with_the_serial_alone(roots: SystemRoots, tmp_path: Path) -> None:
    """The third request has the slot of one drive and the serial number of another."""
    found = drives(roots)
    slots = {serial: slot(disk, roots).value for serial, disk in found.items()}
    requests = [
        RunRequest(run_id=new_run_id(), test_words=TEST, slot=slots[place], serial=serial)
        for place, serial in (
            ("LABNVME0000", "LABNVME0000"),
            ("LABNVME0001", "LABNVME0001"),
            ("LABNVME0002", "LABNVME0001"),
        )
    ]
    before = found["LABNVME0002"].text("stat")
    batch = SideBySide(folder=tmp_path / "batch", batch=new_batch(requests, at_most=2)).run()
    complete = RunState.COMPLETE
    assert [entry.state for entry in batch.entries] == [complete, complete, RunState.REFUSED]
    assert batch.entries[2].exit_code == 4
    for entry in batch.entries[:2]:
        dut = read_run(tmp_path / "batch" / entry.folder).manifest.dut
        assert (dut["serial"].value, dut["slot"].value) == (entry.request.serial, entry.slot)
    written = [str(text).split()[6] for text in (before, found["LABNVME0002"].text("stat"))]
    assert written[0] == written[1]
