"""The description file: what a drive doesn't tell of itself, and what it is for, for its reports."""

from pathlib import Path
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from openpts.config_files.schema_errors import PlacedText
from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import at, placed_text, read_written, shaped
from openpts.system_files import printable
from openpts.vocabulary.facts import DescribedDrive, Fact, Purpose

_MOST_KIB: Final = 64

_Text = Annotated[str, Meta(min_length=1, max_length=500)]


class Description(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator may say of a drive; all but ``serial`` goes to the report under these names.

    ``serial`` says which drive is meant: a run on any other is refused. ``purpose`` is the table that a plan
    file may have as well.
    """

    serial: _Text | UnsetType = UNSET
    manufacturer: _Text | UnsetType = UNSET
    sold_as: _Text | UnsetType = UNSET
    form_factor: _Text | UnsetType = UNSET
    nand_type: _Text | UnsetType = UNSET
    controller: _Text | UnsetType = UNSET
    dram: _Text | UnsetType = UNSET
    data_sheet: _Text | UnsetType = UNSET
    price: _Text | UnsetType = UNSET
    notes: _Text | UnsetType = UNSET
    purpose: Purpose | UnsetType = UNSET


def read_description(path: Path) -> DescribedDrive:
    """Read a description file. Raises WrittenFileError with the place of everything that is wrong."""
    return parse_description(read_written(path, _MOST_KIB, "description"), str(path))


def parse_description(raw: bytes, path: str) -> DescribedDrive:
    """The description that a text is; ``path`` is what complaints call it. Raises WrittenFileError."""
    text = placed_text(raw, path, read_toml)
    return replace(_with_places(shaped(text, Description, path), text, path), raw=raw)


def _with_places(description: Description, text: PlacedText, path: str) -> DescribedDrive:
    facts = tuple(
        (key, Fact(printable(value), f"{at(path, text.place_of((key,)))}, stated by the operator"))
        for key in text.content
        if key not in {"serial", "purpose"} and (value := getattr(description, key)) is not UNSET
    )
    return DescribedDrive(
        path,
        serial=None if description.serial is UNSET else description.serial,
        facts=facts,
        purpose=Purpose() if description.purpose is UNSET else description.purpose,
    )
