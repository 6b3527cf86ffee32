"""What the benches measure on, and the line that says on which machine."""

import os
import platform
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openpts.device.block_device import BlockDevice
from openpts.device.kernel_calls import device_capacity_bytes, logical_sector_bytes
from openpts.device.targets.open_target import OpenTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind


@contextmanager
def loop_device(backing: Path) -> Iterator[Path]:
    """A block device on that file, without a page cache between them; needs root."""
    attach = ["losetup", "--show", "--find", "--direct-io=on", str(backing)]
    device = Path(subprocess.run(attach, capture_output=True, check=True, text=True).stdout.strip())
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", str(device)], check=True)


@contextmanager
def memory_drive(capacity_bytes: int, folder: Path) -> Iterator[Path]:
    """A loop device in memory where there is a place for it: the driver is to be measured, not a disk."""
    memory = Path("/dev/shm") if Path("/dev/shm").is_dir() else folder
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        backing = Path(scratch) / "backing"
        with backing.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, capacity_bytes)
        with loop_device(backing) as device:
            yield device


@contextmanager
def opened(path: Path, roots: SystemRoots) -> Iterator[OpenTarget]:
    """A drive or file, for reading."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        if path.is_file():
            facts = TargetFacts(TargetKind.FILE, path.name, str(path), path.stat().st_size, 512)
            yield OpenTarget(fd, facts, None)
            return
        facts = TargetFacts(
            TargetKind.BLOCK, path.name, str(path), device_capacity_bytes(fd), logical_sector_bytes(fd)
        )
        yield OpenTarget(fd, facts, BlockDevice.of_node(path, roots))
    finally:
        os.close(fd)


def children_cpu_s() -> float:
    """Processor time so far of the processes that were waited for, user and system."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fio_version() -> str | None:
    """As fio prints it; None where it isn't installed."""
    if shutil.which("fio") is None:
        return None
    return subprocess.run(["fio", "--version"], capture_output=True, check=True, text=True).stdout.strip()


def machine() -> str:
    """Architecture, processors and kernel."""
    names = {
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    }
    processor = ", ".join(sorted(names)) or platform.machine()
    return f"{processor}, {os.cpu_count()} CPUs, Linux {platform.release()}"
