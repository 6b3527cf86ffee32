"""`openpts sim check`: a simulated drive beside what is published of its class."""

import sys
from collections.abc import Sequence
from typing import IO, Self

import click
from msgspec import Struct

from openpts.cli.console import table_of
from openpts.cli.number_types import FiniteRange
from openpts.cli.options import argument, flag, option, with_options
from openpts.cli.printed_document import print_document
from openpts.cli.sim import print_parts
from openpts.cli.terminal import draw_over
from openpts.errors import UsageError
from openpts.simulation.figures import Unit
from openpts.simulation.presets import load_preset
from openpts.vocabulary.document import Document, filled
from openpts_serve.rehearsal.check import Amplification, Checked, check_amplification, check_figures

# The over-provisionings of the published tables.
_OVER_PROVISIONINGS = (0.07, 0.125, 0.28)
_FAILED = 1


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
    print_parts(stream, table)
    print_parts(
        stream, "Effective is the share in use: a drive keeps some space empty for garbage collection."
    )


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
    print_parts(stream, table)
    missed = sum(not row.holds for row in rows)
    print_parts(stream, f"{len(rows) - missed} of {len(rows)} figures are as near as claimed")
    for source in dict.fromkeys(row.figure.source for row in rows):
        print_parts(stream, f"source: {source}")
    for row in rows:
        if row.figure.note:
            print_parts(stream, f"note: {row.figure.name}: {row.figure.note}")


def _figure_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


@click.command()
@with_options
@click.pass_context
def check(
    context: click.Context,
    *,
    preset_argument: str | None = argument("[PRESET]", required=False),
    preset_option: str | None = option("--preset", "The same as PRESET."),
    over_provisionings: tuple[float, ...] = option(
        "--over-provisioning SHARE",
        "Compare write amplification with theory at this over-provisioning; may be repeated.",
        FiniteRange(0.01, 10),
        multiple=True,
    ),
    seed: int = option("N", "Seed of offsets and data.", click.IntRange(0, 2**63 - 1), default=1),
    as_json: bool = flag("Print one JSON object.", name="--json"),
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
        if not as_json:
            draw_over(sys.stderr, f"{len(checked)}/{figures} figures" if len(checked) < figures else "")
    if as_json:
        print_document(PresetCheck(preset=preset.name, figures=tuple(map(PublishedFigure.of, checked))))
    else:
        _print_checked(sys.stdout, checked)
    context.exit(0 if all(row.holds for row in checked) else _FAILED)
