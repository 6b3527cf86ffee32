"""`openpts sim`: the simulated drives that there are, what they assume, and how near they come."""

import json
import sys
from dataclasses import asdict

import click

from openpts.cli.broken_pipe import with_controls
from openpts.cli.finite import FiniteRange
from openpts.cli.sim_serve import serve
from openpts.cli.sim_tables import (
    preset_object,
    print_amplifications,
    print_checked,
    print_parameters,
    print_presets,
)
from openpts.cli.terminal import can_be_drawn_over
from openpts.errors import UsageError
from openpts.rehearsal.check import Checked, check_amplification, check_figures
from openpts.simulation.presets import load_preset, shipped_presets

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
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_(as_json: bool) -> None:
    """List the drives that ship: name, model, capacity, default scale and the drives that they represent."""
    presets = shipped_presets()
    if as_json:
        click.echo(json.dumps([preset_object(preset) for preset in presets], indent=2))
    else:
        print_presets(sys.stdout, presets)


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
        click.echo(json.dumps({**preset_object(loaded), "parameters": loaded.as_written()}, indent=2))
    else:
        print_parameters(sys.stdout, loaded)


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
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
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
            click.echo(json.dumps([asdict(row) for row in rows], indent=2))
        else:
            print_amplifications(sys.stdout, rows)
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
        click.echo(json.dumps([row.as_object() for row in checked], indent=2))
    else:
        print_checked(sys.stdout, checked)
    context.exit(0 if all(row.holds for row in checked) else _FAILED)
