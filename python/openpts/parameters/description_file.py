"""The description file: what a drive doesn't tell of itself, for the header of its reports."""

from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from openpts.errors import UsageError
from openpts.parameters.places import Place, PlacedError, PlacedText
from openpts.parameters.plan_file import PlanFileError
from openpts.parameters.shape import wrong_values
from openpts.parameters.toml_text import read_toml
from openpts.system_files import printable
from openpts.vocabulary.description import DescribedDrive
from openpts.vocabulary.facts import Fact

_LARGEST_BYTES: Final = 64 * 1024

_Text = Annotated[str, Meta(min_length=1, max_length=500)]


class Description(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator may say of a drive; all but ``serial`` goes to the report under these names.

    ``serial`` says which drive is meant: a run on any other is refused.
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


def read_description(path: Path) -> DescribedDrive:
    """Read a description file. Raises PlanFileError with the line and column of everything that is wrong."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error
    if len(raw) > _LARGEST_BYTES:
        raise UsageError(f"{path} is larger than 64 KiB, which no description is")
    return parse_description(raw, str(path))


def parse_description(raw: bytes, path: str) -> DescribedDrive:
    """The description that a text is; ``path`` is what complaints call it. Raises PlanFileError."""
    try:
        text = read_toml(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        place = Place(raw[: error.start].count(b"\n") + 1, 1)
        raise PlanFileError((f"{_at(path, place)}: is no UTF-8",)) from error
    except PlacedError as error:
        raise PlanFileError((f"{_at(path, error.place)}: {error}",)) from error
    if wrong := wrong_values(text.content, Description):
        placed = sorted((text.place_of(one.path), one.message) for one in wrong)
        raise PlanFileError(tuple(f"{_at(path, place)}: {message}" for place, message in placed))
    return _with_places(msgspec.convert(text.content, Description), text, path)


def _with_places(description: Description, text: PlacedText, path: str) -> DescribedDrive:
    facts = tuple(
        (key, Fact(printable(value), f"{_at(path, text.place_of((key,)))}, stated by the operator"))
        for key in text.content
        if key != "serial" and (value := getattr(description, key)) is not UNSET
    )
    return DescribedDrive(path, None if description.serial is UNSET else description.serial, facts)


def _at(path: str, place: Place) -> str:
    return f"{path}:{place.line}:{place.column}"
