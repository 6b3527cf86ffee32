"""Programs that purge a drive: each reaches the drive that is meant, and is waited for to its end."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from openpts.device.block_device import BlockDevice, number_text
from openpts.device.purge.methods import Progress
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, TargetError, failing_as
from openpts.programs import ProgramError, ProgramRunner, Reply
from openpts.system_files import closed_at_end

_FIRST_LOOK_S: Final = 1.0
_LONGEST_LOOK_S: Final = 10.0
# a bus is reset within seconds, a drive behind an expander comes back within minutes
_SILENT_FOR_S: Final = 900.0


class Clock(Struct, frozen=True):
    """A steady count of seconds, and how to let some pass."""

    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


CLOCK: Final = Clock()
GOES_ON: Final = "the operation continues inside the drive whenever it has power"


class DriveCommandError(ProgramError):
    """The drive, its adapter or the program refused a command, or gave no answer; the text says how."""


class OperationStatus(Protocol):
    """What a drive reports of its operation."""

    @property
    def running(self) -> bool:
        """Whether it is in progress."""

    @property
    def share(self) -> float | None:
        """Which share is done, 0 to 1; None: not reported."""


_Status = TypeVar("_Status", bound=OperationStatus)


def wait_while_running(
    read_status: Callable[[], _Status], what: str, limit_s: float, progress: Progress, clock: Clock = CLOCK
) -> _Status:
    """Look after a second, and then less and less often; the last status, when the operation has ended.

    Not at once: a drive may need a moment until it reports progress. It continues in any case: an
    interrupt only ends the waiting. ``read_status`` may raise ProgramError for some minutes: a bus reset
    ends no format. Raises PurgeError after that, and after ``limit_s``.
    """
    started_s = reported_s = clock.now_s()
    clock.sleep(_FIRST_LOOK_S)
    pause_s = _FIRST_LOOK_S
    while True:
        now_s = clock.now_s()
        try:
            seen = read_status()
        except ProgramError as error:
            if now_s - reported_s > _SILENT_FOR_S:
                raise PurgeError(
                    f"can't determine how {what} ended: the drive has not reported its state for "
                    f"{now_s - reported_s:.0f} s: {error}; {GOES_ON}"
                ) from error
            progress(None, f"{what}: waiting for the drive, {error}")
        else:
            if not seen.running:
                return seen
            reported_s = now_s
            progress(seen.share, f"{what}: running inside the drive, and can't be stopped")
        if now_s - started_s > limit_s:
            raise PurgeError(
                f"{what} has not ended after {limit_s / 3600:.0f} h; the drive continues it by itself, "
                "also after a power cycle, and can't be used until then"
            )
        clock.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_LOOK_S)


_CALL_EVERY_S: Final = 1.0


def run_watched(
    run: ProgramRunner, command: Sequence[str], timeout_s: float, elapsed: Callable[[float], None]
) -> Reply:
    """The program's answer. ``elapsed`` is called in this thread every second, with the seconds gone by.

    An interrupt is raised when the program has ended, and not before. Raises ProgramError.
    """
    started_s = time.monotonic()
    interrupt: KeyboardInterrupt | None = None
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(run, command, timeout_s, to_the_end=True)
        while True:
            try:
                answer.exception(_CALL_EVERY_S)
            except TimeoutError:
                elapsed(time.monotonic() - started_s)
            except KeyboardInterrupt as error:
                interrupt = interrupt or error
            else:
                break
    if interrupt is not None:
        raise interrupt
    return answer.result()


def held_drive(target: OpenTarget, what: str) -> BlockDevice:
    """The drive of a target, to be named in ``what``'s commands as long as it is open.

    Raises PurgeError for a file, and if the name or its node belongs to another drive by now.
    """
    device = target.device
    if device is None:
        raise PurgeError(f"{what} of {target.facts.path} failed: it is a file")
    if not _is_behind_its_node(target.fd, device):
        raise PurgeError(f"{target.facts.path} is no longer the drive that was opened: see dmesg")
    return device


@contextmanager
def held_node(device: BlockDevice, remedy: str, *, alone: bool = False) -> Iterator[None]:
    """Keep a drive's name its own while commands go to it; ``alone``: claim it exclusively.

    Opens for reading. Raises TargetError, ``remedy`` at its end, if it can't be opened, has been claimed, or
    is another drive.
    """
    with failing_as(TargetError, f"{device.node} can't be opened", remedy):
        fd = os.open(device.node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_EXCL if alone else 0))
    with closed_at_end(fd):
        if not _is_behind_its_node(fd, device):
            raise TargetError(f"{device.node} has become another device; {remedy}")
        yield


def _is_behind_its_node(fd: int, device: BlockDevice) -> bool:
    try:
        node = number_text(device.node.stat().st_rdev)
    except OSError:
        return False
    return number_text(os.fstat(fd).st_rdev) == device.number == node
