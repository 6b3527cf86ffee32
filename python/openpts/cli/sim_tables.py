"""Simulated drives as text: lists, parameters with units, and comparisons."""

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Final

from rich.table import Table

from openpts.cli.table_console import table_console
from openpts.rehearsal.check import Amplification, Checked
from openpts.simulation.presets import Preset
from openpts.simulation.scale import default_scale
from openpts.units import format_capacity

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


def preset_object(preset: Preset) -> dict[str, Any]:
    """A preset as an object of a JSON array."""
    return {
        "name": preset.name,
        "model": preset.model,
        "summary": preset.summary,
        "capacity_bytes": preset.capacity_bytes,
        "default_scale": default_scale(preset, preset.capacity_bytes),
        "sector_bytes": preset.sector_bytes,
        "assumed": preset.assumed,
        "rated": preset.rated,
        "figures": len(preset.figures()),
        "place": preset.place,
    }


def print_presets(stream: IO[str], presets: Sequence[Preset]) -> None:
    """A line for each preset."""
    table = _table("=Name", "Model", ">Capacity", ">Scale", "Stands for")
    for preset in presets:
        table.add_row(
            preset.name,
            preset.model,
            format_capacity(preset.capacity_bytes),
            str(default_scale(preset, preset.capacity_bytes)),
            preset.summary,
        )
    _print(stream, table)


def print_parameters(stream: IO[str], preset: Preset) -> None:
    """All parameters of a preset, with their units; assumed ones are marked."""
    _print(stream, f"{preset.name}: {preset.summary}", "")
    table = _table("=Parameter", ">Value", "Unit", "")
    for name, value in _parameters(preset.as_written()):
        assumed = any(name == each or name.startswith(f"{each}.") for each in preset.assumed)
        table.add_row(name, _value_text(value), unit_of(name), "assumed" if assumed else "")
    _print(stream, table)


def unit_of(name: str) -> str:
    """The unit that the name of a parameter has at its end; nothing for a plain number or a word."""
    return next((unit for ending, unit in _UNITS if name.endswith(ending)), "")


def print_amplifications(stream: IO[str], rows: Sequence[Amplification]) -> None:
    """Write amplification against theory."""
    table = _table(
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


def print_checked(stream: IO[str], rows: Sequence[Checked]) -> None:
    """Published figures against those of the model."""
    table = _table("Figure", ">Published", ">Model", "Unit", ">Deviation", "Claim", "Holds")
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


def _table(*headings: str) -> Table:
    """Columns by their headings; one that begins with ``>`` has numbers, with ``=`` what is copied."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in headings:
        number = heading.startswith(">")
        table.add_column(
            heading.lstrip(">="), justify="right" if number else "left", no_wrap=heading[:1] in {">", "="}
        )
    return table


def _print(stream: IO[str], *parts: Table | str) -> None:
    console = table_console(stream)
    for part in parts:
        console.print(part)
