"""A writer of a run folder that outlasts a full disk: what it can't write waits in memory, in order.

Room for what runs when the disk gets full is reserved from the start. A run can therefore end its record on a
full disk, and has its reserve back before it continues.
"""

import errno
import os
import secrets
import shutil
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, ParamSpec

from openpts.errors import LostRecordError, RecordError, UnwritableRecordError, failing_as
from openpts.journal import state_folder
from openpts.record.writer import RunWriter
from openpts.units import format_capacity

P = ParamSpec("P")

_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


class Reserve:
    """Space of a folder's file system, in a file without a name: it is free when this process ends."""

    def __init__(self, folder: Path, size_bytes: int) -> None:
        self._folder = folder
        self.size_bytes = size_bytes
        self._descriptor: int | None = None

    def take(self) -> None:
        """Take the space, unless it is held. Raises OSError where there is none."""
        if self._descriptor is not None:
            return
        status = os.statvfs(self._folder)
        free_bytes = status.f_bavail * status.f_frsize
        if free_bytes < self.size_bytes:
            # without a try, which would take the last free blocks from others for a moment
            needed = f"{format_capacity(free_bytes)} are free, {format_capacity(self.size_bytes)} are needed"
            raise OSError(0, f"the disk is full: {needed}")
        try:
            with tempfile.TemporaryFile(dir=self._folder, buffering=0) as file:
                os.posix_fallocate(file.fileno(), 0, self.size_bytes)
                self._descriptor = os.dup(file.fileno())
        except OSError as error:
            if error.errno in _UNWRITABLE:
                raise
            # such as 9p has no files without a name: that so much is free must do

    def release(self) -> bool:
        """Gives the reserved space back to the file system; False if none was held."""
        if self._descriptor is None:
            return False
        os.close(self._descriptor)
        self._descriptor = None
        return True


def _in_order(
    method: Callable[Concatenate[RunWriter, P], None],
) -> Callable[Concatenate["SpoolingWriter", P], None]:
    """A method of RunWriter that comes behind all that waits."""

    @wraps(method)
    def write(self: "SpoolingWriter", /, *args: P.args, **kwargs: P.kwargs) -> None:
        self._waiting.append(lambda writer: method(writer, *args, **kwargs))
        self._write_waiting()

    return write


class SpoolingWriter:
    """Has the methods of a RunWriter, and keeps what its disk does not take; only ``close`` raises for that.

    ``trouble`` says why the disk takes no more; it is empty if it does.
    """

    def __init__(self, writer: RunWriter, reserve_bytes: int) -> None:
        """Raises UnwritableRecordError if there is no space for the reserve."""
        self.folder = writer.folder
        self._writer = writer
        self._reserve = Reserve(writer.folder, reserve_bytes)
        self._waiting: deque[Callable[[RunWriter], None]] = deque()
        self.trouble = self._without_reserve()
        if self.trouble:
            writer.close()
            raise UnwritableRecordError(f"can't write the record in {self.folder}: {self.trouble}")

    @property
    def waits(self) -> bool:
        """Whether there is anything that the disk has not taken."""
        return bool(self._waiting)

    update_manifest = _in_order(RunWriter.update_manifest)
    add_deviations = _in_order(RunWriter.add_deviations)
    add_health = _in_order(RunWriter.add_health)
    add_telemetry = _in_order(RunWriter.add_telemetry)
    add_step = _in_order(RunWriter.add_step)
    set_aside = _in_order(RunWriter.set_aside)

    def try_again(self) -> str:
        """Write what waits and take the reserve again; why that can't be, empty if all is well again.

        Raises LostRecordError where the record is gone by now.
        """
        self._writer.check_files()
        self._write_waiting()
        if not self._waiting:
            self.trouble = self._without_reserve()
        return self.trouble

    def close(self) -> None:
        """As RunWriter does. What the disk does not take, or has lost, is saved elsewhere.

        Raises UnwritableRecordError or LostRecordError then, with the place.
        """
        flaw = self._flaw()
        saved = self._saved() if flaw else ""
        self._reserve.release()
        with suppress(*([LostRecordError] if flaw else [])):
            self._writer.close()
        if flaw:
            raise type(flaw)(f"{flaw}; {saved}")

    def _flaw(self) -> RecordError | None:
        """Why not all is where it should be, after a last try."""
        try:
            self._write_waiting()
            self._writer.check_files()
        except LostRecordError as error:
            return error
        if self._waiting:
            return UnwritableRecordError(f"can't write the record in {self.folder}: {self.trouble}")
        return None

    def _saved(self) -> str:
        """Save all that was recorded, and what waits, where there is room; the text on it.

        A restart leaves what is below the state folder; temporary files are the second choice.
        """
        name = f"{self.folder.name}-{secrets.token_hex(4)}"
        try:
            self._save_to(place := state_folder() / "rescued" / name)
        except RecordError:
            shutil.rmtree(place, ignore_errors=True)
            try:
                with failing_as(RecordError, "can't create a folder among the temporary files"):
                    above = tempfile.mkdtemp(prefix="openpts-rescued-")  # no name that others knew before
                self._save_to(place := Path(above) / name)
            except RecordError as error:
                return f"not all of it is stored: {error}"
        return f"all of it is saved in {place}"

    def _save_to(self, folder: Path) -> None:
        """A copy of the record with what waits. Raises RecordError."""
        copy = self._writer.copied_to(folder)
        for write in self._waiting:
            write(copy)
        copy.close()

    def _write_waiting(self) -> None:
        """In order, as much as the disk takes; the reserve is released for it."""
        while self._waiting:
            try:
                self._waiting[0](self._writer)
            except UnwritableRecordError as error:
                if not self._reserve.release():
                    self.trouble = self._without_reserve() or str(error.__cause__)
                    self._reserve.release()
                    return
                self.trouble = str(error.__cause__)
            except RecordError:
                self._waiting.popleft()  # files without a name have it; what makes no sense is in none
                raise
            else:
                self._waiting.popleft()

    def _without_reserve(self) -> str:
        """Why the reserve can't be taken; empty if it is held."""
        try:
            self._reserve.take()
        except OSError as error:
            return error.strerror or str(error)
        return ""
