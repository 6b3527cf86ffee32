"""`openpts rehearse`: what a test would be like on a drive, without the drive."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from openpts.cli.commands_on_demand import OnDemandInOrder, of_tests
from openpts.cli.help_order import together
from openpts.cli.number_types import Endurance, FiniteRange
from openpts.cli.options import FILE, PATH, flag, option
from openpts.cli.printed_document import print_document
from openpts.cli.procedure_options import choices_of, options_of
from openpts.device.targets.simulated_target import MOST_SCALE
from openpts.fields.field import parameters_of
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import sound_tests
from openpts.units import MB, TB, parse_size_bytes

if TYPE_CHECKING:
    from openpts_serve.rehearsal.reference_drive import Overrides

_DEFAULT_SEED = 1

_above_zero = FiniteRange(min=0, min_open=True)

_drive_options = together(
    option(
        "--like DEVICE|PRESET",
        "Rehearse for this drive, such as /dev/nvme0n1, which is not opened; or for a preset.",
    ),
    option("--data-sheet", "TOML file with name, capacity_bytes, preset and [rated].", FILE),
    option("--preset PRESET", "Use the preset that behaves most like the drive."),
    option("--capacity SIZE", "User capacity, such as 3.84TB."),
    option("--tbw", "Rated endurance, such as 1.2PB; a number alone is in TB.", Endurance()),
    option("--random-write-iops IOPS", "Rated 4 KiB random write IOPS.", _above_zero),
    option("--random-read-iops IOPS", "Rated 4 KiB random read IOPS.", _above_zero),
    option("--sequential-write MB/s", "Rated sequential write.", _above_zero),
    option("--sequential-read MB/s", "Rated sequential read.", _above_zero),
)

_NINES = option("--nines N", "Nines of the highest percentile to show.", click.IntRange(1, 9))
_rehearsal_options = together(
    option(
        "--scale N",
        "Pages of the drive for each simulated page; as many as bring the simulated part to 24 GB.",
        click.IntRange(1, MOST_SCALE),
    ),
    option("--out", "Run folder; must be new or empty.", PATH),
    flag("Don't write the expected report.", name="--no-report"),
    flag("Print one JSON object; the log goes to stderr.", name="--json as_json"),
)


def _command(test: Procedure) -> click.Command:
    """`openpts rehearse TEST`, with an option for each of its parameters."""
    own_nines = "nines" in parameters_of(test.conditions)

    @click.command(test.name)
    @_drive_options
    @together(*options_of(test), *([] if own_nines else [_NINES]))
    @_rehearsal_options
    def command(
        *, scale: int | None, out: Path | None, no_report: bool, as_json: bool, **options: Any
    ) -> None:
        from openpts.cli.report import reports_on  # noqa: PLC0415 help needs nothing that rehearses
        from openpts.cli.run_order import display_on  # noqa: PLC0415 likewise
        from openpts.host.memory import available_memory_bytes  # noqa: PLC0415 likewise
        from openpts.system_files import SystemRoots  # noqa: PLC0415 likewise
        from openpts_serve.cli.rehearsal_text import RehearsalDocument, print_rehearsal  # noqa: PLC0415
        from openpts_serve.rehearsal.reference_drive import subject_of  # noqa: PLC0415 likewise
        from openpts_serve.rehearsal.rehearse import Plan, rehearse  # noqa: PLC0415 likewise

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
        with display_on(stream) as on_event:
            rehearsal = rehearse(subject, plan, [on_event], available_memory_bytes(SystemRoots()))
        written = () if no_report else reports_on(rehearsal.run.folder)
        reports = [path for one in written for path in one.documents]
        if as_json:
            print_document(RehearsalDocument.by(rehearsal, reports))
        else:
            print_rehearsal(sys.stdout, rehearsal, reports)

    command.help = f"""Rehearse the {test.title} test ({test.source}) without the drive.

    Prints how long the test would take, what it would write, when steady state is to be expected, and what
    in the plan would not work; the expected report is in the run folder. Nothing is written to any
    drive. Figures of the data sheet are compared with the model, which is not adjusted to them.
    Without --seed the seed is 1, so that the same command gives the same rehearsal.
    """
    return command


_ON_A_MODEL: Final = [test.name for test in sound_tests() if test.on_model]


@click.group(
    "rehearse",
    cls=OnDemandInOrder,
    commands=of_tests(_command, _ON_A_MODEL),
    subcommand_metavar="TEST [ARGS]...",
)
def rehearse_command() -> None:
    """Run a test on a simulated drive in place of a real one, in virtual time."""


def _refuse_without_a_drive(options: dict[str, Any]) -> None:
    ways = {"like": "--like", "data_sheet": "--data-sheet", "preset": "--preset"}
    if all(options[name] is None for name in ways):
        raise click.MissingParameter(
            "Name the drive by one of them.",
            ctx=click.get_current_context(),
            param_hint=list(ways.values()),
            param_type="option",
        )


def _wishes(options: dict[str, Any]) -> "Overrides":
    """Take the words about the drive out of the options; those of the conditions stay."""
    from openpts_serve.rehearsal.reference_drive import Overrides  # noqa: PLC0415 help needs nothing that rehearses

    capacity = options.pop("capacity")
    rated = {name: options.pop(name) for name in ("random_write_iops", "random_read_iops")}
    tbw_bytes = options.pop("tbw")
    rated["tbw"] = None if tbw_bytes is None else tbw_bytes / TB
    for name in ("sequential_write", "sequential_read"):
        rate = options.pop(name)
        rated[f"{name}_bytes_per_s"] = None if rate is None else rate * MB
    return Overrides(
        like=options.pop("like"),
        data_sheet=options.pop("data_sheet"),
        preset=options.pop("preset"),
        capacity_bytes=None if capacity is None else parse_size_bytes(capacity),
        rated={name: value for name, value in rated.items() if value is not None},
    )
