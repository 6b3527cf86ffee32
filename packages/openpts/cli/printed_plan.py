"""Prints the plan of a test on a target, or on a drive of a capacity."""

import sys
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from openpts.cli.guard_verdict import SafetyVerdict, verdict_lines
from openpts.cli.live_outputs import log_stream
from openpts.cli.plan_text import plan_document, plan_lines
from openpts.cli.planned_run import fitting_target, planned_run
from openpts.cli.printed_document import print_document
from openpts.cli.procedure_options import Choices
from openpts.cli.terminal import BELOW_LABELS, wrapped
from openpts.device.guard.verdict import verdict_on
from openpts.device.targets.scheme import has_scheme
from openpts.device.targets.target import parse_target
from openpts.errors import UsageError
from openpts.planning.assumed_drive import AssumedDrive
from openpts.procedures.kit.procedure import Procedure
from openpts.runner.driver import driver_of
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import MB, NS_PER_US, parse_size_bytes


def print_plan(
    target: str | None,
    choices: Choices,
    *,
    as_json: bool,
    steps: bool,
    capacity: str | None,
    tbw: int | None,
    purge: str | None = None,
    **rates: float | None,
) -> None:
    """Print it as text or as JSON, with what would be refused now. Raises UsageError and TargetError."""
    roots = SystemRoots()
    if target is not None:
        target = fitting_target(target, [choices], log_stream(as_json=as_json))
    unopened = plan_target(target, capacity, choices.test, roots)
    plan = planned_run(choices, unopened, assumed_drive(unopened, **rates))
    planned = [step for planned in plan.longest for step in planned.apply.steps]
    if not driver_of(choices.test).depends_on_scale:
        planned = []  # as in a run
    cache = plan.conditions.write_cache_enabled
    choice = choices.purge(purge) if choices.test.purges else None
    by = "the test makes none" if choice is None else unopened.purge_text(choice)
    ledger = (*unopened.deviations(planned, choice, cache, roots), *plan.deviations)
    name = unopened.facts.path if unopened.exists else unopened.facts.name
    if target is None:
        name = unopened.facts.name
    no_drive = target is None or has_scheme(target) or Path(target).is_dir()
    verdict = None if target is None or no_drive else verdict_on(parse_target(target), roots)
    if as_json:
        safety = None if verdict is None else SafetyVerdict.of(verdict)
        print_document(plan_document(plan, name, ledger, unopened.assumed, tbw, purge=by, safety=safety))
        return
    for line in plan_lines(plan, name, ledger, unopened.assumed, tbw, purge=by, steps=steps):
        click.echo(wrapped(line, sys.stdout, BELOW_LABELS))
    if verdict is not None:
        for line in verdict_lines(verdict):
            click.echo(wrapped(line, sys.stdout, BELOW_LABELS))


def plan_target(
    target: str | None, capacity: str | None, test: Procedure, roots: SystemRoots
) -> UnopenedTarget:
    """What is planned for: a target, or a drive of that capacity. Raises UsageError for both or neither."""
    match target, capacity:
        case None, None:
            context = click.get_current_context()
            raise click.MissingParameter(
                "Give one of them.", ctx=context, param_hint=["TARGET", "--capacity"], param_type="parameter"
            )
        case str(), None:
            driver = driver_of(test)
            unopened = driver.unopened(target, roots)
            driver.refuse_zones(unopened.device)
            return unopened
        case None, str():
            return UnopenedTarget.of_capacity(parse_size_bytes(capacity))
    raise UsageError("name either a target or --capacity to plan for")


def assumed_drive(
    unopened: UnopenedTarget,
    *,
    read_iops: float | None,
    write_iops: float | None,
    read_rate: float | None,
    write_rate: float | None,
    latency_us: float | None,
) -> AssumedDrive:
    """What the operator says, else what a preset's data sheet promises, else a drive in the middle."""
    given = {
        "read_iops": read_iops,
        "write_iops": write_iops,
        "read_bytes_per_s": None if read_rate is None else read_rate * MB,
        "write_bytes_per_s": None if write_rate is None else write_rate * MB,
        "latency_ns": None if latency_us is None else max(1, round(latency_us * NS_PER_US)),
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(AssumedDrive.rated(unopened.rated), **changes)
