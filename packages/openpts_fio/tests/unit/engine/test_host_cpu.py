"""Processor shares from two readings of a made-up /proc/stat."""

import pytest

from openpts.system_files import SystemRoots
from openpts_fio.engine.engine import HostCpu


def reading(tmp_path, line: str) -> HostCpu | None:
    (tmp_path / "stat").write_text(f"{line}\ncpu0 1 2 3 4\n")
    return HostCpu.now(SystemRoots(proc=tmp_path))


def test_shares_follow_from_the_difference(tmp_path) -> None:
    before = reading(tmp_path, "cpu  100 0 50 800 50 0 0 0 0 0")
    after = reading(tmp_path, "cpu  150 10 70 900 80 5 5 0 0 0")
    shares = after.shares_since(before, 7)
    # 60 of user, 30 of system, 30 of iowait and 100 idle ticks: 220
    assert shares.user_pct == pytest.approx(100 * 60 / 220)
    assert shares.sys_pct == pytest.approx(100 * 30 / 220)
    assert shares.iowait_pct == pytest.approx(100 * 30 / 220)
    assert shares.process_ns == 7
    assert before.shares_since(before, 7) is None


@pytest.mark.parametrize("line", ["", "intr 1 2 3", "cpu a b c d e f g h", "cpu 1 2 3"])
def test_a_kernel_without_counters_gives_none(tmp_path, line) -> None:
    assert reading(tmp_path, line) is None
