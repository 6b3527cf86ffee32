"""A run owns its drive by whatever name: the lab's machine runs tests/lab/guest/test_claims.py."""

from pathlib import Path

import pytest

from tests.lab.machine import needs_lab, passes_in_lab

pytestmark = needs_lab


@pytest.mark.slow
def test_a_run_owns_its_drive_by_whatever_name(tmp_path: Path) -> None:
    told = passes_in_lab(
        tmp_path,
        *("--nvme", "64M", "--nvme", "128M,ns=2"),
        *("--scsi-debug", "dev_size_mb=64,add_host=2,vpd_use_hostno=0"),
        *("--append", "nvme_core.multipath=0"),
        modules="tests/lab/guest/test_claims.py",
        timeout_s=600,
    )
    assert "skipped" not in told
