"""Presets of simulated drives: the shipped ones by name, a user's own by the path of its TOML file.

The Rust module reads and checks them, and says what planners and reports need of a preset before a drive is
made of it.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, Self

import tomli_w

from openpts import _native
from openpts.did_you_mean import did_you_mean
from openpts.errors import UsageError

SHIPPED: Final = "shipped"
_SUFFIX: Final = ".toml"
# The shipped ones have some ten thousand bytes; a device as a preset has no end.
_MOST_BYTES: Final = 1_000_000
# what any page-mapped preset may be given beside what it has: it takes few values, all of them its own
_PLACEMENT: Final = ("page_mapped", "placement")


class Preset(_native.Preset):
    """A simulated drive as its file describes it.

    ``label`` is its name, and distinguishes a shipped preset from an edited copy that kept the name;
    ``place`` is the path of a user's own file, or ``shipped``.
    """

    label: str
    place: str

    def __new__(cls, text: str, place: str = SHIPPED) -> Self:
        """Raises ValueError with the line or the name of what makes no sense."""
        preset = super().__new__(cls, text)
        for name, line in (("name", preset.name), ("summary", preset.summary)):
            if not line or not line.isprintable():
                raise ValueError(f"{name} is {line!r}, which is not one line of text")
        preset.label, preset.place = preset.name, place
        return preset


def shipped_presets() -> tuple[Preset, ...]:
    """All presets that come with openpts, by name."""
    return tuple(_parse(file.read_text(encoding="utf-8"), SHIPPED, file.name) for file in _shipped_files())


def load_preset(name_or_path: str, parameters: Sequence[tuple[str, str]] = ()) -> Preset:
    """A shipped preset by its name, or the one of a TOML file by its path; other values by dotted names.

    Raises UsageError if there is none, or if the file makes no sense: with the line where that is known.
    """
    preset = _load(name_or_path)
    return _changed(preset, parameters) if parameters else preset


def _changed(preset: Preset, parameters: Sequence[tuple[str, str]]) -> Preset:
    written = preset.as_written()
    for name, text in parameters:
        *tables, key = name.split(".")
        if tuple(tables) == _PLACEMENT and _PLACEMENT[0] in written:
            written[_PLACEMENT[0]].setdefault(_PLACEMENT[1], {})
        table: Any = written
        for word in tables:
            table = table.get(word) if isinstance(table, dict) else None
        if not isinstance(table, dict) or isinstance(table.get(key), dict | list):
            hint = did_you_mean(name, _names(written), "`openpts sim show` lists all")
            raise UsageError(f"the preset {preset.label} has no parameter {name}: {hint}")
        table[key] = _value(name, text)
    try:
        changed = Preset(tomli_w.dumps(written), f"{preset.place}, with other values")
    except ValueError as error:
        # the lines are those of no file that the operator has
        reason = re.sub(r"^line \d+: ", "", str(error))
        raise UsageError(f"invalid {', '.join(name for name, _ in parameters)}: {reason}") from error
    changed.label = f"{preset.label} with {', '.join(f'{name} = {text}' for name, text in parameters)}"
    return changed


def _names(table: dict[str, Any], before: str = "") -> Iterator[str]:
    """The dotted names of all values in tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _names(value, f"{before}{key}.")
        else:
            yield f"{before}{key}"


def _value(name: str, text: str) -> Any:
    """A number or true and false as in TOML, anything else as a word."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    if isinstance(value, int | float | str):
        return value
    raise UsageError(f"invalid {name}={text}: write a number or a word")


def _load(name_or_path: str) -> Preset:
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
        ways = f"there are {', '.join(names)}; name your own by its path, such as ./drive.toml"
        raise UsageError(f"there is no preset {name_or_path!r}: {did_you_mean(name_or_path, names, ways)}")
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
    folder = resources.files("openpts_sim") / "presets"
    return sorted(
        (file for file in folder.iterdir() if file.name.endswith(_SUFFIX)), key=lambda file: file.name
    )


def _parse(text: str, place: str, file_name: str) -> Preset:
    try:
        preset = Preset(text, place)
    except ValueError as error:
        raise UsageError(f"the preset {file_name} is invalid: {error}") from error
    for file in _shipped_files() if place != SHIPPED else ():
        if file.name == preset.name + _SUFFIX and file.read_text(encoding="utf-8") != text:
            # in a report an edited copy must not pass for the one that ships
            preset.label = f"{preset.name} as edited in {Path(file_name).name}"
    return preset
