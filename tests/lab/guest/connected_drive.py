"""A served drive that the kernel's own nvme-tcp has connected, inside the lab's machine."""

import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openpts_testbench.served_drive import SOUND, Faults
from tests.support.served_drive import served


@contextmanager
def connected(preset: Path, text: str, faults: Faults = SOUND) -> Iterator[Path]:
    """The node of a drive of this preset, which is written into the file."""
    preset.write_text(text)
    with served(str(preset), faults) as drive:
        host, _, port = drive.address.rpartition(":")
        words = f"nvme connect -t tcp -a {host} -s {port} -n {drive.names.nqn}"
        subprocess.run(shlex.split(words), check=True, timeout=60)
        deadline = time.monotonic() + 60
        while not (found := _node_of(drive.names.serial)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield found
        subprocess.run(["nvme", "disconnect", "-n", drive.names.nqn], check=True, timeout=60)


def serial_of(node: Path) -> str:
    """As the kernel knows it."""
    return Path(f"/sys/block/{node.name}/device/serial").read_text().strip()


def _node_of(serial: str) -> Path | None:
    for found in Path("/sys/class/nvme").glob("nvme*"):
        node = Path(f"/dev/{found.name}n1")
        if (found / "serial").read_text().strip() == serial and node.is_block_device():
            return node
    return None
