"""Which software takes part in a test (PTS 5.3)."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from openpts.system_files import printable
from openpts.vocabulary.facts import Fact, Facts

_TIMEOUT_S: Final = 10
_SYSTEM_PROGRAM_FOLDERS: Final = "/usr/sbin:/sbin:/usr/bin:/bin"


def software_facts() -> Facts:
    """openpts, its interpreter, the kernel, and the program that looks for signatures; never raises."""
    system = os.uname()
    return {
        "test_software": _openpts(),
        "python": Fact(f"{platform.python_implementation()} {platform.python_version()}", "platform"),
        "kernel": Fact(f"{system.sysname} {system.release} {system.machine}", "uname"),
        "wipefs": _wipefs(),
    }


def _openpts() -> Fact:
    try:
        return Fact(f"openpts {version('openpts')}", "package metadata")
    except PackageNotFoundError:
        return Fact("openpts", "no package metadata: it runs from a source tree that isn't installed")


def _wipefs() -> Fact:
    program = shutil.which("wipefs", path=f"{os.environ.get('PATH', '')}:{_SYSTEM_PROGRAM_FOLDERS}")
    if program is None:
        return Fact(None, "not installed")
    command = [program, "--version"]
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            check=True,
            encoding="utf-8",
            env={"LC_ALL": "C"},
            timeout=_TIMEOUT_S,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return Fact(None, f"{program} --version failed: {printable(str(error))}")
    return Fact(printable(answer.stdout) or None, f"{program} --version")
