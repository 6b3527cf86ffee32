"""Presets of simulated drives: the shipped ones by name, a user's own by the path of its TOML file.

The Rust module reads and checks the parameters; here is what lists, plans and reports need of a preset
before a drive is made of it.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from openpts import _native
from openpts.errors import UsageError
from openpts.near_word import near_word

SHIPPED: Final = "shipped"
_SUFFIX: Final = ".toml"
_MODELS: Final = {"page_mapped": "page-mapped", "log_block": "log-block", "oracle": "oracle"}
_DEFAULT_SECTOR_BYTES: Final = 512
# The shipped ones have some ten thousand bytes; a device as a preset has no end.
_MOST_BYTES: Final = 1_000_000
_MOST_CAPACITY_BYTES: Final = 2**63 - 1
_MOST_RATED: Final = 1e18


@dataclass(frozen=True, slots=True)
class Preset:
    """A simulated drive as its file describes it.

    ``label`` is its name, and tells a shipped preset from an edited copy that kept the name.
    ``parameters`` is the whole file; ``assumed`` are the dotted names of parameters that nothing
    published supports; ``place`` is the path of a user's own file, or ``shipped``.
    """

    name: str
    label: str
    summary: str
    model: str
    text: str
    capacity_bytes: int
    sector_bytes: int
    assumed: tuple[str, ...]
    rated: Mapping[str, float]
    figures: tuple[Mapping[str, Any], ...]
    parameters: Mapping[str, Any]
    place: str

    def parameter(self, dotted_name: str) -> Any:
        """The value of a parameter such as ``page_mapped.nand.read_us``; None if the file has none."""
        value: Any = self.parameters
        for part in dotted_name.split("."):
            if not isinstance(value, Mapping) or part not in value:
                return None
            value = value[part]
        return value


def shipped_presets() -> tuple[Preset, ...]:
    """All presets that come with openpts, by name."""
    return tuple(_parse(file.read_text(encoding="utf-8"), SHIPPED, file.name) for file in _shipped_files())


def load_preset(name_or_path: str) -> Preset:
    """A shipped preset by its name, or the one of a TOML file by its path.

    Raises UsageError if there is none, or if the file makes no sense: with the line where that can be told.
    """
    for file in _shipped_files():
        if file.name == name_or_path + _SUFFIX:
            return _parse(file.read_text(encoding="utf-8"), SHIPPED, file.name)
    if "/" not in name_or_path and not name_or_path.endswith(_SUFFIX):
        if name_or_path.startswith("sim:"):
            raise UsageError(
                f"{name_or_path} names a drive: its preset alone is "
                f"{name_or_path.removeprefix('sim:').partition('?')[0]!r}"
            )
        names = [file.name.removesuffix(_SUFFIX) for file in _shipped_files()]
        near = near_word(name_or_path, names)
        ways = f"there are {', '.join(names)}; name your own by its path, such as ./drive.toml"
        hint = f"did you mean {near}?" if near else ways
        raise UsageError(f"there is no preset {name_or_path!r}: {hint}")
    path = Path(name_or_path)
    try:
        with path.open("rb") as own:
            content = own.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(f"{path} has more than {_MOST_BYTES:,} bytes: it is not a preset")
        text = content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"can't read the preset {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the preset {path} is not UTF-8 text: {error.reason} at byte {error.start}"
        ) from error
    return _parse(text, str(path.resolve()), str(path))


def _shipped_files() -> list[Traversable]:
    folder = resources.files("openpts.simulation") / "presets"
    return sorted(
        (file for file in folder.iterdir() if file.name.endswith(_SUFFIX)), key=lambda file: file.name
    )


def _parse(text: str, place: str, file_name: str) -> Preset:
    try:
        parameters = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # the former also for a number of thousands of digits
        raise UsageError(f"the preset {file_name} is not valid TOML: {error}") from error
    rated = _rated(parameters, file_name)
    models = [model for table, model in _MODELS.items() if table in parameters]
    if len(models) != 1:
        raise UsageError(
            f"the preset {file_name} must have exactly one of the tables "
            f"{', '.join(f'[{table}]' for table in _MODELS)}"
        )
    name = _line(parameters, "name", file_name)
    preset = Preset(
        name=name,
        label=_label(name, text, file_name),
        summary=_line(parameters, "summary", file_name),
        model=models[0],
        text=text,
        capacity_bytes=_capacity_bytes(parameters, file_name),
        sector_bytes=_entry(parameters, "sector_bytes", int, file_name, _DEFAULT_SECTOR_BYTES),
        assumed=tuple(_entry(parameters, "assumed", list, file_name, [])),
        rated=rated,
        figures=tuple(_entry(parameters, "figures", list, file_name, [])),
        parameters=parameters,
        place=place,
    )
    if place != SHIPPED:
        _check(text, file_name)
    return preset


def _check(text: str, file_name: str) -> None:
    """What is estimated from parameters before a drive is made trusts them as the drive's maker does."""
    try:
        _native.check_preset(text)
    except ValueError as error:
        raise UsageError(f"the preset {file_name} is invalid: {error}") from error


def _rated(parameters: Mapping[str, Any], file_name: str) -> dict[str, float]:
    rated: dict[str, Any] = _entry(parameters, "rated", dict, file_name, {})
    for name, value in rated.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= _MOST_RATED:
            raise UsageError(
                f"the preset {file_name} has rated.{name} = {value!r}: it is a number above 0, "
                f"{_MOST_RATED:g} at most"
            )
    return rated


def _label(name: str, text: str, file_name: str) -> str:
    """What a report calls the preset: an edited copy must not pass for the one that ships."""
    for file in _shipped_files():
        if file.name == name + _SUFFIX and file.read_text(encoding="utf-8") != text:
            return f"{name} as edited in {Path(file_name).name}"
    return name


def _line(parameters: Mapping[str, Any], name: str, file_name: str) -> str:
    line: str = _entry(parameters, name, str, file_name)
    if not line or not line.isprintable():
        raise UsageError(f"the preset {file_name} has {name} = {line!r}, which is not one line of text")
    return line


def _capacity_bytes(parameters: Mapping[str, Any], file_name: str) -> int:
    capacity_bytes: int = _entry(parameters, "capacity_bytes", int, file_name)
    if not 0 < capacity_bytes <= _MOST_CAPACITY_BYTES:
        raise UsageError(
            f"the preset {file_name} has capacity_bytes = {capacity_bytes}: it is a number from 1 to "
            f"{_MOST_CAPACITY_BYTES:,}"
        )
    return capacity_bytes


def _entry(
    parameters: Mapping[str, Any], name: str, kind: type, file_name: str, default: object = None
) -> Any:
    value = parameters.get(name, default)
    if value is None:
        raise UsageError(f"the preset {file_name} has no {name}: give one, as {name} = ...")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(f"the preset {file_name} has {name} = {value!r}, expected {_KIND_WORDS[kind]}")
    return value


_KIND_WORDS: Final = {str: "text", int: "whole number", list: "array", dict: "table"}
