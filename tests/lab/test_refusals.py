"""What is refused on a machine with drives of every kind, from within it."""

import re
import sys
from pathlib import Path

from tests.lab.machine import in_lab, needs_lab

pytestmark = needs_lab


def test_every_unsafe_situation_is_refused_and_a_free_drive_is_purged(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    modules = "tests/lab/guest/test_drives.py tests/lab/guest/test_guard.py"
    ended = in_lab(
        tmp_path,
        *("--nvme", "256M", "--sata", "256M", "--scsi", "256M,hba=mptsas1068"),
        *("--scsi-debug", "dev_size_mb=64,add_host=2,vpd_use_hostno=0,lbpu=1"),
        script=f"modprobe sg; cd {root} && {sys.executable} -m pytest -q -rs -p no:cacheprovider {modules}",
        timeout_s=900,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    skipped = [line for line in ended.stdout.splitlines() if line.startswith("SKIPPED")]
    assert len(skipped) == 1, skipped
    assert re.match(r"SKIPPED \[1\] .* no SCSI generic node: NVMe", skipped[0])
