"""What is left of the memory, as the kernel tells it."""

from pathlib import Path

import pytest

from openpts.host.memory import available_memory_bytes
from openpts.system_files import SystemRoots


@pytest.mark.parametrize(
    ("meminfo", "expected"),
    [
        ("MemTotal:  100 kB\nMemAvailable:   16384 kB\n", 16384 * 1024),
        ("MemTotal:  100 kB\n", None),
        ("MemAvailable:   many kB\n", None),
        ("MemAvailable:   16384\n", None),
    ],
)
def test_it_is_read_from_meminfo(tmp_path: Path, meminfo: str, expected: int | None) -> None:
    (tmp_path / "meminfo").write_text(meminfo)
    assert available_memory_bytes(SystemRoots(proc=tmp_path)) == expected


def test_a_machine_without_meminfo_tells_nothing(tmp_path: Path) -> None:
    assert available_memory_bytes(SystemRoots(proc=tmp_path)) is None
