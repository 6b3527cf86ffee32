"""The driver of questions: files of their own beside the data of others, which are gone at the end."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final

from openpts.device.gauges import disks_below
from openpts.device.guard.guard import open_target
from openpts.device.mounted.counts import device_counts
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.scratch_file import remove_made_file
from openpts.device.targets.target import FileTarget
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import Manifest
from openpts.runner.device_under_test import DeviceUnderTest, device_under_test
from openpts.runner.driver import Driver, Engine
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.stop_signals import StopSignals
from openpts.system_files import SystemRoots
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.facts import TargetKind
from openpts_check.drivers.disk_engine import DiskEngine
from openpts_check.drivers.disk_in_use import disk_in_use
from openpts_check.drivers.disk_programs import SEGMENT_BYTES, Commits, SmallFiles
from openpts_check.drivers.filer import remove_small_files
from openpts_check.purpose import COMMITS, FILES

LOG_SUFFIX: Final = ".log"
FOLDER_SUFFIX: Final = ".files"
"""Behind the name of the file that is read and written: what commits are appended to, and small files."""


class CheckDriver(Driver):
    """Has a log and a folder of small files beside a file, and removes what was made for the run."""

    def __init__(self, test: Procedure) -> None:
        super().__init__(test)
        self._device: PhysicalDevice | None = None
        self._log_fd = -1

    def opened(self, target: str, consent: Consent, run_id: str) -> AbstractContextManager[DeviceUnderTest]:
        """See the base; on a drive that exists there is no file system to append in, only on files."""
        return self._opened(target, consent, run_id)

    @contextmanager
    def _opened(self, target: str, consent: Consent, run_id: str) -> Iterator[DeviceUnderTest]:
        with ExitStack() as made:
            with StopSignals() as stop:  # one between making a file and securing its removal would leave it
                device = made.enter_context(
                    device_under_test(target, consent, for_writing=True, run_id=run_id)
                )
                if isinstance(device, PhysicalDevice) and device.facts.kind is TargetKind.FILE:
                    self._device = device
                    self._make_log(made, device, consent, run_id)
            if stop.wished:
                raise KeyboardInterrupt
            yield device if self._device is None else made.enter_context(disk_in_use(self._device, run_id))

    def _make_log(self, made: ExitStack, device: PhysicalDevice, consent: Consent, run_id: str) -> None:
        made.callback(_remove, device.target)
        log_path = Path(f"{device.facts.path}{LOG_SUFFIX}")
        log = made.enter_context(
            open_target(FileTarget(log_path, SEGMENT_BYTES), consent, device.roots, run_id)
        )
        made.callback(remove_small_files, Path(f"{device.facts.path}{FOLDER_SUFFIX}"))
        made.callback(_remove, log)
        self._log_fd = _buffered(log.fd)

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

        programs = {
            COMMITS: Commits.to(self._log_fd),
            FILES: SmallFiles.within(path.with_name(f"{path.name}{FOLDER_SUFFIX}")),
        }
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


def _buffered(fd: int) -> int:
    """The log goes through the page cache, as that of a database does: appends are no whole sectors."""
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_DIRECT)
    return fd


def _remove(target: OpenTarget) -> None:
    if target.made_here:
        remove_made_file(Path(target.facts.path), target.fd)
