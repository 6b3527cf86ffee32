"""openpts as its user starts it: a process with arguments, two streams and an exit code."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.forks import Forks
from tests.support.openpts_command import COMMAND

# A run of a few seconds: five rounds of the shortest steps that still complete I/Os of every size.
SHORT = ("--step-seconds", "0.02", "--max-rounds", "5", "--precondition-passes", "1")

# Of a round of the IOPS test, not 56 elements.
ONE_ELEMENT = ("--read-pcts", "0", "--block-sizes", "4KiB", "--tracking", "RND 4KiB RW0")
# Of a report, its figures alone.
FIGURES = ("--no-html", "--no-pdf", "--no-csv")


@dataclass(frozen=True)
class Ended:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def complaint(self) -> str:
        """The one line that says what is wrong; below it only hints may stand, and no traceback."""
        lines = [
            line for line in self.stderr.splitlines() if not line.startswith(("  Usage: ", "  Example: "))
        ]
        assert len(lines) == 1, self.stderr
        assert lines[0].startswith("openpts: ")
        return lines[0]


class Starts:
    """How openpts is started where a test waits for its end: what a sample has here forks it."""

    forks: Forks | None = None


def openpts(
    *arguments: str, cwd: Path, prefix: Sequence[str] = (), timeout_s: float = 120, **variables: str
) -> Ended:
    if Starts.forks is not None and not prefix:
        return Ended(*Starts.forks.run(arguments, cwd, os.environ | variables, timeout_s))
    process = subprocess.run(
        [*prefix, *COMMAND, *arguments],
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return Ended(process.returncode, process.stdout, process.stderr)


def start_openpts(
    *arguments: str, cwd: Path, prefix: Sequence[str] = (), **variables: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*prefix, *COMMAND, *arguments],
        cwd=cwd,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
