"""Log pages behind the kernel's own nvme-tcp: the lab's machine runs tests/lab/guest/test_served_logs.py."""

from pathlib import Path

import pytest

from tests.lab.machine import needs_lab, passes_in_lab

pytestmark = needs_lab


@pytest.mark.slow
def test_pages_are_what_nvme_cli_prints(tmp_path: Path) -> None:
    modules = "tests/lab/guest/test_served_logs.py"
    told = passes_in_lab(tmp_path, modules=modules, before="modprobe nvme-tcp", timeout_s=600)
    assert "skipped" not in told
