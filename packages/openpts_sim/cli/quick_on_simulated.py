"""What `--quick` makes of a test on a simulated drive: no element shorter than its scale allows."""

from collections.abc import Callable, Sequence
from typing import Final

from openpts.cli.procedure_options import Choices
from openpts.fields.conditions import Conditions
from openpts.fields.field import parameters_of
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import Ending, dry_run, steps_of
from openpts.procedures.kit.procedure import Procedure
from openpts.runner.driver import driver_of
from openpts.units import NS_PER_S
from openpts.vocabulary.stimulus import Step
from openpts_sim.presets import load_preset
from openpts_sim.scale import settled_step_ns
from openpts_sim.simulated_device import size_and_scale
from openpts_sim.simulated_target import SimulatedTarget, parse_simulated_target

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
    fixed = {table[name].field for name in choices.given.values if name in table}

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
