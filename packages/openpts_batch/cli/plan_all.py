"""`openpts plan all`: what a suite takes, and each of its tests."""

import sys
from typing import Any

import click

from openpts.cli.live_outputs import log_stream
from openpts.cli.options import UsualFirst
from openpts.cli.plan import PLAN_OPTIONS
from openpts.cli.standard_streams import BELOW_LABELS, print_document, wrapped
from openpts_batch.cli.run_all import SUITE_OPTIONS

_RATES = ("read_iops", "write_iops", "read_rate", "write_rate", "latency_us")


@click.command("all", cls=UsualFirst)
@click.argument("target", required=False)
@SUITE_OPTIONS
@PLAN_OPTIONS
def plan_all(
    target: str | None,
    *,
    tests: tuple[str, ...] | None,
    capacity: str | None,
    tbw: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Plan several tests on TARGET, as `openpts run all` would run them.

    Prints how long all of them take together, what they write, wear and space, and the same of each test.
    `openpts plan TEST` has the steps and the ledger of one. --capacity can replace TARGET.
    """
    from openpts.cli.planned_run import fitting_target  # noqa: PLC0415 likewise
    from openpts.cli.printed_plan import PrintedPlan, SuitePlanDocument, drives_of, plan_target, suite_lines  # noqa: PLC0415 help needs nothing that plans
    from openpts.system_files import SystemRoots  # noqa: PLC0415 likewise
    from openpts_batch.in_turn import choices_of_suite, planned_suite  # noqa: PLC0415 likewise

    rates = {name: options.pop(name) for name in _RATES}
    all_choices = choices_of_suite(tests, options, target)
    if target is not None:
        target = fitting_target(target, all_choices, log_stream(as_json=as_json))
    unopened = plan_target(target, capacity, all_choices[0].test, SystemRoots())
    plans = planned_suite(all_choices, unopened, drives_of(unopened, **rates))
    name = unopened.facts.path if unopened.exists and target else unopened.facts.name
    if as_json:
        made = (PrintedPlan(plan, name, plan.deviations, unopened.assumed, tbw) for plan in plans)
        print_document(SuitePlanDocument(plans=tuple(one.document() for one in made)))
        return
    for line in suite_lines(plans, name, unopened.assumed, tbw):
        click.echo(wrapped(line, sys.stdout, BELOW_LABELS))
