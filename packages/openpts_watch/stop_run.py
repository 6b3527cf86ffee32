"""The one signal that openpts sends to a run from outside, once its process is proven to be that run."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openpts.errors import RecordError, UsageError
from openpts.ownership import CLAIM_NAME, RunOwner, is_locked, lockers, read_owner
from openpts.system_files import SystemRoots, boot_id, read_text

_STARTED_AT = 19  # in /proc/PID/stat, behind the command in brackets


class RunProcess:
    """The process that carries out the run in a folder; its number can't become another's."""

    def __init__(self, owner: RunOwner, pidfd: int, roots: SystemRoots) -> None:
        self.pid, self._pidfd, self._roots = owner.pid, pidfd, roots

    def interrupt(self) -> None:
        """Stop it as Ctrl-C does; one that was started with Ctrl-C ignored gets SIGTERM."""
        status = read_text(self._roots.proc / f"{self.pid}/status") or ""
        ignored = [line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")]
        is_ignored = any(int(mask, 16) >> (signal.SIGINT - 1) & 1 for mask in ignored)
        with suppress(ProcessLookupError):  # ended meanwhile
            signal.pidfd_send_signal(self._pidfd, signal.SIGTERM if is_ignored else signal.SIGINT)

    def has_ended(self, within_s: float) -> bool:
        """Wait so long at most for its end, when its record is closed."""
        return bool(select.select([self._pidfd], [], [], within_s)[0])


@contextmanager
def process_of(folder: Path, roots: SystemRoots) -> Iterator[RunProcess]:
    """The run's process: it is the claim's owner by number, start and boot, and holds the claim's lock.

    Raises RecordError if nothing works on the run, UsageError for what can't be proven, or is another user's.
    """
    claim = folder.resolve() / CLAIM_NAME
    is_running, owner = is_locked(claim), read_owner(claim)
    if owner is None:
        raise RecordError(f"{folder} is no run folder: it has no {CLAIM_NAME}")
    if not is_running:
        raise RecordError(f"{folder} is not running: no process holds it")
    if owner.boot_id != boot_id(roots):
        raise UsageError(
            f"can't stop {folder}: it runs on host {owner.host}; use `openpts attach {folder} --stop` there"
        )
    with suppress(ProcessLookupError):
        pidfd = os.pidfd_open(owner.pid)
        try:
            fields = (read_text(roots.proc / f"{owner.pid}/stat") or "").rpartition(")")[2].split()
            if fields[_STARTED_AT:] and int(fields[_STARTED_AT]) == owner.process_started_ticks:
                _refuse_others(folder, claim, owner, roots)
                yield RunProcess(owner, pidfd, roots)
                return
        finally:
            os.close(pidfd)
    raise UsageError(
        f"can't stop {folder}: its process {owner.pid} can't be seen from here; see fuser -v {claim}"
    )


def _refuse_others(folder: Path, claim: Path, owner: RunOwner, roots: SystemRoots) -> None:
    user = (roots.proc / str(owner.pid)).stat().st_uid
    if os.geteuid() not in {0, user}:
        raise UsageError(f"can't stop {folder}: it is a run of user {user}; that user or root can")
    if owner.pid not in lockers(claim, roots):
        raise UsageError(f"can't stop {folder}: process {owner.pid} does not hold it; see fuser -v {claim}")
