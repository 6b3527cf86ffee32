"""The one place that writes settings of the kernel: files of /sys and /proc/sys, and requests held open."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from openpts.errors import OpenptsError
from openpts.system_files import SystemRoots, chosen_word, closed_at_end, read_text

_REASONS: Final = {
    errno.EACCES: "no permission: only root may change it",
    errno.EPERM: "no permission: only root may change it, and not in every container",
    errno.EROFS: "it is mounted read-only, as in a container",
    errno.EINVAL: "the kernel refuses this value here",
    errno.EBUSY: "the kernel refuses it because another setting conflicts",
    errno.ENOENT: "it does not exist",
    errno.ENODEV: "its device is gone",
    errno.EOPNOTSUPP: "the hardware does not support it",
}


class HostSettingError(OpenptsError):
    """A setting of the host could not be changed or put back; the text says why."""


def read_setting(path: Path) -> str | None:
    """The value in use; None if there is none to be read."""
    return chosen_word(read_text(path))


def write_setting(path: Path, value: str, roots: SystemRoots) -> None:
    """Write a value to a file of the kernel that exists, and see that it holds. Raises HostSettingError."""
    write_request(path, value, roots)
    if (now := read_setting(path.resolve())) != value:
        raise HostSettingError(f"it was written, but reads {now or 'nothing'}")


def write_request(path: Path, value: str, roots: SystemRoots) -> None:
    """Write to a file of the kernel that does something once and keeps no value. Raises HostSettingError."""
    real = path.resolve()
    if not any(real.is_relative_to(top.resolve()) for top in (roots.sys, roots.proc / "sys")):
        raise HostSettingError(f"{path} is not a kernel setting")
    try:
        with closed_at_end(os.open(real, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)) as fd:
            os.write(fd, value.encode())
    except OSError as error:
        raise HostSettingError(_reason(error)) from error


@contextmanager
def held_open(path: Path, content: bytes) -> Iterator[None]:
    """A request that holds for as long as its file is open: the kernel drops it with us. HostSettingError."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError as error:
        raise HostSettingError(_reason(error)) from error
    with closed_at_end(fd):
        try:
            os.write(fd, content)
        except OSError as error:
            raise HostSettingError(_reason(error)) from error
        yield


def _reason(error: OSError) -> str:
    return _REASONS.get(error.errno or 0, error.strerror or str(error))
