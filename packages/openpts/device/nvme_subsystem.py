"""An NVMe drive as a whole: its controllers, all its namespaces, and how it is found under another name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.facts import Fact

# nvme0n2, and not nvme0c1n2, which is one path to it
_NAMESPACE: Final = re.compile(r"nvme[0-9]+n[0-9]+")
"""The kernel's names of namespaces."""
_ONE_PATH: Final = re.compile(r"nvme([0-9]+)c[0-9]+n([0-9]+)")


def namespaces_of(controller: Path) -> tuple[str, ...]:
    """Kernel names of the namespaces that a controller's folder in sysfs leads to."""
    names = (namespace_behind(folder.name) for folder in sorted(controller.glob("nvme*")))
    return tuple(name for name in names if _NAMESPACE.fullmatch(name))


def namespace_behind(name: str) -> str:
    """The namespace's own name where ``name`` is that of one path to it: nvme0n1 of nvme0c1n1."""
    return _ONE_PATH.sub(r"nvme\1n\2", name)


_CONTROLLER: Final = re.compile(r"nvme[0-9]+")
_DIGITS: Final = re.compile(r"[0-9]+")
_OPTIMIZED: Final = "optimized"
_FOR_IO: Final = {None, _OPTIMIZED, "non-optimized"}


class NvmePath(Struct, frozen=True):
    """A way to a namespace: the folder of its controller, and what the drive says of it (ANA).

    ``access`` is ``optimized``, ``non-optimized``, ``inaccessible``, ``persistent-loss``, ``change``; None
    where the drive does not say.
    """

    controller: Path
    access: str | None

    @property
    def is_live(self) -> bool:
        """Whether I/O goes this way, if the drive has the choice."""
        return read_text(self.controller / "state") == "live" and self.access in _FOR_IO

    @property
    def is_optimized(self) -> bool:
        """Whether I/O goes this way at the drive's full speed."""
        return self.is_live and self.access == _OPTIMIZED

    @property
    def text(self) -> str:
        """Controller, transport, address and states: ``nvme0 (tcp, traddr=10.0.0.1, live, optimized)``."""
        values = (read_text(self.controller / name) or "-" for name in ("transport", "address", "state"))
        return f"{self.controller.name} ({', '.join([*values, *([self.access] if self.access else [])])})"


class NvmeSubsystem(Struct, frozen=True):
    """One NVM subsystem: the folders of its controllers in sysfs, and all folders with namespaces in them."""

    controllers: tuple[Path, ...]
    places: tuple[Path, ...]
    roots: SystemRoots

    @classmethod
    def of(cls, device: BlockDevice) -> Self:
        """The subsystem of a namespace; without any controller if the drive has gone."""
        return cls._of_folder(device.whole.folder.parent, device.roots)

    @classmethod
    def with_serial(cls, serial: str, roots: SystemRoots) -> Self | None:
        """The first subsystem whose controllers report this serial number; None: there is none now."""
        for controller in sorted((roots.sys / "class/nvme").glob("nvme*")):
            if read_text(controller / "serial") == serial:
                return cls._of_folder(controller.resolve(), roots)
        return None

    @classmethod
    def _of_folder(cls, folder: Path, roots: SystemRoots) -> Self:
        """``folder`` is a controller's, or the subsystem's where the kernel joins several paths to one."""
        for link in sorted((roots.sys / "class/nvme-subsystem").glob("*")):
            subsystem = link.resolve()
            controllers = tuple(_folders(subsystem, _CONTROLLER))
            if folder in {subsystem, *controllers}:
                return cls(controllers, (*controllers, subsystem), roots)
        alone = (folder,) if _CONTROLLER.fullmatch(folder.name) and folder.exists() else ()
        return cls(alone, alone, roots)

    @property
    def live_controller(self) -> Path | None:
        """One that takes commands; the first where none says so, None where there is none."""
        return next(iter(self.live_controllers or self.controllers), None)

    @property
    def live_controllers(self) -> tuple[Path, ...]:
        """Controllers that take commands."""
        return tuple(folder for folder in self.controllers if read_text(folder / "state") == "live")

    def paths(self, device: BlockDevice) -> tuple[NvmePath, ...]:
        """All ways to one of its namespaces."""
        access = {
            folder.parent: read_text(folder / "ana_state")
            for controller in self.controllers
            for folder in _folders(controller, _ONE_PATH)
            if namespace_behind(folder.name) == device.whole.name
        }
        return tuple(NvmePath(controller, access.get(controller)) for controller in self.controllers)

    def paths_fact(self, device: BlockDevice) -> Fact | None:
        """The paths where there are several, or the drive reports one, and the kernel's rule of choice."""
        paths = self.paths(device)
        if len(paths) < 2 and not any(path.access for path in paths):
            return None
        policy = read_text(self.places[-1] / "iopolicy") or "unknown"
        states = "; ".join(path.text for path in paths)
        return Fact(f"{states}; I/O policy {policy}", str(self.places[-1]))

    @property
    def namespaces(self) -> tuple[BlockDevice, ...]:
        """All namespaces that the kernel shows, of all controllers, by name."""
        found = {folder for place in self.places for folder in _folders(place, _NAMESPACE)}
        return tuple(
            BlockDevice(folder, self.roots)
            for folder in sorted(found, key=lambda folder: [int(n) for n in _DIGITS.findall(folder.name)])
            if (folder / "size").exists()
        )

    def besides(self, device: BlockDevice) -> tuple[BlockDevice, ...]:
        """The other namespaces: what is done to the subsystem is done to them as well."""
        return tuple(other for other in self.namespaces if other.folder != device.whole.folder)


def _folders(place: Path, name: re.Pattern[str]) -> Iterator[Path]:
    for entry in sorted(place.glob("nvme*")):
        if name.fullmatch(entry.name):
            yield entry.resolve()
