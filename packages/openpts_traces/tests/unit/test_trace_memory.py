"""A trace of any length is read in bounded memory, in order or not."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator

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


def records(count: int, *, backward: bool) -> Iterator[bytes]:
    """Reads and writes at random places, 10 us apart."""
    random = np.random.default_rng(20)
    for first in range(0, count, RECORDS_AT_ONCE):
        numbers = range(first, min(count, first + RECORDS_AT_ONCE))
        offsets = random.integers(0, 1 << 28, len(numbers)) * 8192
        lines = (
            f"1,{'R' if number % 3 else 'W'},{offset},8192,{10**9 + 10 * time}\n"
            for number, offset in zip(numbers, offsets.tolist(), strict=True)
            for time in [count - number if backward else number]
        )
        yield "".join(lines).encode()


@pytest.mark.slow
@pytest.mark.parametrize(("count", "backward"), [(10_000_000, False), (3_000_000, True)])
def test_memory_is_bounded(tmp_path, count, *, backward) -> None:
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
    assert int(peak[1]) * 1024 < MOST_BYTES
    assert (tmp_path / "out").stat().st_size <= 8 * count
