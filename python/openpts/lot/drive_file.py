"""The drives of a lot in a file that an operator writes."""

from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from openpts.errors import UsageError
from openpts.operator_files.toml_text import read_toml
from openpts.operator_files.written_file import placed_text, read_written, shaped
from openpts.vocabulary.people import LABEL_NAME

_MOST_KIB: Final = 1024


class WrittenDrive(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A drive by its target, its slot or its serial number alone; the serial number, or the path, confirms
    that it may be erased.

    ``model`` is what it has to be, with ``*`` and ``?`` for any text and any character.
    """

    target: str | None = None
    slot: str | None = None
    serial: str | None = None
    model: str | None = None
    confirm_device_path: str | None = None
    labels: dict[Annotated[str, Meta(pattern=LABEL_NAME)], str] = {}


class WrittenDrives(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a file of drives may have."""

    drives: list[WrittenDrive]


def read_drives(path: Path) -> list[WrittenDrive]:
    """The drives in their order. Raises UsageError with the place of whatever is wrong."""
    text = placed_text(read_written(path, _MOST_KIB, "list of drives"), str(path), read_toml)
    drives = shaped(text, WrittenDrives, str(path)).drives
    if not drives:
        raise UsageError(f"{path} lists no drive")
    for number, drive in enumerate(drives, start=1):
        if drive.target is None and drive.slot is None and drive.serial is None:
            raise UsageError(
                f"{path}: drive {number} has no target, slot or serial: `openpts devices` lists all three"
            )
    return drives
