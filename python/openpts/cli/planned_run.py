"""The plan of the run that an operator's words would give."""

from openpts.cli.procedure_options import Choices
from openpts.cli.quick_on_simulated import quick_on_simulated
from openpts.device.targets.simulated_target import parse_simulated_target
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.plan import RunPlan, plan_run
from openpts.runner.driver import driver_of
from openpts.runner.resource_check import check_plan
from openpts.runner.simulated_device import simulated_deviations
from openpts.runner.unopened_target import UnopenedTarget


def planned_run(choices: Choices, unopened: UnopenedTarget, drive: AssumedDrive) -> RunPlan:
    """The plan of the run that the same words would give. Raises what that would raise before its purge."""
    facts = unopened.facts
    on_simulated = choices.is_quick and unopened.preset is not None
    adjust = (
        quick_on_simulated(choices, parse_simulated_target(facts.path)) if on_simulated else choices.adjust
    )
    standard = choices.test.standard_conditions(choices.drive_class, choices.seed or 0)
    wanted = adjust(standard)
    choices.admit(wanted, facts)
    conditions = choices.test.supported_on(wanted, facts.sector_bytes, facts.scale)
    plan = plan_run(choices.test, conditions, standard, facts.user_capacity_bytes, drive)
    check_plan(plan.longest, facts)
    if unopened.preset is not None and driver_of(choices.test).depends_on_scale:
        steps = [step for planned in plan.longest for step in planned.apply.steps]
        simulated_deviations(unopened.preset, facts, "", steps)
    return plan
