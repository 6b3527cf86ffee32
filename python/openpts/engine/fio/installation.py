"""Which fio there is, and whether it can do what the engine asks of it."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Final

from openpts.errors import EngineUnavailableError
from openpts.system_files import printable

_TIMEOUT_S: Final = 10
_VERSION: Final = re.compile(r"fio-(\d+)\.(\d+)")
# the first with bins of total latencies in JSON+ beside registered files and buffers of io_uring
_OLDEST: Final = (3, 19)


@dataclass(frozen=True, slots=True)
class FioProgram:
    """An fio that serves; ``version`` as it prints it, such as ``fio-3.33``."""

    path: str
    version: str


def find_fio(search_path: str | None = None) -> FioProgram:
    """The fio on the search path (default: that of the process). Raises EngineUnavailableError."""
    path = shutil.which("fio", path=search_path)
    if path is None:
        raise EngineUnavailableError(
            "the program fio is not installed: install the package fio of the distribution, "
            "for example with `apt install fio` or `dnf install fio`"
        )
    try:
        answer = subprocess.run(
            [path, "--version"],
            capture_output=True,
            check=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineUnavailableError(f"{path} --version failed: {printable(str(error))}") from error
    version = printable(answer.stdout)
    found = _VERSION.match(version)
    if found is None:
        raise EngineUnavailableError(f"{path} reports {version!r}, which is not a version of fio")
    if (int(found[1]), int(found[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise EngineUnavailableError(
            f"{path} is {version}: fio-{oldest} or later is needed, for total latencies in its JSON+ "
            "and for registered files and buffers"
        )
    return FioProgram(path, version)
