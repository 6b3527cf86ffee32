"""Live captures on the kernel's own drivers, by blktrace and by tracefs."""

from pathlib import Path

import pytest

from tests.lab.machine import needs_lab, passes_in_lab

pytestmark = [needs_lab, pytest.mark.slow]

DRIVES = (
    "--nvme",
    "256M",
    "--null-blk",
    "size=256,memory_backed=1",
    "--scsi-debug",
    "dev_size_mb=64,delay=0",
)


@pytest.mark.parametrize("tests", ["engine_did or both_ways", "not engine_did and not both_ways"])
def test_captures_hold_what_reached_the_drives(tests: str, tmp_path: Path) -> None:
    modules = f"tests/lab/guest/test_capture.py -k '{tests}'"
    mount = "mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing"
    passes_in_lab(tmp_path, *DRIVES, modules=modules, before=mount, timeout_s=500)
