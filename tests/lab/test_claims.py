"""A run owns its drive by whatever name: the lab's machine runs tests/lab/guest/test_claims.py."""

import sys
from pathlib import Path

import pytest

from tests.lab.machine import in_lab, needs_lab

pytestmark = needs_lab


@pytest.mark.slow
def test_a_run_owns_its_drive_by_whatever_name(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    tests = "-m pytest -q -p no:cacheprovider tests/lab/guest/test_claims.py"
    ended = in_lab(
        tmp_path,
        *("--nvme", "64M", "--nvme", "128M,ns=2"),
        *("--scsi-debug", "dev_size_mb=64,add_host=2,vpd_use_hostno=0"),
        *("--append", "nvme_core.multipath=0"),
        script=f"cd {root} && {sys.executable} {tests}",
        timeout_s=600,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    assert "skipped" not in ended.stdout
