"""Loop devices on temporary files: real block devices that may be lost.

Nothing else is ever written to. Whatever a test attaches, mounts or switches on is undone at its
end, in reverse order, also when it fails.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from openpts.system_files import SystemRoots
from openpts.units import MIB
from tests.support.block_trace import TracingUnavailableError, require_tracing
from tests.support.processes import until

SHARED_MEMORY = Path("/dev/shm")
Attach = Callable[..., Path]
Run = Callable[..., str]


@pytest.fixture
def roots() -> SystemRoots:
    return SystemRoots()


@pytest.fixture
def cleanup() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def run() -> Run:
    """Run a system program and return its output; the test is skipped if it isn't installed."""

    def run_program(name: str, *arguments: object, stdin: str = "") -> str:
        program = shutil.which(name)
        if program is None:
            pytest.skip(f"the program {name} is not installed")
        command = [program, *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, input=stdin, text=True).stdout.strip()

    return run_program


@pytest.fixture
def attach(tmp_path: Path, cleanup: ExitStack, run: Run) -> Attach:
    """Attach a loop device to a new file of that size, or to what is named, and return its node."""
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
        pytest.skip("needs root and loop devices (/dev/loop-control)")
    _wait_for_other_workers(cleanup)

    def attach_loop(*options: str, size_bytes: int = 64 * MIB, on: Path | None = None) -> Path:
        backing = on
        if backing is None:
            backing = tmp_path / f"backing-{len(list(tmp_path.iterdir()))}"
            backing.touch()
            os.truncate(backing, size_bytes)
        try:
            node = Path(run("losetup", "--find", "--show", *options, backing))
        except subprocess.CalledProcessError as error:
            pytest.skip(f"losetup does not work here: {error.stderr.strip()}")
        cleanup.callback(_detach, run, node)
        return node

    return attach_loop


def _detach(run: Run, node: Path) -> None:
    """Until its backing file is let go: a program that looks at all drives may hold the node for a moment,
    and the kernel detaches it only then.
    """
    backing = _backing_file(node)
    run("losetup", "--detach", node)
    until(lambda: backing is None or _backing_file(node) != backing, f"{node} lets go of {backing}")


def _backing_file(node: Path) -> str | None:
    try:
        return Path("/sys/block", node.name, "loop/backing_file").read_text()
    except OSError:
        return None


@pytest.fixture
def attach_memory(attach: Attach, cleanup: ExitStack, run: Run) -> Callable[[int], Path]:
    """Attach a loop device to memory: as fast as loop devices get, and sparse, so of any size."""
    if not SHARED_MEMORY.is_dir():
        pytest.skip(f"needs a file system in memory at {SHARED_MEMORY}")

    def attach_in_memory(size_bytes: int) -> Path:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(dir=SHARED_MEMORY)))
        backing = folder / "backing"
        backing.touch()
        os.truncate(backing, size_bytes)
        node = attach("--direct-io=on", on=backing)
        run("udevadm", "settle")  # programs that look at new drives have done so
        return node

    return attach_in_memory


@pytest.fixture
def traceable() -> None:
    """Skip where block events cannot be recorded."""
    try:
        require_tracing()
    except TracingUnavailableError as error:
        pytest.skip(str(error))


def _wait_for_other_workers(cleanup: ExitStack) -> None:
    """One test with loop devices at a time: a list of drives touches those of all others for a moment."""
    lock = cleanup.enter_context((Path(tempfile.gettempdir()) / "openpts-loop-tests.lock").open("w"))
    fcntl.flock(lock, fcntl.LOCK_EX)


@pytest.fixture
def mount(tmp_path: Path, cleanup: ExitStack, run: Run) -> Callable[..., Path]:
    """Mount a device, or a kind of file system without one, and return the mount point."""

    def mount_device(device: object, *options: str) -> Path:
        mount_point = tmp_path / f"mount-{len(list(tmp_path.iterdir()))}"
        mount_point.mkdir()
        run("mount", *options, device, mount_point)
        cleanup.callback(run, "umount", mount_point)
        return mount_point

    return mount_device


@pytest.fixture
def tmpfs(attach: Attach, mount: Callable[..., Path]) -> Path:
    """A file system of 16 MiB of memory."""
    attach()  # it skips where it can't, and lets one test at a time
    return mount("none", "-t", "tmpfs", "-o", "size=16m")
