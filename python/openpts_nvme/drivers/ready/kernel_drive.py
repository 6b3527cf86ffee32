"""An NVMe drive as the kernel has it, found again under whatever name it comes back."""

import mmap
import os
import random
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from openpts.device.block_device import BlockDevice
from openpts.device.nvme.nvme_admin import NvmeCommandError, identify_controller
from openpts.device.nvme.nvme_subsystem import NvmeSubsystem
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.system_files import read_text
from openpts.units import KIB

_READ_BYTES: Final = 4 * KIB


class KernelDrive:
    """Implements openpts_nvme.drivers.ready.measure.Asked for a drive that the guard holds; only reads."""

    def __init__(self, target: OpenTarget) -> None:
        """Raises TargetError where it is no NVMe drive, or nothing tells it apart from others."""
        device = target.device
        controller = None if device is None else NvmeSubsystem.of(device).live_controller
        if device is None or controller is None:
            raise TargetError(f"{target.facts.path} is no NVMe drive")
        serial = read_text(controller / "serial")
        if not serial:
            raise TargetError(f"{target.facts.path} has no serial number to be found again by")
        self.serial, self.fd = serial, target.fd
        self._nsid = device.integer("nsid")
        self._roots = device.roots
        self._blocks = target.facts.user_capacity_bytes // _READ_BYTES
        self._buffer = mmap.mmap(-1, _READ_BYTES)
        self._chosen = random.Random(1)  # noqa: S311 places, no secret
        self._of_controller: int | None = None
        self._of_namespace: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for fd in (self._of_controller, self._of_namespace):
            if fd is not None:
                os.close(fd)

    @property
    def controller(self) -> Path:
        """The controller's folder in sysfs now. Raises TargetError if there is none."""
        found = self._subsystem()
        if found is None or found.live_controller is None:
            raise TargetError(f"the drive with serial number {self.serial} is not there: see dmesg")
        return found.live_controller

    def namespace(self) -> BlockDevice | None:
        """The namespace under its name of now."""
        found = self._subsystem()
        namespaces = () if found is None else found.namespaces
        return next((one for one in namespaces if one.integer("nsid") == self._nsid), None)

    def _subsystem(self) -> NvmeSubsystem | None:
        return NvmeSubsystem.with_serial(self.serial, self._roots)

    def identify(self) -> bool:
        """See Asked."""
        try:
            if self._of_controller is None:
                node = self._roots.dev / self.controller.name
                self._of_controller = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
            identify_controller(self._of_controller)
        except (OSError, NvmeCommandError, TargetError):
            _let_go(self._of_controller)
            self._of_controller = None
            return False
        return True

    def read(self) -> bool:
        """See Asked."""
        try:
            if self._of_namespace is None:
                found = self.namespace()
                if found is None:
                    return False
                self._of_namespace = os.open(found.node, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
            place = self._chosen.randrange(self._blocks) * _READ_BYTES
            whole = os.preadv(self._of_namespace, [self._buffer], place) == _READ_BYTES
        except OSError:
            whole = False
        if not whole:
            _let_go(self._of_namespace)
            self._of_namespace = None
        return whole


def _let_go(fd: int | None) -> None:
    """Close a descriptor whose drive may be gone."""
    if fd is not None:
        with suppress(OSError):
            os.close(fd)
