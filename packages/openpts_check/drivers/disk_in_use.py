"""A file as the device under test, with what is known of the disk below it: identity, and its own log."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openpts.device.identity.identity import dut_facts
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.runner.physical_device import PhysicalDevice
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.health import HealthReading
from openpts_drives.health.health import read_health
from openpts_drives.mounted.directory import DirectoryTarget, open_directory


class DiskInUse(PhysicalDevice, kw_only=True):
    """``below`` is the disk, open for reading; None where it isn't known which one that is."""

    below: OpenTarget | None

    def identity(self) -> Facts:
        """Facts of the disk, as far as it reports them, and of the file system on it."""
        of_file = PhysicalDevice.identity(self)
        if self.below is None:
            return of_file
        of_disk = dut_facts(self.below.facts, self.roots)
        known = {key: fact for key, fact in of_disk.items() if fact.value is not None}
        own = {key: of_file[key] for key in ("file_system", "sector") if key in of_file}
        return of_file | known | own

    def health(self) -> HealthReading:
        """The log of the disk, which has the writes of all that uses it."""
        return PhysicalDevice.health(self) if self.below is None else read_health(self.below)


@contextmanager
def disk_in_use(device: PhysicalDevice, run_id: str) -> Iterator[DiskInUse]:
    """The device with the disk that its file is on."""
    base = (device.target, device.roots, device.cache, device.healed)
    try:
        directory = DirectoryTarget.of(str(Path(device.facts.path).parent), device.roots)
    except TargetError:
        directory = None
    if directory is None:
        yield DiskInUse(*base, below=None)
        return
    with open_directory(directory, device.roots, run_id) as below:
        yield DiskInUse(*base, below=below)
