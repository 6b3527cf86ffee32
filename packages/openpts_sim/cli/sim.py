"""`openpts sim`: the simulated drives that there are, and what they assume."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Final, Self

import click
from msgspec import Struct
from rich.table import Table

from openpts.cli.commands_on_demand import together
from openpts.cli.console import table_console, table_of
from openpts.cli.options import argument, flag, with_options
from openpts.cli.standard_streams import print_document
from openpts.errors import UsageError
from openpts.units import format_capacity
from openpts.vocabulary.document import Document, filled
from openpts_sim.presets import Preset, default_scale, load_preset, shipped_presets

# How the name of a parameter ends, and what it then counts.
_UNITS: Final = (
    ("_bytes_per_s", "bytes/s"),
    ("_k_per_w", "K/W"),
    ("_j_per_k", "J/K"),
    ("_per_1000", "per 1000 pages"),
    ("_bytes", "bytes"),
    ("_pages", "pages of 4 KiB"),
    ("_hours", "h"),
    ("_iops", "IOPS"),
    ("_share", "share"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_ns", "ns"),
    ("_uj", "uJ"),
    ("_nj", "nJ"),
    ("_w", "W"),
    ("_s", "s"),
    ("_c", "C"),
    ("_k", "K"),
    ("tbw", "TB"),
)
_NO_PARAMETERS: Final = {"name", "summary", "assumed", "figures"}


class ShownPreset(Struct, frozen=True, kw_only=True):
    """A simulated drive; ``figures`` counts those that it lists as published.

    ``place`` is a path, or ``shipped``. ``parameters`` is the whole file, None in a list.
    """

    name: str
    model: str
    summary: str
    capacity_bytes: int
    default_scale: int
    sector_bytes: int
    assumed: tuple[str, ...]
    rated: dict[str, float]
    figures: int
    place: str
    parameters: dict[str, Any] | None

    @classmethod
    def of(cls, preset: Preset, parameters: dict[str, Any] | None = None) -> Self:
        """A preset, with its parameters where they are asked for."""
        scale = default_scale(preset, preset.capacity_bytes)
        figures = len(preset.figures())
        return filled(cls, preset, default_scale=scale, figures=figures, parameters=parameters)


class PresetList(Document, frozen=True, kw_only=True, tag="openpts.presets/1"):
    """The presets that ship, or the one that is asked for."""

    presets: tuple[ShownPreset, ...]


def _print_presets(stream: IO[str], presets: Sequence[Preset]) -> None:
    """A line for each preset."""
    headings = ("=Name", "Model", ">Capacity", ">Scale", "Stands for")
    table = table_of(*headings, left_out=("Scale", "Model"), readable=48)
    for preset in presets:
        table.add_row(
            preset.name,
            preset.model,
            format_capacity(preset.capacity_bytes),
            str(default_scale(preset, preset.capacity_bytes)),
            preset.summary,
        )
    _print_parts(stream, table)


def _print_parameters(stream: IO[str], preset: Preset) -> None:
    """All parameters of a preset, with their units; assumed ones are marked."""
    _print_parts(stream, f"{preset.name}: {preset.summary}", "")
    table = table_of("=Parameter", ">Value", "Unit", "")
    for name, value in _parameters(preset.as_written()):
        assumed = any(name == each or name.startswith(f"{each}.") for each in preset.assumed)
        table.add_row(name, _value_text(value), unit_of(name), "assumed" if assumed else "")
    _print_parts(stream, table)


def unit_of(name: str) -> str:
    """The unit that the name of a parameter has at its end; nothing for a plain number or a word."""
    return next((unit for ending, unit in _UNITS if name.endswith(ending)), "")


def _parameters(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _parameters(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            if not prefix and key in _NO_PARAMETERS:
                continue
            for number, each in enumerate(value, start=1):
                yield from _parameters(each, f"{name}.{number}.")
        elif prefix or key not in _NO_PARAMETERS:
            yield name, value


def _value_text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.10g}"
        case list():
            return ", ".join(_value_text(each) for each in value)
        case _:
            return str(value)


def _print_parts(stream: IO[str], *parts: Table | str) -> None:
    """Tables and lines, as wide as the stream's terminal."""
    console = table_console(stream)
    for part in parts:
        console.print(part)


_HOW_TO_OWN = """\b
Your own drive
  openpts sim show enterprise-tlc --toml > mine.toml
    Copy a preset, and edit it.
  openpts run iops sim:./mine.toml
    Test it.
"""


@click.group(epilog=_HOW_TO_OWN)
def sim() -> None:
    """Show simulated drives: `sim:NAME` works wherever a drive does, in virtual time."""


@sim.command("list", short_help="List the presets that ship.")
@together(flag("Print one JSON object.", name="--json as_json"))
def list_(as_json: bool) -> None:
    """List the drives that ship: name, model, capacity, default scale and the drives that they represent."""
    presets = shipped_presets()
    if as_json:
        print_document(PresetList(presets=tuple(map(ShownPreset.of, presets))))
    else:
        _print_presets(sys.stdout, presets)


@sim.command(short_help="Show the parameters of a preset.")
@with_options
def show(
    *,
    preset: str = argument(),
    toml: bool = flag("Print the file itself, to copy and edit."),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> None:
    """Show the parameters of PRESET, the name of one that ships or the path of a TOML file.

    Parameters without a published source are marked as assumed.
    """
    if toml and as_json:
        raise UsageError("--toml and --json are two forms of the same thing: give one of them")
    loaded = load_preset(preset)
    if toml:
        click.echo(loaded.text, nl=not loaded.text.endswith("\n"))
    elif as_json:
        print_document(PresetList(presets=(ShownPreset.of(loaded, loaded.as_written()),)))
    else:
        _print_parameters(sys.stdout, loaded)
