"""A trace of any length is read in bounded memory, in order or not."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.openpts_command import COMMAND

MIB = 2**20
MOST_BYTES = 256 * MIB
RECORDS_AT_ONCE = 1 << 18
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
    with subprocess.Popen(order, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for some in records(count, backward=backward):
            process.stdin.write(some)
        process.stdin.close()
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert json.loads(printed)["ios"] == count
    assert usage.ru_maxrss * 1024 < MOST_BYTES
    assert (tmp_path / "out").stat().st_size <= 8 * count
