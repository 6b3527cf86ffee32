"""What is refused on a machine with drives of every kind, from within it."""

import re
from pathlib import Path

import pytest

from tests.lab.machine import QUICK, needs_lab, passes_in_lab

pytestmark = needs_lab


def test_every_unsafe_situation_is_refused_and_a_free_drive_is_purged(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    sample = "-m 'not slow' " if pytestconfig.getoption("--sample") else ""
    told = passes_in_lab(
        tmp_path,
        *QUICK,
        *("--nvme", "256M", "--sata", "256M", "--scsi", "256M,hba=mptsas1068"),
        *("--scsi-debug", "dev_size_mb=64,add_host=2,vpd_use_hostno=0,lbpu=1"),
        before="modprobe sg; export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1",
        # Without the conftest.py of all tests: it takes longer to load than pytest. And not on the guest's
        # root: an overlay whose layers are out of sight, so that no file on it is taken.
        modules=f"{sample}--confcutdir=tests/lab/guest --basetemp=/dev/shm/guest "
        "tests/lab/guest/test_drives.py tests/lab/guest/test_guard.py",
        timeout_s=900,
    )
    skipped = [line for line in told.splitlines() if line.startswith("SKIPPED")]
    assert len(skipped) == 1, skipped
    assert re.match(r"SKIPPED \[1\] .* no SCSI generic node: NVMe", skipped[0])
