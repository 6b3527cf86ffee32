"""Other people's programs that openpts asks for help: by argument list, with a time limit, and no shell.

Callers take ``ProgramRunner`` as an argument, so that a test can hand in answers that were recorded on
hardware that no test machine has.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

from msgspec import Struct

from openpts.errors import UsageError
from openpts.ownership import owned_descriptors
from openpts.system_files import printable

_SYSTEM_PROGRAM_FOLDERS: Final = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
_HANDED_ON: Final = ("SLURM_CONF", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""What Slurm's commands find their cluster by, and systemd's the user's units."""


class Package(Struct, frozen=True):
    """What a distribution has some programs in, by its names there, and what openpts needs them for."""

    debian: str
    purpose: str
    fedora: str
    arch: str

    @classmethod
    def of(cls, name: str, purpose: str, *, fedora: str = "", arch: str = "") -> "Package":
        """The name that Debian has; the others have the same unless they say otherwise."""
        return cls(name, purpose, fedora or name, arch or fedora or name)


_SG3: Final = Package.of("sg3-utils", "purges of SCSI and SAS drives", fedora="sg3_utils")
PACKAGES: Final = {
    "wipefs": Package.of("util-linux", "the guard's search for contents on a drive"),
    "smartctl": Package.of("smartmontools", "health of SATA, SCSI and SAS drives"),
    "nvme": Package.of("nvme-cli", "purges of NVMe drives"),
    "hdparm": Package.of("hdparm", "purges of SATA drives"),
    **dict.fromkeys(("sg_vpd", "sg_opcodes", "sg_requests", "sg_format", "sg_sanitize"), _SG3),
    "fio": Package.of("fio", "fio as an engine, and crosscheck"),
    "mkfs.ext4": Package.of("e2fsprogs", "programs on a drive with ext4"),
    "mkfs.xfs": Package.of("xfsprogs", "programs on a drive with XFS"),
    "mount": Package.of("mount", "programs on a drive with a file system", fedora="util-linux"),
    **dict.fromkeys(
        ("systemd-inhibit", "systemctl", "systemd-run"),
        Package.of("systemd", "a machine that stays awake, services that disturb it, detached runs"),
    ),
}
"""The programs that openpts may start, by name."""

OPENPTS: Final = (sys.executable, "-m", "openpts")
"""What starts openpts in a process of its own, by this interpreter."""

_LONGEST_COMPLAINT: Final = 300


class ProgramError(Exception):
    """A program is missing, could not be started, or did not end in time; the text says which."""


class ProgramMissingError(ProgramError):
    """The program is not installed; the text names the package."""


class Reply(Struct, frozen=True):
    """What a program printed; some that erase drives end with 0 and report the failure on stderr only."""

    command: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    duration_ns: int

    @property
    def complaint(self) -> str:
        """One printable line of what it reported, for an error's text."""
        text = " ".join((self.stderr.strip() or self.stdout.strip()).split())
        return printable(text[:_LONGEST_COMPLAINT]) or f"exit status {self.returncode} and no word"


class ProgramRunner(Protocol):
    """Runs one program to its end; see run_program."""

    def __call__(self, command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        """The answer, whatever the exit status. Raises ProgramError."""


def find_program(name: str) -> str | None:
    """Path of a system program, also where the operator's PATH lacks the folders for such ones."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_SYSTEM_PROGRAM_FOLDERS}")


def refuse_missing(program: str, option: str = "") -> None:
    """Raise UsageError if a program that the operator named, with this option, can't be found."""
    if shutil.which(program) is None:
        raise UsageError(f"{f'{option}: ' if option else ''}program {printable(program)} not found")


def run_program(
    command: Sequence[str], timeout_s: float, *, to_the_end: bool = False, stdin: int = subprocess.DEVNULL
) -> Reply:
    """Run ``command`` (a program's name and its arguments) in a session of its own, messages in English.

    ``stdin`` is a file descriptor. ``to_the_end``: an interrupt waits until the program has ended, because
    stopping it half way would leave a drive in a worse state than finishing. Raises ProgramMissingError, and
    ProgramError if it can't be started or does not end in ``timeout_s``; it is killed then.
    """
    path = find_program(command[0])
    if path is None:
        package = PACKAGES[command[0]].debian if command[0] in PACKAGES else command[0]
        raise ProgramMissingError(f"the program {command[0]} is missing: install the package {package}")
    started_ns = time.monotonic_ns()
    try:
        process = subprocess.Popen(
            [path, *command[1:]],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                "LC_ALL": "C",
                "PATH": f"{os.environ.get('PATH', '')}:{_SYSTEM_PROGRAM_FOLDERS}",
                **{name: os.environ[name] for name in _HANDED_ON if name in os.environ},
            },
            # what changes a drive continues if we are killed, and with it our claim of that drive
            pass_fds=owned_descriptors() if to_the_end else (),
            start_new_session=True,
            text=True,
            errors="replace",
        )
    except (OSError, ValueError) as error:
        raise ProgramError(f"{command[0]} can't be started: {printable(str(error))}") from error
    stdout, stderr = _finish(process, command[0], timeout_s, to_the_end=to_the_end)
    duration_ns = time.monotonic_ns() - started_ns
    return Reply(tuple(command), process.returncode, stdout, stderr, duration_ns)


def _finish(
    process: "subprocess.Popen[str]", name: str, timeout_s: float, *, to_the_end: bool
) -> tuple[str, str]:
    """Return standard output and error. An interrupt kills the program, or is raised when it has ended."""
    deadline_s = time.monotonic() + timeout_s
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            outputs = process.communicate(timeout=max(0.0, deadline_s - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            kill_program(process)
            if interrupt is not None:
                raise interrupt from error
            raise ProgramError(f"{name} did not end within {timeout_s:g} s and was killed") from error
        except KeyboardInterrupt as error:
            if not to_the_end:
                kill_program(process)
                raise
            interrupt = interrupt or error
            continue
        except BaseException:
            if not to_the_end:
                kill_program(process)
            raise
        if interrupt is not None:
            raise interrupt
        return outputs


def kill_program(process: "subprocess.Popen[str]") -> None:
    """End the program and whatever it started; one that hangs in the kernel is left behind."""
    with suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=1.0)
