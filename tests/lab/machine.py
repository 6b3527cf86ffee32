"""A machine with drives that may be lost: OPENPTS_LAB names the program that boots it."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT
from tests.support.openpts_command import COMMAND
from tests.support.openpts_command import TESTBENCH as SERVE

LAB: Final = os.environ.get("OPENPTS_LAB")

needs_lab: Final = pytest.mark.skipif(LAB is None, reason="OPENPTS_LAB does not name a device lab")
"""What each module of these tests is marked with."""

SHORT: Final = "--step-seconds 0.1 --max-rounds 1 --precondition-passes 0.5 --no-report"
ONE_ELEMENT: Final = "--read-pcts 0 --block-sizes 4KiB --tracking 'RND 4KiB RW0'"
"""Of a round, not 56: each takes seconds on an emulated processor."""

QUICK: Final = ("--cpus", "1", "--append", "norandmaps")
"""For a machine that needs one processor: two emulated ones spend half of their time on each other. Programs
at the same addresses are translated once.
"""

OPENPTS: Final = shlex.join(COMMAND)
TESTBENCH: Final = shlex.join(SERVE)
_LOADED: Final = "import openpts.cli.run_settings, openpts_compare.limits.page"  # with most that a run needs
FORKED: Final = f"""
mkfifo /tmp/orders /tmp/ended
(cd {ROOT} && exec {sys.executable} -c '{_LOADED}; from tests.support.forks import serve; serve()' \
  <>/tmp/orders >/tmp/ended) &
forks=$!
exec 8>/tmp/orders 9</tmp/ended
openpts() {{
  read -r shell rest </proc/self/stat  # not $$, which a background job has of its script
  words=; for word; do words="$words${{words:+, }}\\"$word\\""; done
  streams="\\"/proc/$shell/fd/1\\", \\"/proc/$shell/fd/2\\""
  order="\\"arguments\\": [$words], \\"cwd\\": \\"$PWD\\", \\"streams\\": [$streams]"
  echo "{{$order, \\"input\\": \\"${{input:-/dev/null}}\\"}}" >&8
  read -r code <&9; return $code
}}
"""
"""For a script that waits for openpts more than twice: a start takes ten seconds on an emulated processor.

Its environment is that of this place; its words have no quotes, its streams go to files. It reads what the
file ``$input`` has, if that is set.
"""


def in_lab(folder: Path, *drives: str, script: str, timeout_s: int = 300) -> subprocess.CompletedProcess[str]:
    """Run a shell script on a machine with these drives; what it puts into ``folder`` stays."""
    assert LAB is not None
    command = [LAB, "run", *drives, "--share", str(folder), "--timeout", str(timeout_s)]
    command += ["--", "sh", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s + 60, check=False)


def complaints(folder: Path) -> str:
    """The end of what a script has sent to errors.log; empty where the machine did not come to that."""
    path = folder / "errors.log"
    return path.read_text()[-5000:] if path.exists() else ""


def passes_in_lab(folder: Path, *drives: str, modules: str, before: str = ":", timeout_s: int = 300) -> str:
    """What pytest says of modules of tests/lab/guest on such a machine, all of which have to pass there."""
    tests = f"{sys.executable} -m pytest -q -rs -p no:cacheprovider {modules}"
    script = f"{before}; cd {ROOT} && {tests}"
    ended = in_lab(folder, *drives, script=script, timeout_s=timeout_s)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    return ended.stdout
