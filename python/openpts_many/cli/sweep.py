"""`openpts sweep`: a test on simulated drives, over ranges of whatever can be set."""

from pathlib import Path
from typing import Any, Final

import click

from openpts.cli.commands_on_demand import OnDemandInOrder, of_tests
from openpts.cli.help_order import together
from openpts.cli.procedure_options import SEED_OPTION, options_of
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import sound_tests

_OPTIONS: Final = (
    click.option(
        "--vary",
        "varied",
        metavar="NAME=VALUES",
        multiple=True,
        required=True,
        help="What differs between points: an option of the test (qd=1,2,4), of the drive (capacity=1TB,2TB) "
        "or a parameter of its preset (page_mapped.mapping.physical_per_user=1.07:1.5:8). VALUES are words "
        "between commas, or FROM:TO:COUNT, with :log for equal ratios. Repeat it for all combinations.",
    ),
    click.option(
        "--seeds",
        type=click.IntRange(1, 10_000),
        default=1,
        show_default=True,
        metavar="N",
        help="Compute each combination with the seeds 1 to N of drive and test.",
    ),
    click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("openpts-sweep"),
        show_default=True,
        help="Folder of the results. What it has already is not computed again.",
    ),
    click.option("--jobs", type=click.IntRange(1, 4096), metavar="N", help="Processes; one per processor."),
)


def _command(test: Procedure) -> click.Command:
    """`openpts sweep TEST`, with an option for each of its parameters, which its page does not repeat."""

    @click.command(test.name)
    @click.argument("target")
    @together(*_OPTIONS)
    @together(*(option for option in options_of(test) if option is not SEED_OPTION))
    @click.pass_context
    def command(
        context: click.Context,
        /,
        *,
        varied: tuple[str, ...],
        seeds: int,
        out: Path,
        jobs: int | None,
        **options: Any,
    ) -> None:
        from openpts_many.cli.swept_points import sweep  # noqa: PLC0415 help needs nothing that computes

        sweep(context, test, options, varied=varied, seeds=seeds, out=out, jobs=jobs)

    command.help = f"""Run the {test.title} test ({test.source}) over ranges of parameters, in virtual time.

    TARGET is a simulated drive, sim:PRESET, or a real one, which is not touched: a preset like it takes its
    place. Each combination of the values of --vary is a point, and computed once: the same command goes on
    where it stopped. Their table is points.csv, with the columns of `openpts export --csv-row`.

    Options of the test, such as --quick and --plan, are those of `openpts run {test.name} --help`.
    """
    for option in command.params[1 + len(_OPTIONS) :]:
        if isinstance(option, click.Option):
            option.hidden = True
    return command


_ON_A_MODEL: Final = [test.name for test in sound_tests() if test.on_model]


class _Tests(OnDemandInOrder):
    """Shows the options that a sweep of any test has."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write them before the tests."""
        first = next(iter(self.commands.values()))
        records = (option.get_help_record(ctx) for option in first.params if isinstance(option, click.Option))
        with formatter.section("Options of each test"):
            formatter.write_dl(list(filter(None, records)))
        super().format_commands(ctx, formatter)


@click.group(
    "sweep",
    cls=_Tests,
    commands=of_tests(_command, _ON_A_MODEL),
    options_metavar="",
    subcommand_metavar="TEST TARGET --vary NAME=VALUES [OPTIONS]...",
)
def sweep_command() -> None:
    """Run a test on simulated drives over ranges of parameters, each point once.

    Options of the test, such as --quick and --plan, are those of `openpts run TEST --help`.
    """
