"""A drive as far as its wear goes: what its log says, how full it is, and what a stretch has written."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.file_system import device_of_mount
from openpts.device.identity.identity import dut_facts
from openpts.errors import TargetError
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots, printable, read_mounts
from openpts.units import TB
from openpts.vocabulary.facts import TargetFacts, TargetKind, fact_of
from openpts.vocabulary.health import HealthReading
from openpts_drives.health.health import read_health_of
from openpts_drives.mounted.counts import device_counts
from openpts_drives.mounted.directory import DirectoryTarget
from openpts_sim.presets import load_preset
from openpts_sim.simulated_target import names_simulated, parse_simulated_target
from openpts_traces.capture.program import RunningProgram

_LOOK_S: Final = 0.1
_NO_LOG: Final = HealthReading("a simulated drive that is new")


class Stretch(Struct, frozen=True):
    """What was written in ``lasted_s``: by the kernel's count, and by two readings of the drive's log."""

    lasted_s: float
    kernel_bytes: int
    before: HealthReading
    after: HealthReading


class WornDrive(Struct, frozen=True):
    """``device`` is None for a simulated drive. ``tbw_bytes`` is what its maker promises, None if unknown.

    ``full_pct`` is the share of the capacity that mounted file systems have taken; None where none is.
    """

    name: str
    capacity_bytes: int
    device: BlockDevice | None
    tbw_bytes: float | None = None
    full_pct: float | None = None

    @classmethod
    def of(cls, text: str, roots: SystemRoots) -> Self:
        """What the operator named: a drive, a directory on one, or a simulated drive. Raises TargetError."""
        if names_simulated(text):
            target = parse_simulated_target(text)
            tbw = load_preset(target.preset, target.parameters).rated.get("tbw")
            capacity = UnopenedTarget.of(text, roots).facts.user_capacity_bytes
            return cls(printable(text), capacity, None, None if tbw is None else tbw * TB)
        path = Path(text)
        if path.is_block_device():
            device = BlockDevice.of_node(path, roots).whole
        else:
            directory = DirectoryTarget.of(text, roots)
            if directory is None:
                raise TargetError(f"{printable(text)} is neither a drive nor a directory on one")
            device = directory.device.whole
        facts = dut_facts(_facts_of(device), roots)
        name = " ".join(filter(None, (fact_of(facts, "model"), fact_of(facts, "serial"))))
        full_pct = _full_pct(device, roots)
        return cls(f"{device.node} {name}".strip(), device.capacity_bytes, device, None, full_pct)

    def log(self) -> HealthReading:
        """What its log says now; never raises."""
        return _NO_LOG if self.device is None else read_health_of(self.device)

    def stretch(self, seconds: float | None, arguments: tuple[str, ...]) -> Stretch:
        """What is written in so many seconds, or while a program runs. Raises UsageError if there is none."""
        assert self.device is not None  # noqa: S101 asked of drives that exist alone
        with RunningProgram(arguments) as program:
            before, counted = self.log(), device_counts(self.device).written_bytes
            began = time.monotonic()
            program.start()
            while not program.has_ended() and (seconds is None or time.monotonic() - began < seconds):
                time.sleep(_LOOK_S)
        os.sync()  # what the program has left in memory is its own, too
        lasted_s = time.monotonic() - began
        written = device_counts(self.device).written_bytes - counted
        return Stretch(lasted_s, written, before, self.log())


def _facts_of(device: BlockDevice) -> TargetFacts:
    return TargetFacts(TargetKind.BLOCK, device.name, str(device.node), device.capacity_bytes, 512)


def _full_pct(device: BlockDevice, roots: SystemRoots) -> float | None:
    """Each file system counts once, however often it is mounted."""
    used: dict[str, int] = {}
    for mount in read_mounts(roots):
        below = device_of_mount(mount, roots)
        if below is not None and device.name in {
            below.whole.name,
            *(one.name for one in below.whole.beneath),
        }:
            with _skipping_what_hides():
                status = os.statvfs(mount.mount_point)
                used[mount.device] = (status.f_blocks - status.f_bfree) * status.f_frsize
    return 100 * sum(used.values()) / device.capacity_bytes if used and device.capacity_bytes else None


@contextmanager
def _skipping_what_hides() -> Iterator[None]:
    """A mount that is covered by another one, or in no sight of ours."""
    try:
        yield
    except OSError:
        return
