"""The driver of questions: files of their own beside the data of others, which are gone at the end."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import open_target
from openpts.device.identity import dut_facts
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import FileTarget, parse_target
from openpts.errors import TargetError
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import Manifest
from openpts.runner.device_under_test import DeviceUnderTest, device_under_test
from openpts.runner.driver import Driver, Engine
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.stop_signals import StopSignals
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact, Facts, HealthReading, TargetKind
from openpts.vocabulary.purge import Consent
from openpts_check.drivers.disk_engine import DiskEngine
from openpts_check.drivers.disk_programs import SEGMENT_BYTES, Commits, SmallFiles
from openpts_check.drivers.own_folder import FILE_NAME, LOG_NAME, own_folder
from openpts_check.purpose import BUFFERED_LOOP, COMMITS, FILES
from openpts_drives.gauges import disks_below
from openpts_drives.health.health import read_health
from openpts_drives.mounted.directory import DirectoryTarget, device_counts, open_directory
from openpts_sim.simulated_target import names_simulated


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
        own: Facts = {key: of_file[key] for key in ("file_system", "sector") if key in of_file}
        disk = BlockDevice.of_node(Path(self.below.facts.path), self.roots).whole
        if disk.text("loop/dio") == "0":
            own["interface"] = Fact(BUFFERED_LOOP, disk.place("loop/dio"))
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


class CheckDriver(Driver):
    """Has a log and a folder of small files beside a file, all in a folder that is made for the run."""

    def __init__(self, test: Procedure) -> None:
        super().__init__(test)
        self._device: PhysicalDevice | None = None
        self._log_fd = self._small_files_fd = -1

    @contextmanager
    def opened(self, target: str, consent: Consent, run_id: str) -> Iterator[DeviceUnderTest]:
        """See the base; on a drive that exists there is no file system to append in, only on files."""
        with ExitStack() as made:
            with StopSignals() as stop:  # one between making a file and securing its removal would leave it
                named = None if names_simulated(target) else parse_target(target)
                if isinstance(named, FileTarget):
                    self._device = self._of_files(made, named, consent, run_id)
                device = self._device or made.enter_context(
                    device_under_test(target, consent, for_writing=True, run_id=run_id)
                )
            if stop.wished:
                raise KeyboardInterrupt
            yield device if self._device is None else made.enter_context(disk_in_use(self._device, run_id))

    def _of_files(self, made: ExitStack, named: FileTarget, consent: Consent, run_id: str) -> PhysicalDevice:
        """The file that is read and written, in a folder of the name that was given; the log beside it."""
        folder = made.enter_context(own_folder(named.path, (named.size_bytes or 0) + SEGMENT_BYTES))
        file, log = (
            FileTarget(folder.path / name, size_bytes, folder.fd)
            for name, size_bytes in ((FILE_NAME, named.size_bytes), (LOG_NAME, SEGMENT_BYTES))
        )
        device = made.enter_context(device_under_test(file, consent, for_writing=True, run_id=run_id))
        assert isinstance(device, PhysicalDevice)  # noqa: S101 it is a file
        opened = made.enter_context(open_target(log, consent, device.roots, run_id))
        # the log goes through the page cache, as that of a database does: appends are no whole sectors
        fcntl.fcntl(opened.fd, fcntl.F_SETFL, fcntl.fcntl(opened.fd, fcntl.F_GETFL) & ~os.O_DIRECT)
        self._log_fd, self._small_files_fd = opened.fd, folder.small_files_fd
        return device

    def engine(self, of_device: Engine) -> Engine:
        """See the base; on files there are programs beside it."""
        return of_device if self._device is None else self._with_programs(of_device, self._device)

    @contextmanager
    def _with_programs(self, of_device: Engine, device: PhysicalDevice) -> Iterator[DiskEngine]:
        path = Path(device.facts.path)
        below = disks_below(None, path, SystemRoots())
        # what is made of others may be answered for by the cache of a file below it
        disks = [disk for disk in below if not disk.is_made_of_others]

        def read_bytes() -> int:
            return sum(device_counts(disk).read_bytes for disk in disks)

        programs = {COMMITS: Commits.to(self._log_fd), FILES: SmallFiles.within(self._small_files_fd)}
        with of_device as within:
            engine = DiskEngine(within, programs, read_bytes if disks else None)
            try:
                yield engine
            finally:
                engine.close()

    def unresumable(self, manifest: Manifest) -> str:
        """See the base."""
        is_file = manifest.target.kind is TargetKind.FILE
        return "its files are gone, and asking again takes minutes" if is_file else ""
