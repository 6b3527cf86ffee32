"""A machine with drives that nobody minds losing: OPENPTS_LAB names the program that boots it."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.openpts_command import COMMAND

LAB: Final = os.environ.get("OPENPTS_LAB")

needs_lab: Final = pytest.mark.skipif(LAB is None, reason="OPENPTS_LAB does not name a device lab")
"""What each module of these tests is marked with."""

SHORT: Final = "--step-seconds 0.1 --max-rounds 1 --precondition-passes 0.5 --no-report"
OPENPTS: Final = shlex.join(COMMAND)


def in_lab(folder: Path, *drives: str, script: str, timeout_s: int = 300) -> subprocess.CompletedProcess[str]:
    """Run a shell script on a machine with these drives; what it puts into ``folder`` stays."""
    command = lab_command(folder, *drives, script=script, timeout_s=timeout_s)
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s + 60, check=False)


def passes_in_lab(folder: Path, *drives: str, modules: str, before: str = ":", timeout_s: int = 300) -> str:
    """What pytest says of modules of tests/lab/guest on such a machine, all of which have to pass there."""
    tests = f"{sys.executable} -m pytest -q -rs -p no:cacheprovider {modules}"
    script = f"{before}; cd {Path(__file__).parents[2]} && {tests}"
    ended = in_lab(folder, *drives, script=script, timeout_s=timeout_s)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    return ended.stdout


def lab_command(folder: Path, *drives: str, script: str, timeout_s: int) -> list[str]:
    """What to start for that."""
    assert LAB is not None
    return [
        LAB,
        "run",
        *drives,
        "--share",
        str(folder),
        "--timeout",
        str(timeout_s),
        "--",
        "sh",
        "-c",
        script,
    ]
