"""Computes the points that `openpts sweep` was asked for, and says how far it is."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from openpts.cli.console import VisibleConsole
from openpts.cli.parameter_options import given_as_options, target_of
from openpts.cli.procedure_options import chosen, plan_at
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


def sweep(
    context: click.Context,
    test: Procedure,
    options: dict[str, Any],
    *,
    varied: Sequence[str],
    seeds: int,
    out: Path,
    jobs: int | None,
) -> None:
    """Compute the points that are not there yet, and write the table.

    Raises UsageError, also where no point can be run.
    """
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
        with processes(jobs or len(os.sched_getaffinity(0))) as workers, _progress_on(sys.stderr) as heard:
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
