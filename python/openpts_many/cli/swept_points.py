"""Computes the points that `openpts sweep` was asked for, and says how far it is."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from openpts.batch.executor import BatchEvent, BatchListener, batch_claimed
from openpts.cli.batch import BatchDocument
from openpts.cli.console import VisibleConsole
from openpts.cli.parameter_options import given_as_options, target_of
from openpts.cli.printed_document import print_document
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
from openpts.errors import InterruptedRunError, OpenptsError, RecordError, UsageError
from openpts.fields.conditions import Conditions
from openpts.fields.field import parameters_of
from openpts.procedures.kit.procedure import Procedure
from openpts.record.batch import DONE, Batch, BatchEntry, batch_file, read_batch
from openpts.record.manifest import RunState
from openpts.simulation.presets import SHIPPED
from openpts.system_files import SystemRoots
from openpts.units import format_count
from openpts.vocabulary.run_request import RunRequest
from openpts_many.sweep.axes import Axis, combinations
from openpts_many.sweep.in_pool import InPool, new_sweep, what_is_left
from openpts_many.sweep.point import point
from openpts_many.sweep.processes import processes
from openpts_serve.rehearsal.reference_drive import Overrides, subject_of

if TYPE_CHECKING:
    from openpts.parameters.plan_file import Plan

_SEED: Final = "seed"
_TENTHS: Final = 10
_COMPUTED: Final = DONE | {RunState.REFUSED}


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
    entries = _entries(context, test, target, axes, options)
    if all(entry.conditions is None for entry in entries):
        raise UsageError(str(entries[0].reason))
    if batch_file(out) is not None and not read_batch(out).is_sweep:
        raise UsageError(f"{out} is the folder of a {read_batch(out).kind}: choose another one with --out")
    _carry_out(out, new_sweep(entries, jobs, sys.argv[1:]), sys.stdout)


def resume_folder(folder: Path, *, stream: IO[str], as_json: bool, **_of_drives: Any) -> None:
    """Go on with the sweep in a folder, as `openpts resume` does.

    Raises RecordError if no point is left, or another process carries it out.
    """
    with batch_claimed(folder, read_batch(folder), SystemRoots()):
        batch = read_batch(folder)
        if batch.ended_at is not None and all(entry.state in _COMPUTED for entry in batch.entries):
            raise RecordError(f"{folder} has come to its end: no point is left to compute")
        batch = _carry_out(folder, what_is_left(batch), stream)
    if as_json:
        print_document(BatchDocument.of(batch, folder=str(folder)))


def _carry_out(folder: Path, batch: Batch, stream: IO[str]) -> Batch:
    """Compute the points that are not there yet, and write the table."""
    with processes(batch.at_most or len(os.sched_getaffinity(0))) as pool:
        runner = InPool(folder=folder, batch=batch, pool=pool)
        states = [entry.state for entry in runner.batch.entries if entry.conditions is not None]
        left = states.count(RunState.WAITING)
        before = f", {len(states) - left:,} of them computed before" if left < len(states) else ""
        click.echo(f"{format_count(len(states), 'point')}{before}", err=True)
        try:
            with _progress_on(sys.stderr, left) as runner.listener:
                batch = runner.run()
        except KeyboardInterrupt:
            again = f"`openpts resume {folder}`" if runner.is_alone else "the same command"
            raise InterruptedRunError(
                f"stopped by the operator: what was computed stays in {folder}, and {again} goes on"
            ) from None
    path = runner.write_table()
    refused = sum(entry.state is RunState.REFUSED for entry in batch.entries)
    why = f", {refused:,} of which can't be run: the column refused says why" if refused else ""
    click.echo(f"{format_count(len(batch.entries), 'point')}{why}", file=stream)
    click.echo(f"table: {path}", file=stream)
    return batch


def _drive_of(text: str) -> SimulatedTarget:
    if names_simulated(text):
        return parse_simulated_target(text)
    subject = subject_of(Overrides(text, None, None, None, {}), SystemRoots())
    preset = subject.preset
    return SimulatedTarget(preset.name if preset.place == SHIPPED else preset.place, subject.capacity_bytes)


def _entries(
    context: click.Context,
    test: Procedure,
    target: SimulatedTarget,
    axes: Sequence[Axis],
    options: dict[str, Any],
) -> list[BatchEntry]:
    """Each combination with its point, or with what is wrong with it."""
    names = [axis.name for axis in axes if axis.name not in KEYS and "." not in axis.name]
    of_test = {name: _parameter(context, test, name) for name in names}
    plan = plan_at(options["plan_path"])
    entries = []
    for combination in combinations(axes):
        words = dict(combination)
        given = dict(options)
        try:
            for name, option in of_test.items():
                given[str(option.name)] = option.process_value(context, words[name])
            drive = target.with_words({name: word for name, word in combination if name not in of_test})
            entries.append(point(combination, str(drive), _conditions(test, plan, drive, given)))
        except (OpenptsError, click.BadParameter) as error:
            reason = error.format_message() if isinstance(error, click.BadParameter) else str(error)
            request = RunRequest(run_id="", test_words=(test.name,), labels=words)
            none = BatchEntry(request=request, folder="none", state=RunState.REFUSED, reason=reason)
            entries.append(none)
    return entries


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


def _conditions(
    test: Procedure, plan: "Plan | None", drive: SimulatedTarget, options: dict[str, Any]
) -> Conditions:
    """Conditions of a point, from values of the options. Raises UsageError if they make no sense."""
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
    return conditions


@contextmanager
def _progress_on(stream: IO[str], left: int) -> Iterator[BatchListener]:
    """A bar at a terminal, a line for each tenth anywhere else."""
    if can_be_drawn_over(stream):
        columns = (TextColumn("points"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=VisibleConsole(stream)) as bar:
            task = bar.add_task("points", total=left)
            yield lambda _: bar.advance(task)
        return
    computed = count(1)

    def tell(_event: BatchEvent) -> None:
        now = next(computed)
        if _TENTHS * now // left > _TENTHS * (now - 1) // left:
            click.echo(f"{now:,} of {left:,} points computed", file=stream)

    yield tell
