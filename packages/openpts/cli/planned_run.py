"""The plan of the run that an operator's words would give."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

import click

from openpts.cli.procedure_options import Choices
from openpts.device.targets.target import scheme_of
from openpts.errors import OpenptsError
from openpts.fields.conditions import Conditions
from openpts.planning.dry_run import AssumedDrives
from openpts.planning.plan import RunPlan, plan_run
from openpts.runner.driver import driver_of
from openpts.runner.resource_check import check_plan
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.drive_class import CACHE_DISABLED, DriveClass


def planned_run(choices: Choices, unopened: UnopenedTarget, drives: AssumedDrives) -> RunPlan:
    """The plan of the run that the same words would give. Raises what that would raise before its purge."""
    facts = unopened.facts
    standard = choices.test.standard_conditions(choices.drive_class, choices.seed or 0)
    adjusted = adjustment(choices, facts.path)(standard)
    choices.admit(adjusted, facts)
    conditions = choices.test.supported_on(adjusted, facts.sector_bytes, facts.scale)
    plan = plan_run(
        choices.test,
        conditions,
        standard,
        facts.user_capacity_bytes,
        drives,
        full_length=choices.full_length(standard),
    )
    check_plan(plan.longest, facts)
    if unopened.not_one is not None and driver_of(choices.test).depends_on_scale:
        unopened.not_one([step for planned in plan.longest for step in planned.apply.steps])
    return plan


def adjustment(choices: Choices, target: str) -> Callable[[Conditions], Conditions]:
    """What choices make of the standard conditions: of ``--quick``, what the target's scheme makes of it."""
    scheme = scheme_of(target) if choices.is_quick else None
    quick: Callable[[Choices, str], Callable[[Conditions], Conditions]] | None = (
        None if scheme is None else scheme.part("quick")
    )
    return choices.adjust if quick is None else quick(choices, target)


def fitting_target(target: str, all_choices: Sequence[Choices], stream: IO[str]) -> str:
    """The target for these tests: a scheme may give another at which they can run; a line says so.

    So does one of a drive whose volatile write cache is on, and which a test of its class has off.
    """
    scheme = scheme_of(target)
    if scheme is None:
        _note_cache(target, all_choices, stream)
        return target
    fit: Callable[[str, Sequence[Choices], IO[str]], str] | None = scheme.part("fitting")
    return target if fit is None else fit(target, all_choices, stream)


def _note_cache(target: str, all_choices: Sequence[Choices], stream: IO[str]) -> None:
    device = None
    with suppress(OpenptsError):  # the run refuses the target itself
        device = UnopenedTarget.of(target, SystemRoots()).device
    of_class = (one for one in all_choices if one.like is None and one.drive_class is DriveClass.ENTERPRISE)
    if (
        device is not None
        and device.whole.text("queue/write_cache") == "write back"
        and any(one.test.caches_of_client for one in of_class)
    ):
        click.echo(f"{device.whole.node}: {CACHE_DISABLED}", file=stream)
