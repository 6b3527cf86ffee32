"""A drive, or a file by way of a loop device, that is formatted, mounted, filled and trimmed for a program.

What has to be undone is in the journal before it is done: a mount that a killed run has left, and the loop
device below, are found there by the next run, which also ends what is still running in it.
"""

import mmap
import os
import random
import signal
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from openpts.device.block_device import BlockDevice, find_mount
from openpts.device.journalled_drive import drive_subject, drive_text
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError, failing_as
from openpts.journal import Entry, Journal
from openpts.programs import PACKAGES, ProgramError, ProgramRunner, Reply, find_program, run_program
from openpts.system_files import SystemRoots
from openpts.units import MIB, format_capacity
from openpts.vocabulary.command_run import FileSystemReport, FileSystemSettings, FileSystemType

MARK: Final = "OPENPTS_APP_RUN"
"""The variable that has the mark, a random text."""

_TIMEOUT_S: Final = 5.0
_POLL_S: Final = 0.02
_QUIET: Final = 3


def marked(mark: str, roots: SystemRoots) -> tuple[int, ...]:
    """Processes that live and have the mark; they inherit it from each other. One that cleared it is none."""
    marker = f"{MARK}={mark}".encode()
    found = []
    for process in roots.proc.glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            if marker in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return tuple(found)


def end_marked(mark: str, roots: SystemRoots) -> int:
    """Kill them, and wait until they are gone; their number.

    A process that becomes another program has no environment for a moment: none has to be seen several times.
    """
    count = quiet = 0
    deadline_s = time.monotonic() + _TIMEOUT_S
    while quiet < _QUIET and time.monotonic() < deadline_s:
        living = marked(mark, roots)
        quiet = 0 if living else quiet + 1
        count = max(count, len(living))
        for process in living:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_POLL_S)
    return count


MOUNT: Final = "mount"
"""The kind of its entries in the undo journal."""
_DIRECTORY, _FILE = "directory", "file"
_LONGEST_FORMAT_S: Final = 3600.0
_LONGEST_S: Final = 120.0
# udev reads a drive whenever a program that wrote to it has closed it, and claims it for a moment
_CLAIMED_BY_OTHERS_S: Final = 5.0
_RETRY_S: Final = 0.1
_PIECE_BYTES: Final = 4 * MIB
_MADE_BY: Final = {FileSystemType.EXT4: "mkfs.ext4", FileSystemType.XFS: "mkfs.xfs"}


class PreparedDrive(Struct):
    """``target`` is the drive or the file, lent by the guard; programs have ``mark`` in their environment."""

    target: OpenTarget
    roots: SystemRoots
    journal: Journal
    mark: str
    run: ProgramRunner = run_program
    device: BlockDevice | None = None
    directory: Path | None = None
    _entry: Entry | None = field(default=None)

    @staticmethod
    def check(settings: FileSystemSettings) -> None:
        """Raise TargetError where the programs that it takes are missing, or only root may do it."""
        if os.geteuid() != 0:
            raise TargetError(
                "can't format and mount a drive: only root may; run openpts as root, or name a directory"
            )
        program = _MADE_BY.get(settings.type)
        if program and find_program(program) is None:
            raise TargetError(
                f"can't make the file system {settings.type}: the program {program} is missing; install the "
                f"package {PACKAGES[program].debian}, or choose another one with --file-system"
            )

    def prepare(self, settings: FileSystemSettings) -> FileSystemReport:
        """Format, mount, fill and trim. Raises TargetError, with nothing mounted then."""
        self.release()
        self._note()
        device = self.device = self._attached()
        if settings.type is FileSystemType.NONE:
            return FileSystemReport(
                str(device.node), "", "none", "", capacity_bytes=device.capacity_bytes, trim="not applicable"
            )
        made_by = self._format(device, settings.type)
        directory = self._mount(device, settings.type)
        filled_bytes = self._fill(directory, settings)
        trim = trimmed(directory, self.run)
        return described(device, directory, self.roots, made_by=made_by, filled_bytes=filled_bytes, trim=trim)

    def release(self) -> None:
        """Undo it all: no program of ours, no mount, no loop device. Raises TargetError, noted as undone."""
        if self._entry is None:
            return
        end_marked(self.mark, self.roots)
        undo(self._entry.found, self.run)
        self.journal.remove(self._entry)
        self._entry, self.device, self.directory = None, None, None

    def _note(self) -> None:
        """The journal's entry, and the directory to mount on."""
        top = self.roots.run if os.access(self.roots.run, os.W_OK) else None
        directory = Path(tempfile.mkdtemp(prefix="openpts-app-", dir=top))
        path = self.target.facts.path
        device = self.target.device
        subject = {_FILE: path} if device is None else drive_subject(device)
        found = {_DIRECTORY: str(directory), MARK: self.mark}
        self._entry = self.journal.add(MOUNT, subject, found | ({_FILE: path} if device is None else {}))
        self.directory = directory

    def _attached(self) -> BlockDevice:
        """The drive itself; a loop device over a file."""
        if self.target.device is not None:
            return self.target.device
        path = self.target.facts.path
        arguments = ("losetup", "--find", "--show", "--direct-io=on", path)
        node = succeeded(self.run, arguments, f"attach {path} to a loop device").stdout.strip()
        return BlockDevice.of_node(Path(node), self.roots)

    def _format(self, device: BlockDevice, kind: FileSystemType) -> str:
        node = str(device.node)
        # without it the kernel writes the rest of the tables while programs run
        at_once = "lazy_itable_init=0,lazy_journal_init=0"
        if kind is FileSystemType.EXT4:
            arguments = ["mkfs.ext4", "-q", "-F", "-E", at_once, node]
        else:
            arguments = ["mkfs.xfs", "-q", "-f", node]
        succeeded(self.run, arguments, f"format {node}", _LONGEST_FORMAT_S)
        return " ".join(arguments)

    def _mount(self, device: BlockDevice, kind: FileSystemType) -> Path:
        directory = self.directory
        assert directory is not None  # noqa: S101 made when the entry was
        deadline_s = time.monotonic() + _CLAIMED_BY_OTHERS_S
        while True:
            try:
                command = ("mount", "-t", str(kind), str(device.node), str(directory))
                succeeded(self.run, command, f"mount {device.node}")
            except TargetError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(_RETRY_S)
            else:
                return directory

    def _fill(self, directory: Path, settings: FileSystemSettings) -> int:
        """Write a file of incompressible data until the file system is as full as requested."""
        space = os.statvfs(directory)
        free_bytes = space.f_bavail * space.f_frsize
        used_bytes = (space.f_blocks - space.f_bfree) * space.f_frsize
        amount_bytes = int(settings.fill_pct / 100 * space.f_blocks * space.f_frsize) - used_bytes
        if amount_bytes <= 0:
            return 0
        if amount_bytes > free_bytes:
            raise TargetError(
                f"can't fill {directory} to {settings.fill_pct:g} %: that takes "
                f"{format_capacity(amount_bytes)}, and {format_capacity(free_bytes)} are free for programs; "
                "choose a lower --fill-level"
            )
        with failing_as(TargetError, f"can't fill {directory} to {settings.fill_pct:g} %"):
            return write_incompressible(directory / "openpts-fill", amount_bytes, settings.seed)


def succeeded(
    run: ProgramRunner, arguments: tuple[str, ...] | list[str], what: str, limit_s: float = _LONGEST_S
) -> Reply:
    """The answer of a program that has to end well. Raises TargetError."""
    with failing_as(TargetError, f"can't {what}", of=ProgramError):
        answer = run(arguments, limit_s)
    if answer.returncode:
        raise TargetError(
            f"can't {what}: {arguments[0]} ended with status {answer.returncode}: {answer.complaint}"
        )
    return answer


def write_incompressible(path: Path, amount_bytes: int, seed: int) -> int:
    """A new file of random data, past the page cache; the bytes written, in whole pieces. Raises OSError."""
    source = random.Random(seed)  # noqa: S311 data, no secret
    left_bytes = amount_bytes
    with mmap.mmap(-1, _PIECE_BYTES) as piece:  # aligned, as direct I/O wants it
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_DIRECT | os.O_CLOEXEC, 0o600)
        try:
            while left_bytes >= _PIECE_BYTES:
                piece[:] = source.randbytes(_PIECE_BYTES)
                left_bytes -= os.write(fd, piece)
            os.fsync(fd)
        finally:
            os.close(fd)
    return amount_bytes - left_bytes


# SOL-BMK-04
def described(
    device: BlockDevice,
    directory: Path,
    roots: SystemRoots,
    *,
    made_by: str = "",
    filled_bytes: int = 0,
    trim: str = "",
) -> FileSystemReport:
    """The file system as it is now. Raises TargetError if it can't be read."""
    mount = find_mount(directory, roots)
    with failing_as(TargetError, f"{directory} can't be read"):
        space = os.statvfs(directory)
    used = space.f_blocks - space.f_bfree
    return FileSystemReport(
        device=str(device.node),
        directory=str(directory),
        type="unknown" if mount is None else mount.fs_type,
        options="unknown" if mount is None else mount.options,
        made_by=made_by,
        capacity_bytes=space.f_blocks * space.f_frsize,
        used_pct=100 * used / space.f_blocks if space.f_blocks else 0.0,
        filled_bytes=filled_bytes,
        trim=trim,
    )


def trimmed(directory: Path, run: ProgramRunner = run_program) -> str:
    """What fstrim gave back to the drive, in its own words, or why nothing."""
    try:
        answer = run(("fstrim", "--verbose", str(directory)), _LONGEST_S)
    except ProgramError as error:
        return f"not trimmed: {error}"
    if answer.returncode:
        return f"not trimmed: {answer.complaint.removeprefix(f'fstrim: {directory}: ')}"
    return answer.stdout.strip().removeprefix(f"{directory}: ")


def undo(found: Mapping[str, str], run: ProgramRunner) -> None:
    """Unmount the directory, detach loop devices over the file, remove the directory. Raises TargetError."""
    directory = Path(found[_DIRECTORY])
    if directory.is_mount():
        succeeded(run, ("umount", str(directory)), f"unmount {directory}")
    if (path := found.get(_FILE)) is not None:
        listed = succeeded(
            run, ("losetup", "--noheadings", "--output", "NAME", "--associated", path), f"look for {path}"
        )
        for node in listed.stdout.split():
            succeeded(run, ("losetup", "--detach", node), f"detach {node}")
    if directory.exists():
        with failing_as(TargetError, f"can't remove {directory}"):
            directory.rmdir()


def put_back_mount(entry: Entry, roots: SystemRoots, run: ProgramRunner) -> str:
    """Undo what a run that was killed has left mounted; see openpts.runner.healing.Healer."""
    end_marked(entry.found[MARK], roots)
    undo(entry.found, run)
    of = entry.subject.get(_FILE) or drive_text(entry.subject)
    return (
        f"{of} is unmounted: an interrupted run of {entry.made_at} had left it mounted at "
        f"{entry.found[_DIRECTORY]}"
    )


def is_mount_of_file(entry: Entry, path: Path) -> bool:
    """Whether an entry is of a loop device over that file."""
    return entry.subject.get(_FILE) == os.path.realpath(path)
