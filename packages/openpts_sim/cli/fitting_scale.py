"""A simulated drive at a scale at which tests can run: its preset's own, or a smaller one."""

from collections.abc import Callable, Sequence
from typing import IO, Final

import click
from msgspec.structs import replace

from openpts.cli.planned_run import planned_run
from openpts.cli.procedure_options import Choices
from openpts.cli.standard_streams import wrapped
from openpts.errors import TargetError, UsageError
from openpts.fields.conditions import Conditions
from openpts.fields.field import parameters_of
from openpts.planning.dry_run import AssumedDrive, AssumedDrives, Ending, dry_run, steps_of
from openpts.procedures.kit.procedure import Procedure
from openpts.runner.driver import driver_of
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S
from openpts.vocabulary.stimulus import Step
from openpts_sim.presets import load_preset, settled_step_ns
from openpts_sim.simulated_device import size_and_scale
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
        planned_run(choices, unopened, AssumedDrives())
    except (UsageError, TargetError):
        return True
    return False


_GRAIN_NS: Final = NS_PER_S // 10


def quick_on_simulated(choices: Choices, target: SimulatedTarget) -> Callable[[Conditions], Conditions]:
    """The choices for a simulated drive: what lasts too short for it lasts longer, but not beyond standard.

    At a scale of s only 1/s of an element is simulated, so what is quick on a drive that exists may be too
    short there. What the operator gave for itself stays. Raises UsageError if there is no such preset.
    """
    if not driver_of(choices.test).depends_on_scale:
        return choices.adjust
    preset = load_preset(target.preset, target.parameters)
    capacity_bytes, scale = size_and_scale(target, preset)
    table = parameters_of(choices.test.conditions)
    fixed = {table[name].field for name in choices.overrides.values if name in table}

    def adjust(standard: Conditions) -> Conditions:
        conditions = choices.adjust(standard)
        if "time_scale" in fixed:
            return conditions
        possible = choices.test.supported_on(conditions, preset.sector_bytes, scale)
        steps = _steps(choices.test, possible, capacity_bytes)
        needed_ns = settled_step_ns(preset, capacity_bytes, scale, steps)
        whole_ns = -(-needed_ns // _GRAIN_NS) * _GRAIN_NS
        return conditions.lengthened(whole_ns, standard, fixed)

    return adjust


def quick_of(choices: Choices, text: str) -> Callable[[Conditions], Conditions]:
    """The same, by the name of the drive."""
    return quick_on_simulated(choices, parse_simulated_target(text))


def _steps(test: Procedure, conditions: Conditions, capacity_bytes: int) -> Sequence[Step]:
    script = test.script(conditions, capacity_bytes)
    return steps_of(dry_run(script, capacity_bytes, AssumedDrive(), Ending.LONGEST))
