"""A simulated drive at a scale at which tests can run: its preset's own, or a smaller one."""

from collections.abc import Sequence
from typing import IO

import click
from msgspec.structs import replace

from openpts.cli.planned_run import planned_run
from openpts.cli.procedure_options import Choices
from openpts.cli.terminal import wrapped
from openpts.errors import TargetError, UsageError
from openpts.planning.assumed_drive import AssumedDrive
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts_sim.simulated_target import SimulatedTarget, names_simulated, parse_simulated_target


def at_fitting_scale(target: str, all_choices: Sequence[Choices], stream: IO[str]) -> str:
    """The target for these tests: a simulated one that is named without a scale may get a smaller one.

    A line says so. What no scale mends is left for the run to refuse. Raises UsageError for a name that
    makes no sense.
    """
    if not names_simulated(target):
        return target
    drive = parse_simulated_target(target)
    own = UnopenedTarget.of(target, SystemRoots()).facts.scale
    if drive.scale is not None or own == 1:
        return target
    scale, tests = own, []
    for choices in all_choices:
        if _is_refused(choices, drive, scale) and not _is_refused(choices, drive, 1):
            scale = _largest(choices, drive, scale)
            tests.append(choices.test.name)
    if not tests:
        return target
    fitting = str(replace(drive, scale=scale))
    line = f"{fitting}: the preset's own scale, 1:{own}, is too large for {', '.join(tests)}"
    click.echo(wrapped(line, stream), file=stream)
    return fitting


def _largest(choices: Choices, drive: SimulatedTarget, refused: int) -> int:
    """The largest scale below one that is refused at which the test runs; at 1 it does."""
    runs = 1
    while refused - runs > 1:
        middle = (runs + refused) // 2
        if _is_refused(choices, drive, middle):
            refused = middle
        else:
            runs = middle
    return runs


def _is_refused(choices: Choices, drive: SimulatedTarget, scale: int) -> bool:
    unopened = UnopenedTarget.of(str(replace(drive, scale=scale)), SystemRoots())
    try:
        planned_run(choices, unopened, AssumedDrive())
    except (UsageError, TargetError):
        return True
    return False
