"""What `--quick` makes of a test on a simulated drive: no element shorter than its scale allows."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from openpts.cli.procedure_options import Choices
from openpts.device.targets.simulated_target import SimulatedTarget
from openpts.fields.conditions import Conditions
from openpts.fields.field import parameters_of
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import Ending, dry_run, steps_of
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.pts.hir.conditions import WaitState
from openpts.runner.simulated_device import size_and_scale
from openpts.simulation.presets import load_preset
from openpts.simulation.scale import settled_step_ns
from openpts.units import NS_PER_S
from openpts.vocabulary.stimulus import Step

_GRAIN_NS: Final = NS_PER_S // 10


def quick_on_simulated(choices: Choices, target: SimulatedTarget) -> Callable[[Conditions], Conditions]:
    """The choices for a simulated drive: what lasts too short for it lasts longer, but not beyond standard.

    At a scale of s only 1/s of an element is simulated, so what is quick on a drive that exists may be too
    short there. What the operator gave for itself stays. Raises UsageError if there is no such preset.
    """
    preset = load_preset(target.preset)
    capacity_bytes, scale = size_and_scale(target, preset)
    table = parameters_of(choices.test.conditions)
    fixed = {table[name].field for name in choices.given.values if name in table}

    def adjust(standard: Conditions) -> Conditions:
        conditions = choices.adjust(standard)
        if "time_scale" in fixed:
            return conditions
        possible = choices.test.possible_on(conditions, preset.sector_bytes)
        steps = _steps(choices.test, possible, capacity_bytes)
        needed_ns = settled_step_ns(preset, capacity_bytes, scale, steps)
        whole_ns = -(-needed_ns // _GRAIN_NS) * _GRAIN_NS
        longer: Conditions = lengthened(conditions, standard, whole_ns, fixed)
        return longer

    return adjust


def lengthened(conditions: Any, standard: Any, needed_ns: int, fixed: set[str]) -> Any:
    """Every duration as long as is needed, but not above standard; idle times in proportion to bursts."""
    kept = fixed | set(getattr(conditions, "unscaled", ()))
    changes: dict[str, Any] = {}
    for name in conditions.__struct_fields__:
        ours, theirs = getattr(conditions, name), getattr(standard, name)
        if name in kept:
            continue
        if name.endswith("_ns"):
            changes[name] = max(ours, min(theirs, needed_ns))
        if name == "groups":
            changes[name] = tuple(
                replace(group, duration_ns=max(group.duration_ns, min(full.duration_ns, needed_ns)))
                for group, full in zip(ours, theirs, strict=True)
            )
    if "access_ns" in changes and "wait_states" not in kept:
        longer = changes["access_ns"] / conditions.access_ns
        changes["wait_states"] = tuple(
            WaitState(state.number, round(state.idle_ns * longer)) for state in conditions.wait_states
        )
    return replace(conditions, **changes)


def _steps(test: Procedure, conditions: Conditions, capacity_bytes: int) -> Sequence[Step]:
    script = test.script(conditions, capacity_bytes)
    return steps_of(dry_run(script, capacity_bytes, AssumedDrive(), Ending.LONGEST))
