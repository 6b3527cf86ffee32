"""What the operator's text names: a file, a block device, or a target of a scheme such as `sim:`."""

import re
import stat
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import TargetError, UsageError
from openpts.plugins import Kind, Parts, load, offers
from openpts.units import parse_size_bytes

_OWN: Final = ("file",)
"""Prefixes of the core's own."""


class Scheme(Parts, frozen=True):
    """What a prefix stands for. Its parts are functions, as ``module:function``, loaded on first use.

    ``what`` names such a target in a sentence. ``device`` takes the operator's text and the id of the run,
    which may be None, and gives a context manager of a DeviceUnderTest. ``unopened`` takes the text and gives
    an UnopenedTarget. Of such targets nothing is claimed and nothing is watched over: a drive or a file that
    exists is opened by the guard alone, under its own name.

    ``assumed``, ``quick``, ``fitting``, ``at_scale`` and ``usual_class`` may be left out: rates that a plan
    assumes (text), what ``--quick`` makes of a test there (choices, text), the same target in a size at which
    tests run (text, all choices, a stream for a line that says so), at another scale (text, scale), and the
    class of such a drive with the name of what has it (text).
    """

    name: str
    what: str
    device: str
    unopened: str
    assumed: str = ""
    quick: str = ""
    fitting: str = ""
    at_scale: str = ""
    usual_class: str = ""


def has_scheme(text: str) -> bool:
    """Whether the operator's text names a target of a scheme; known from metadata alone."""
    prefix, colon, _ = text.partition(":")
    return bool(colon) and prefix in offers(Kind.SCHEME, _OWN)


def scheme_of(text: str) -> Scheme | None:
    """The scheme of the operator's text; None: it names a drive or a file. Raises PluginError."""
    if not has_scheme(text):
        return None
    scheme: Scheme = load(offers(Kind.SCHEME, _OWN)[text.partition(":")[0]])
    return scheme


CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
"""What no name of a target holds: it would end a line, or hide in one."""

_FILE_PREFIX: Final = "file:"
_MAX_FILE_SIZE_BYTES: Final = 2**63 - 1
_HOW_TO_NAME: Final = "name a drive such as /dev/nvme0n1 or a file as file:PATH?size=512MiB"


class FileTarget(Struct, frozen=True):
    """A scratch file. ``size_bytes`` is None where the operator leaves an existing file as it is.

    ``folder_fd`` is the folder that it is in, where that is open: no other folder at its path counts.
    """

    path: Path
    size_bytes: int | None
    folder_fd: int | None = None

    def __str__(self) -> str:
        size = "" if self.size_bytes is None else f"?size={self.size_bytes}"
        return f"{_FILE_PREFIX}{self.path}{size}"


class BlockTarget(Struct, frozen=True):
    """A whole drive, by the path as the operator wrote it."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


Target = FileTarget | BlockTarget
"""What exists, and what the guard therefore watches over; targets of schemes are no business of its."""


def parse_target(text: str) -> Target:
    """Read the operator's name of a target and check whether such a thing can be there.

    Raises UsageError where the text makes no sense and TargetError where what it names is missing
    or of the wrong kind. Whether a target may be written to is for the guard to say.
    """
    if CONTROL_CHARACTERS.search(text):
        raise UsageError(f"the target contains control characters: {text!r}")
    if not text.strip():
        raise UsageError(f"the target is empty: {_HOW_TO_NAME}")
    if (scheme := scheme_of(text)) is not None:
        raise UsageError(f"{text} is {scheme.what}, and this needs one that exists: {_HOW_TO_NAME}")
    if text.startswith(_FILE_PREFIX):
        return _parse_file(text.removeprefix(_FILE_PREFIX))
    path = Path(text)
    mode = _mode(path)
    if mode is None:
        if (node := Path("/dev", text)).is_block_device():
            raise TargetError(f"{text} doesn't exist: did you mean {node}?")
        raise TargetError(f"{text} doesn't exist: {_HOW_TO_NAME}; `openpts devices` lists the drives")
    if stat.S_ISDIR(mode):
        raise TargetError(f"{text} is a directory: {_HOW_TO_NAME}")
    if stat.S_ISREG(mode):
        raise TargetError(f"{text} is a regular file: to test on that file write file:{text}")
    if not stat.S_ISBLK(mode):
        raise TargetError(f"{text} is {_kind(mode)}, not a block device: {_HOW_TO_NAME}")
    return BlockTarget(path)


def _parse_file(text: str) -> FileTarget:
    path_text, question_mark, query = text.rpartition("?")
    if not question_mark:
        path_text, query = text, ""
    if not path_text:
        raise UsageError("file: names no path: write file:PATH?size=512MiB")
    target = FileTarget(Path(path_text), _parse_query(query) if question_mark else None)
    mode = _mode(target.path)
    if mode is None:
        _check_new_file(target)
    elif stat.S_ISDIR(mode):
        raise TargetError(f"{target.path} is a directory: name a file in it, file:PATH?size=512MiB")
    elif stat.S_ISBLK(mode):
        raise TargetError(f"{target.path} is a block device: name it without file:")
    elif not stat.S_ISREG(mode):
        raise TargetError(f"{target.path} is {_kind(mode)}, not a regular file: name another path")
    return target


def _parse_query(query: str) -> int:
    """The size in bytes; ``size`` is the one key there is."""
    key, equals, value = query.partition("=")
    if key != "size" or not equals:
        raise UsageError(f"{query!r} after the ? of a file target is unknown: write ?size=512MiB")
    size_bytes = parse_size_bytes(value)
    if not 0 < size_bytes <= _MAX_FILE_SIZE_BYTES:
        raise UsageError(f"invalid size={value}: write for example ?size=512MiB")
    return size_bytes


def _check_new_file(target: FileTarget) -> None:
    if target.path.is_symlink():
        raise TargetError(f"{target.path} is a symbolic link to nothing: remove it or name another path")
    parent_mode = _mode(target.path.parent)
    if parent_mode is None or not stat.S_ISDIR(parent_mode):
        raise TargetError(f"{target.path.parent} is not a directory: create it or name another path")
    if target.size_bytes is None:
        raise TargetError(f"{target.path} doesn't exist: give the size to create it with, as ?size=512MiB")


def _mode(path: Path) -> int | None:
    """File type and mode, symbolic links followed; None if nothing is there.

    Raises TargetError where the file system doesn't let us in.
    """
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise TargetError(f"can't access {path}: {error.strerror}") from error


def _kind(mode: int) -> str:
    if stat.S_ISCHR(mode):
        return "a character device"
    return "a named pipe" if stat.S_ISFIFO(mode) else "a special file"
