"""`openpts sweep`: a test on simulated drives, over ranges of whatever can be set."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from openpts.cli.commands_on_demand import OnDemandInOrder, of_tests
from openpts.cli.console import VisibleConsole
from openpts.cli.help_order import together
from openpts.cli.parameter_options import given_as_options, target_of
from openpts.cli.procedure_options import SEED_OPTION, chosen, options_of, plan_at
from openpts.cli.quick_on_simulated import quick_on_simulated
from openpts.cli.terminal import can_be_drawn_over
from openpts.device.targets.simulated_target import (
    KEYS,
    SimulatedTarget,
    names_simulated,
    parse_simulated_target,
)
from openpts.did_you_mean import did_you_mean
from openpts.errors import InterruptedRunError, OpenptsError, UsageError
from openpts.fields.field import parameters_of
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import sound_tests
from openpts.simulation.presets import SHIPPED
from openpts.system_files import SystemRoots
from openpts_many.sweep.axes import Axis, combinations
from openpts_many.sweep.point import Point
from openpts_many.sweep.processes import processes
from openpts_many.sweep.sweep import Progress, SweepFolder, SweptPoint, run_sweep
from openpts_serve.rehearsal.reference_drive import Overrides, subject_of

if TYPE_CHECKING:
    from openpts.parameters.plan_file import Plan

_SEED: Final = "seed"
_TENTHS: Final = 10

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
        target = _drive_of(str(target_of(test, options)))
        axes = [Axis.parse(text) for text in varied]
        if _SEED not in {axis.name for axis in axes}:
            axes.append(Axis(_SEED, tuple(str(seed) for seed in range(1, seeds + 1))))
        swept = _swept(context, test, target, axes, options)
        refused = [each for each in swept if each.point is None]
        if len(refused) == len(swept):
            raise UsageError(refused[0].refused)
        folder = SweepFolder(out)
        try:
            with (
                processes(jobs or len(os.sched_getaffinity(0))) as workers,
                _progress_on(sys.stderr) as heard,
            ):
                results = run_sweep(swept, folder, workers, heard)
        except KeyboardInterrupt:
            raise InterruptedRunError(
                f"stopped by the operator: what was computed stays in {out}, and the same command goes on"
            ) from None
        path = folder.write_table(swept, results)
        failed = len(refused) + sum(bool(result.refused) for result in results.values())
        why = f", {failed:,} of which can't be run: the column refused says why" if failed else ""
        click.echo(f"{len(swept):,} points{why}")
        click.echo(f"table: {path}")

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


def _drive_of(text: str) -> SimulatedTarget:
    if names_simulated(text):
        return parse_simulated_target(text)
    subject = subject_of(Overrides(text, None, None, None, {}), SystemRoots())
    preset = subject.preset
    return SimulatedTarget(preset.name if preset.place == SHIPPED else preset.place, subject.capacity_bytes)


def _swept(
    context: click.Context,
    test: Procedure,
    target: SimulatedTarget,
    axes: Sequence[Axis],
    options: dict[str, Any],
) -> list[SweptPoint]:
    """Each combination with its point, or with what is wrong with it."""
    names = [axis.name for axis in axes if axis.name not in KEYS and "." not in axis.name]
    of_test = {name: _parameter(context, test, name) for name in names}
    plan = plan_at(options["plan_path"])
    swept = []
    for combination in combinations(axes):
        words = dict(combination)
        given = dict(options)
        try:
            for name, option in of_test.items():
                given[str(option.name)] = option.process_value(context, words[name])
            drive = target.with_words({name: word for name, word in combination if name not in of_test})
            point = _point(test, plan, drive, given)
            swept.append(SweptPoint(combination, point, point.key()))
        except OpenptsError as error:
            swept.append(SweptPoint(combination, refused=str(error)))
        except click.BadParameter as error:
            swept.append(SweptPoint(combination, refused=error.format_message()))
    return swept


def _parameter(context: click.Context, test: Procedure, name: str) -> click.Parameter:
    """The option of the test that an axis names. Raises UsageError."""
    of_test = {parameter.option for parameter in parameters_of(test.conditions).values()}
    known = {
        word.removeprefix("--"): option
        for option in context.command.params
        for word in option.opts
        if word in of_test
    }
    if name in known:
        return known[name]
    hint = did_you_mean(name, [*known, *KEYS], f"`openpts run {test.name} --help` lists the options")
    raise UsageError(f"--vary {name}: neither an option of the test nor of the drive; {hint}")


def _point(test: Procedure, plan: "Plan | None", drive: SimulatedTarget, options: dict[str, Any]) -> Point:
    """The point of a drive and the values of the test's options. Raises UsageError if they make no sense."""
    choices = chosen(
        test,
        plan,
        given_as_options(test.conditions, options),
        drive_class=options["drive_class"],
        is_quick=options["quick"],
        seed=drive.seed,
    )
    adjust = quick_on_simulated(choices, drive) if choices.is_quick else choices.adjust
    conditions = adjust(test.standard_conditions(choices.drive_class, drive.seed or 0))
    if conditions.lacking:
        raise UsageError(f"cannot run {test.name}: {conditions.lacking}")
    return Point(target=str(drive), conditions=conditions)


@contextmanager
def _progress_on(stream: IO[str]) -> Iterator[Callable[[Progress], object]]:
    """A bar at a terminal, a line for each tenth anywhere else."""
    if not can_be_drawn_over(stream):
        said = 0

        def tell(now: Progress) -> None:
            nonlocal said
            left = now.total - now.found
            if not now.computed:
                before = f", {now.found:,} of them computed before" if now.found else ""
                click.echo(f"{now.total:,} points{before}", file=stream)
            elif (tenth := _TENTHS * now.computed // left) > said:
                said = tenth
                click.echo(f"{now.computed:,} of {left:,} points computed", file=stream)

        yield tell
        return
    columns = (TextColumn("points"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=VisibleConsole(stream)) as bar:
        task = bar.add_task("points", total=None)
        yield lambda now: bar.update(task, total=now.total - now.found, completed=now.computed)
