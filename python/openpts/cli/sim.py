"""`openpts sim`: the simulated drives that there are, what they assume, and how near they come."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Final, Self

import click
from msgspec import Struct
from rich.table import Table

from openpts.cli.broken_pipe import with_controls
from openpts.cli.console import table_console, table_of
from openpts.cli.number_types import FiniteRange
from openpts.cli.printed_document import print_document
from openpts.cli.terminal import can_be_drawn_over
from openpts.errors import UsageError
from openpts.simulation.figures import Unit
from openpts.simulation.presets import Preset, load_preset, shipped_presets
from openpts.simulation.scale import default_scale
from openpts.units import format_capacity
from openpts.vocabulary.document import Document, filled
from openpts_serve.cli.sim_serve import serve
from openpts_serve.rehearsal.check import Amplification, Checked, check_amplification, check_figures

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


class PublishedFigure(Struct, frozen=True, kw_only=True):
    """A published figure beside that of the model; ``claim`` is how near the model has to come, in words."""

    figure: str
    published: float
    unit: Unit
    source: str
    model: float
    deviation_pct: float
    tolerance_pct: float | None
    claim: str
    holds: bool
    note: str

    @classmethod
    def of(cls, checked: Checked) -> Self:
        """A row of the table."""
        return filled(
            cls,
            checked.figure,
            figure=checked.figure.name,
            model=checked.model,
            deviation_pct=checked.deviation_pct,
            holds=checked.holds,
        )


class PresetCheck(Document, frozen=True, kw_only=True, tag="openpts.sim-check/1"):
    """A preset beside what is published of its class."""

    preset: str
    figures: tuple[PublishedFigure, ...]


class TheoryCheck(Document, frozen=True, kw_only=True, tag="openpts.sim-theory/1"):
    """Write amplification of a preset beside theory, at each over-provisioning that is asked for."""

    preset: str
    rows: tuple[Amplification, ...]


def _print_presets(stream: IO[str], presets: Sequence[Preset]) -> None:
    """A line for each preset."""
    table = table_of("=Name", "Model", ">Capacity", ">Scale", "Stands for")
    for preset in presets:
        table.add_row(
            preset.name,
            preset.model,
            format_capacity(preset.capacity_bytes),
            str(default_scale(preset, preset.capacity_bytes)),
            preset.summary,
        )
    _print(stream, table)


def _print_parameters(stream: IO[str], preset: Preset) -> None:
    """All parameters of a preset, with their units; assumed ones are marked."""
    _print(stream, f"{preset.name}: {preset.summary}", "")
    table = table_of("=Parameter", ">Value", "Unit", "")
    for name, value in _parameters(preset.as_written()):
        assumed = any(name == each or name.startswith(f"{each}.") for each in preset.assumed)
        table.add_row(name, _value_text(value), unit_of(name), "assumed" if assumed else "")
    _print(stream, table)


def unit_of(name: str) -> str:
    """The unit that the name of a parameter has at its end; nothing for a plain number or a word."""
    return next((unit for ending, unit in _UNITS if name.endswith(ending)), "")


def _print_amplifications(stream: IO[str], rows: Sequence[Amplification]) -> None:
    """Write amplification against theory."""
    table = table_of(
        ">Over-provisioning",
        ">Theory",
        ">Effective",
        ">Theory of that",
        ">Simulated",
        ">Difference",
        "Within 0.5 %",
    )
    for row in rows:
        table.add_row(
            f"{100 * row.over_provisioning:g} %",
            f"{row.nominal_theory:.3f}",
            f"{100 * row.effective_over_provisioning:.2f} %",
            f"{row.theory:.3f}",
            f"{row.write_amplification:.3f}",
            f"{row.deviation_pct:+.2f} %",
            _yes(row.holds),
        )
    _print(stream, table)
    _print(stream, "Effective is the share in use: a drive keeps some space empty for garbage collection.")


def _print_checked(stream: IO[str], rows: Sequence[Checked]) -> None:
    """Published figures against those of the model."""
    table = table_of("Figure", ">Published", ">Model", "Unit", ">Deviation", "Claim", "Holds")
    for row in rows:
        figure = row.figure
        table.add_row(
            figure.name,
            _figure_text(figure.published),
            _figure_text(row.model),
            figure.unit.value,
            f"{row.deviation_pct:+.1f} %",
            figure.claim,
            _yes(row.holds),
        )
    _print(stream, table)
    missed = sum(not row.holds for row in rows)
    _print(stream, f"{len(rows) - missed} of {len(rows)} figures are as near as claimed")
    for source in dict.fromkeys(row.figure.source for row in rows):
        _print(stream, f"source: {source}")
    for row in rows:
        if row.figure.note:
            _print(stream, f"note: {row.figure.name}: {row.figure.note}")


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


def _figure_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


def _print(stream: IO[str], *parts: Table | str) -> None:
    console = table_console(stream)
    for part in parts:
        console.print(part)


# The over-provisionings of the published tables.
_OVER_PROVISIONINGS = (0.07, 0.125, 0.28)
_FAILED = 1

_HOW_TO_OWN = """\b
Your own drive
  openpts sim show enterprise-tlc --toml > mine.toml
    Copy a preset, and edit it.
  openpts sim check ./mine.toml
    Compare it with the figures that it lists.
  openpts run iops sim:./mine.toml
    Test it.
"""


@click.group(epilog=_HOW_TO_OWN)
def sim() -> None:
    """Show, check and serve simulated drives: `sim:NAME` works wherever a drive does, in virtual time."""


sim.add_command(serve)


@sim.command("list", short_help="List the presets that ship.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(as_json: bool) -> None:
    """List the drives that ship: name, model, capacity, default scale and the drives that they represent."""
    presets = shipped_presets()
    if as_json:
        print_document(PresetList(presets=tuple(map(ShownPreset.of, presets))))
    else:
        _print_presets(sys.stdout, presets)


@sim.command(short_help="Show the parameters of a preset.")
@click.argument("preset")
@click.option("--toml", is_flag=True, help="Print the file itself, to copy and edit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(preset: str, *, toml: bool, as_json: bool) -> None:
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


@sim.command()
@click.argument("preset_argument", metavar="[PRESET]", required=False)
@click.option("--preset", "preset_option", help="The same as PRESET.")
@click.option(
    "--over-provisioning",
    "over_provisionings",
    multiple=True,
    type=FiniteRange(0.01, 10),
    metavar="SHARE",
    help="Compare write amplification with theory at this over-provisioning; may be repeated.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    metavar="N",
    help="Seed of offsets and data.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check(
    context: click.Context,
    preset_argument: str | None,
    preset_option: str | None,
    *,
    over_provisionings: tuple[float, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Check a simulated drive against published figures. Exits with 1 if one is missed.

    PRESET is the name of one that ships or the path of a TOML file. Each of its [[figures]] is measured on a
    new drive and compared within the tolerance given beside it. The preset theory, or any with
    --over-provisioning, is compared with the theory of write amplification instead.
    """
    if preset_argument is None and preset_option is None:
        raise click.MissingParameter(ctx=context, param_hint="'PRESET'", param_type="argument")
    if preset_argument is not None and preset_option is not None:
        raise UsageError("PRESET and --preset are two forms of the same thing: give one of them")
    preset = load_preset(preset_argument or preset_option or "")
    if over_provisionings or preset.name == "theory":
        rows = [
            check_amplification(preset, share, seed) for share in over_provisionings or _OVER_PROVISIONINGS
        ]
        if as_json:
            print_document(TheoryCheck(preset=preset.name, rows=tuple(rows)))
        else:
            _print_amplifications(sys.stdout, rows)
        context.exit(0 if all(row.holds for row in rows) else _FAILED)
    figures = len(preset.figures())
    if not figures:
        raise UsageError(f"{preset.name} lists no published figures: add [[figures]] to {preset.place}")
    checked: list[Checked] = []
    for row in check_figures(preset, seed):
        checked.append(row)
        if not as_json and can_be_drawn_over(sys.stderr):
            click.echo("\r\x1b[K", nl=False, file=with_controls(sys.stderr))
            if len(checked) < figures:
                click.echo(f"{len(checked)}/{figures} figures", nl=False, err=True)
    if as_json:
        print_document(PresetCheck(preset=preset.name, figures=tuple(map(PublishedFigure.of, checked))))
    else:
        _print_checked(sys.stdout, checked)
    context.exit(0 if all(row.holds for row in checked) else _FAILED)
