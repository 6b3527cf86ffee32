"""Whether the host is taken for the limit on a machine of its own: idle behind a slow drive, and burdened."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab.machine import in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

IDLE_S, BURDENED_S = 60, 20
BURN = "import os; os.sched_setaffinity(0, {0}); os.nice(-15)\nwhile True: pass"


def marks(path: Path) -> list[list[str]]:
    """Those of each second but the last, which is cut off."""
    found: dict[str, Any] = json.loads(path.read_text())
    seconds: list[list[str]] = found["seconds"][:-1]
    assert None not in seconds
    return seconds


def test_an_idle_host_is_never_the_limit_of_a_slow_drive_and_a_burdened_one_is(tmp_path: Path) -> None:
    (tmp_path / "burn.py").write_text(BURN)
    load = f"{sys.executable} -m tests.device.limited_load /dev/nvme0n1"
    ended = in_lab(
        tmp_path,
        "--nvme",
        "128M,iops=100",
        script=f"""
        cd {Path(__file__).parents[2]}
        {load} {IDLE_S} --cpus 0 > {tmp_path}/idle || exit 10
        for n in 1 2; do python3 {tmp_path}/burn.py & burning="$burning $!"; done
        {load} {BURDENED_S} --cpus 0 > {tmp_path}/burdened || exit 11
        kill $burning
        """,
        timeout_s=400,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    idle, burdened = marks(tmp_path / "idle"), marks(tmp_path / "burdened")
    assert len(idle) >= IDLE_S - 1
    assert [one for one in idle if one] == []
    assert sum(map(bool, burdened)) >= 0.99 * len(burdened)
