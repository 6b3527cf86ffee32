"""A trace of any length is read in bounded memory, in order or not."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

MIB = 2**20
MOST_BYTES = 256 * MIB
RECORDS_AT_ONCE = 1 << 18
# It says its own peak: the one that the kernel gives a parent may be the parent's, from before the program.
COMMAND = (
    sys.executable,
    "-c",
    "import atexit, sys; from pathlib import Path; from openpts.cli.main import main; "
    "atexit.register(lambda: sys.stderr.write(Path('/proc/self/status').read_text())); main()",
)
VSCSI = np.dtype(
    [
        ("command", "<u2"),
        ("version", "<u2"),
        ("sn", "<u4"),
        ("length", "<u4"),
        ("entries", "<u4"),
        ("block", "<u8"),
        ("time_us", "<u8"),
        ("response_us", "<u8"),
    ]
)


def records(count: int, *, backward: bool) -> Iterator[bytes]:
    """Reads and writes at random places, 10 us apart."""
    random = np.random.default_rng(20)
    for first in range(0, count, RECORDS_AT_ONCE):
        numbers = np.arange(first, min(count, first + RECORDS_AT_ONCE), dtype=np.uint64)
        some = np.zeros(len(numbers), dtype=VSCSI)
        some["command"] = np.where(numbers % 3 == 0, 0x2A, 0x28)
        some["version"] = 0x200
        some["length"] = 8192
        some["block"] = random.integers(0, 1 << 28, len(numbers)) * 16
        some["time_us"] = 10**9 + 10 * (count - numbers if backward else numbers)
        some["response_us"] = 80
        yield some.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(("count", "backward"), [(10_000_000, False), (3_000_000, True)])
def test_memory_is_bounded(tmp_path: Path, count: int, *, backward: bool) -> None:
    order = [*COMMAND, "trace", "convert", "-", "-o", str(tmp_path / "out"), "--json"]
    order += ["--reorder", "any"] if backward else []
    pipe = subprocess.PIPE
    with subprocess.Popen(order, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        for some in records(count, backward=backward):
            process.stdin.write(some)
        printed, said = process.communicate()
    assert process.returncode == 0
    assert json.loads(printed)["ios"] == count
    peak = re.search(rb"^VmHWM:\s+(\d+) kB$", said, re.MULTILINE)
    assert peak is not None
    assert int(peak[1]) * 1024 < MOST_BYTES
    assert (tmp_path / "out").stat().st_size <= 8 * count
