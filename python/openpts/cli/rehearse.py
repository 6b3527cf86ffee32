"""`openpts rehearse`: what a test would be like on a drive, without the drive."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from openpts.cli.command_group import InOrder
from openpts.cli.endurance import Endurance
from openpts.cli.finite import FiniteRange
from openpts.cli.option_group import together
from openpts.cli.procedure_options import choices_of, options_of
from openpts.cli.rehearse_text import print_rehearsal, rehearsal_object
from openpts.cli.report import report_on
from openpts.cli.run import display_on
from openpts.device.targets.simulated_target import MOST_SCALE
from openpts.fields.field import parameters_of
from openpts.host.memory import available_memory_bytes
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES
from openpts.rehearsal.reference_drive import Wishes, subject_of
from openpts.rehearsal.rehearse import Plan, rehearse
from openpts.system_files import SystemRoots
from openpts.units import MB, TB, parse_size_bytes

_DEFAULT_SEED = 1

_above_zero = FiniteRange(min=0, min_open=True)

_drive_options = together(
    click.option(
        "--like",
        metavar="DEVICE|PRESET",
        help="Rehearse for this drive, such as /dev/nvme0n1, which is not opened; or for a preset.",
    ),
    click.option(
        "--data-sheet",
        type=click.Path(path_type=Path, dir_okay=False),
        help="TOML file with name, capacity_bytes, preset and [rated].",
    ),
    click.option("--preset", metavar="PRESET", help="Use the preset that behaves most like the drive."),
    click.option("--capacity", metavar="SIZE", help="User capacity, such as 3.84TB."),
    click.option("--tbw", type=Endurance(), help="Rated endurance, such as 1.2PB; a number alone is in TB."),
    click.option(
        "--random-write-iops", type=_above_zero, metavar="IOPS", help="Rated 4 KiB random write IOPS."
    ),
    click.option(
        "--random-read-iops", type=_above_zero, metavar="IOPS", help="Rated 4 KiB random read IOPS."
    ),
    click.option("--sequential-write", type=_above_zero, metavar="MB/s", help="Rated sequential write."),
    click.option("--sequential-read", type=_above_zero, metavar="MB/s", help="Rated sequential read."),
)

_NINES = click.option(
    "--nines", type=click.IntRange(1, 9), metavar="N", help="Nines of the highest percentile to show."
)
_rehearsal_options = together(
    click.option(
        "--scale",
        type=click.IntRange(1, MOST_SCALE),
        metavar="N",
        help="Pages of the drive for each simulated page; as many as bring the simulated part to 24 GB.",
    ),
    click.option("--out", type=click.Path(path_type=Path), help="Run folder; must be new or empty."),
    click.option("--no-report", is_flag=True, help="Don't write the expected report."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object; the log goes to stderr."),
)


@click.group("rehearse", cls=InOrder, subcommand_metavar="TEST [ARGS]...")
def rehearse_command() -> None:
    """Run a test on a simulated drive in place of a real one, in virtual time."""


def _command(test: Procedure) -> click.Command:
    """`openpts rehearse TEST`, with an option for each of its parameters."""
    own_nines = "nines" in parameters_of(test.conditions)

    @click.command(test.name, short_help=f"{test.title} test ({test.source}).")
    @_drive_options
    @together(*options_of(test), *([] if own_nines else [_NINES]))
    @_rehearsal_options
    def command(
        *, scale: int | None, out: Path | None, no_report: bool, as_json: bool, **options: Any
    ) -> None:
        _refuse_without_a_drive(options)
        subject = subject_of(_wishes(options), SystemRoots())
        choices = choices_of(test, options)
        plan = Plan(
            test=test,
            drive_class=choices.drive_class,
            adjust=choices.adjust,
            seed=_DEFAULT_SEED if choices.seed is None else choices.seed,
            nines=choices.given.values.get("nines") if own_nines else options["nines"],
            scale=scale,
            folder=out,
            command_line=tuple(sys.argv[1:]),
        )
        stream = sys.stderr if as_json else sys.stdout
        with display_on(stream) as hear:
            rehearsal = rehearse(subject, plan, [hear], available_memory_bytes(SystemRoots()))
        reports = () if no_report else report_on(rehearsal.run.folder).documents
        if as_json:
            click.echo(json.dumps(rehearsal_object(rehearsal, reports), indent=2))
        else:
            print_rehearsal(sys.stdout, rehearsal, reports)

    command.help = f"""Rehearse the {test.title} test ({test.source}) without the drive.

    Prints how long the test would take, what it would write, when steady state is to be expected, and what
    in the plan would not work; the expected report is in the run folder. Nothing is written to any
    drive. Figures of the data sheet are compared with the model, which is not adjusted to them.
    Without --seed the seed is 1, so that the same command gives the same rehearsal.
    """
    return command


for _test in PROCEDURES.values():
    rehearse_command.add_command(_command(_test))


def _refuse_without_a_drive(options: dict[str, Any]) -> None:
    ways = {"like": "--like", "data_sheet": "--data-sheet", "preset": "--preset"}
    if all(options[name] is None for name in ways):
        raise click.MissingParameter(
            "Name the drive by one of them.",
            ctx=click.get_current_context(),
            param_hint=list(ways.values()),
            param_type="option",
        )


def _wishes(options: dict[str, Any]) -> Wishes:
    """Take the words about the drive out of the options; those of the conditions stay."""
    capacity = options.pop("capacity")
    rated = {name: options.pop(name) for name in ("random_write_iops", "random_read_iops")}
    tbw_bytes = options.pop("tbw")
    rated["tbw"] = None if tbw_bytes is None else tbw_bytes / TB
    for name in ("sequential_write", "sequential_read"):
        rate = options.pop(name)
        rated[f"{name}_bytes_per_s"] = None if rate is None else rate * MB
    return Wishes(
        like=options.pop("like"),
        data_sheet=options.pop("data_sheet"),
        preset=options.pop("preset"),
        capacity_bytes=None if capacity is None else parse_size_bytes(capacity),
        rated={name: value for name, value in rated.items() if value is not None},
    )
