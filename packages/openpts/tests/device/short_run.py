"""A run of some seconds, in the middle of which a test does something to it."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.openpts_process import start_openpts

# so many that the run is steady or out of rounds at the same one
ROUNDS = 5
PATIENCE_S = 60
_RUN = (
    *("run", "iops", "file:x?size=64MiB", "--class", "client", "--precondition-passes", "1"),
    *("--read-pcts", "0", "--block-sizes", "64KiB,4KiB", "--tracking", "RND 4KiB RW0", "--tc", "1"),
    *("--qd", "4", "--step-seconds", "0.4", "--max-rounds", str(ROUNDS), "--no-report"),
)


class ShortRun:
    """Two steps in each round; its lines are read as they come."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.lines = process, list[str]()

    def until(self, word: str) -> None:
        assert self.process.stdout is not None
        for line in iter(self.process.stdout.readline, ""):
            self.lines.append(line)
            if word in line:
                return
        raise AssertionError(f"no {word!r} in:\n{self.log}")

    def ended(self) -> str:
        """What is said on the error channel, after the end."""
        out, errors = self.process.communicate(timeout=PATIENCE_S)
        self.lines.append(out)
        return errors

    @property
    def log(self) -> str:
        return "".join(self.lines)

    @property
    def rounds_told(self) -> int:
        return max(map(int, re.findall(r"round (\d+) done", self.log)), default=0)


@contextmanager
def measuring(folder: Path, cwd: Path, *, prefix: Sequence[str] = ()) -> Iterator[ShortRun]:
    """A run with this folder, which has finished two rounds; temporary files are in ``cwd``."""
    with start_openpts(
        *_RUN, "--out", str(folder), cwd=cwd, prefix=prefix, OPENPTS_STATE=str(cwd / "state")
    ) as process:
        try:
            subject = ShortRun(process)
            subject.until("round 2 done")
            yield subject
        finally:
            process.kill()
