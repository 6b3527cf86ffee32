"""Several NVMe drives in slots: the lab's machine runs tests/lab/guest/test_batch.py."""

from pathlib import Path

import pytest

from tests.lab.machine import needs_lab, passes_in_lab

pytestmark = needs_lab


@pytest.mark.slow
def test_drives_are_found_by_slot_and_each_is_tested_by_itself(tmp_path: Path) -> None:
    told = passes_in_lab(
        tmp_path,
        *("--nvme", "16M", "--nvme", "16M", "--nvme", "16M"),
        modules="tests/lab/guest/test_batch.py",
        timeout_s=600,
    )
    assert "skipped" not in told
