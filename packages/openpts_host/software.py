"""Which software takes part in a test (PTS 5.3), with the version of each program that openpts may ask."""

import os
import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from openpts.programs import ProgramError, ProgramRunner, run_program
from openpts.system_files import SystemRoots, printable, read_text
from openpts.vocabulary.facts import Fact, Facts

_TIMEOUT_S: Final = 10
# A program of each package, and how it is asked for its version: some answer on the error channel.
_PROGRAMS: Final = {
    "fio": ("fio", "--version"),
    "nvme_cli": ("nvme", "version"),
    "hdparm": ("hdparm", "-V"),
    "sg3_utils": ("sg_vpd", "--version"),
    "smartmontools": ("smartctl", "--version"),
    "util_linux": ("wipefs", "--version"),
}


def software_facts(roots: SystemRoots) -> Facts:
    """openpts, its interpreter, and the kernel; never raises."""
    system = os.uname()
    command_line = roots.proc / "cmdline"
    return {
        "test_software": _openpts(),
        "python": Fact(f"{platform.python_implementation()} {platform.python_version()}", "platform"),
        "kernel": Fact(f"{system.sysname} {system.release} {system.machine}", "uname"),
        "kernel_command_line": Fact(read_text(command_line), str(command_line)),
    }


def program_facts(run: ProgramRunner = run_program) -> Facts:
    """The programs that openpts may ask for help with a drive, all at once; never raises."""
    with ThreadPoolExecutor(len(_PROGRAMS)) as threads:
        versions = threads.map(lambda command: _version(command, run), _PROGRAMS.values())
        return dict(zip(_PROGRAMS, versions, strict=True))


def _openpts() -> Fact:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 takes a tenth of the time of a start

    try:
        return Fact(f"openpts {version('openpts')}", "package metadata")
    except PackageNotFoundError:
        return Fact("openpts", "no package metadata: it runs from a source tree that isn't installed")


def _version(command: Sequence[str], run: ProgramRunner) -> Fact:
    """The first line of what the program says of itself."""
    source = " ".join(command)
    try:
        answer = run(command, _TIMEOUT_S)
    except ProgramError as error:
        return Fact(None, str(error))
    if answer.returncode:
        return Fact(None, f"{source} failed: {answer.complaint}")
    lines = (answer.stdout.strip() or answer.stderr.strip()).splitlines()
    return Fact(printable(lines[0]) or None if lines else None, source)
