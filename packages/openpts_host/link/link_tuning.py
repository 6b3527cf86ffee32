"""Which settings of the way to a drive are to be changed for a scenario."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.system_files import read_text
from openpts.vocabulary.tuning import Change, Means, Scenario
from openpts_host.advice.drive import LARGEST_BLOCK_KIB
from openpts_host.link.link_settings import (
    apst_file,
    drive_depth,
    link_state_files,
    pci_power_control,
    sata_power_file,
    scsi_power_control,
    usb_power_control,
)

COUNTING: Final = "iostats"
"""Whether the kernel counts the I/O of a drive."""

_QUEUE: Final = {
    Scenario.SYNTHETIC: {
        "nomerges": "2",
        "rq_affinity": "2",
        COUNTING: "0",
        "add_random": "0",
        "wbt_lat_usec": "0",
    },
    Scenario.REAL_WORLD: {"nomerges": "0", "rq_affinity": "1", COUNTING: "1"},
}


def link_changes(device: BlockDevice, scenario: Scenario) -> tuple[Change, ...]:
    """All changes for the scenario, also those that are made already, in the order in which to make them.

    The scheduler comes after what it resets, so that putting back, which goes the other way, ends well.
    """
    queue = device.folder / "queue"
    changes = [*_largest_request(device)]
    if scenario is Scenario.SYNTHETIC and (depth := drive_depth(device)):
        changes += _at(("nr_requests", queue / "nr_requests", str(depth)))
    for name, wanted in _QUEUE[scenario].items():
        changes += _at((name, queue / name, wanted))
    if scenario is Scenario.SYNTHETIC:
        changes += _at(("scheduler", queue / "scheduler", "none"))
        changes += _awake(device)
    return tuple(changes)


def _at(*settings: tuple[str, Path | None, str]) -> Iterator[Change]:
    """Changes to settings whose files can be read: some queues have a file without a value."""
    for key, path, wanted in settings:
        if path is not None and read_text(path) is not None:
            yield Change(key, Means.FILE, str(path.resolve()), wanted)


def _largest_request(device: BlockDevice) -> Iterator[Change]:
    """A limit below the largest block of a test that the hardware does not need is never right."""
    used, most = device.integer("queue/max_sectors_kb"), device.integer("queue/max_hw_sectors_kb")
    if used is not None and most is not None and used < min(most, LARGEST_BLOCK_KIB):
        path = device.folder / "queue/max_sectors_kb"
        yield from _at(("max_sectors_kb", path, str(min(most, LARGEST_BLOCK_KIB))))


# SOL-BIOS-04, SOL-PWR-04, SOL-PWR-09, SOL-PWR-10
def _awake(device: BlockDevice) -> Iterator[Change]:
    """Neither drive nor link nor what they hang on may save power."""
    yield from _at(*(("aspm", path, "0") for path in link_state_files(device)))
    yield from _at(
        ("power_state", pci_power_control(device), "on"),
        ("apst", apst_file(device), "0"),
        ("sata_power", sata_power_file(device), "max_performance"),
        ("disk_suspend", scsi_power_control(device), "on"),
        ("usb_suspend", usb_power_control(device), "on"),
    )
