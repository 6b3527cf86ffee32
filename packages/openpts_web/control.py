"""What `openpts serve --allow-control` lets start: plans that were prepared.

A run is started by the command line, with the guard's consent as it was typed; nothing here opens a drive.
"""

import os
import re
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import RefusedError, RunFailedError, UsageError
from openpts.programs import OPENPTS

_START_S: Final = 120.0
_TARGET: Final = re.compile(
    r"/dev/(?!.*\.\.)[\w/.:-]{1,200}|sim:[a-z0-9-]{1,60}(\?[\w=&./%-]{0,200})?", re.ASCII
)
_SERIAL: Final = re.compile(r"[^\s\x00-\x1f-][^\x00-\x1f]{0,99}")
_PLAN_ENDINGS: Final = (".toml", ".yaml", ".yml")


class Plans(Struct, frozen=True):
    """Plan files that were prepared, in ``folder``; runs are made below ``library``."""

    folder: Path
    library: Path

    def names(self) -> tuple[str, ...]:
        """The files by their names."""
        with suppress(OSError), os.scandir(self.folder) as entries:
            files = [one.name for one in entries if one.is_file(follow_symlinks=False)]
            return tuple(sorted(name for name in files if name.endswith(_PLAN_ENDINGS)))
        return ()

    def start(self, name: str, target: str, serial: str) -> str:
        """Start the tests of a plan on a drive, away from this process, and return what that said.

        Raises UsageError for another plan or what is no drive, RefusedError if the drive's serial number is
        not confirmed, RunFailedError with what openpts said where it refuses.
        """
        if name not in self.names():
            raise UsageError(f"there is no plan {name!r} in {self.folder}")
        if not _TARGET.fullmatch(target):
            raise UsageError(f"can't start on {target!r}: name a drive such as /dev/nvme0n1, or sim:PRESET")
        if not _SERIAL.fullmatch(serial):
            raise RefusedError(
                "not started: type the serial number of the drive, whose data will be destroyed"
            )
        folder = self.library / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{Path(name).stem}"
        arguments = ["run", "all", target, "--plan", str(self.folder / name), "--confirm-serial", serial]
        try:
            reply = subprocess.run(
                [*OPENPTS, *arguments, "--out", str(folder), "--detach"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                timeout=_START_S, cwd=self.library, start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise RunFailedError(f"the start took longer than {_START_S:g} s: see `openpts attach`") from None
        if reply.returncode:
            raise RunFailedError(f"not started, exit code {reply.returncode}: {_last_words(reply.stderr)}")
        return reply.stdout.strip()


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[-3:]) or "openpts said nothing"
