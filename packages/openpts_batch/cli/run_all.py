"""`openpts run all`: several tests on one target, one after the other."""

from typing import Any

import click

from openpts.cli.commands_on_demand import together
from openpts.cli.consent_options import CONFIRM_NAMESPACE, CONSENT_OPTIONS
from openpts.cli.options import WHAT, UsualFirst, WithBaseline, in_section
from openpts.cli.procedure_options import (
    CLASS_OPTION,
    PLAN_OPTION,
    QUICK_OPTION,
    SEED_OPTION,
    parameter_options,
)
from openpts.cli.run_options import PURGE_OPTION, RUN_OPTIONS
from openpts.did_you_mean import did_you_mean
from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.procedures.registry import PROCEDURES, suite
from openpts_compare.cli.limit_options import limit_options


class _TestNames(click.ParamType[tuple[str, ...]]):
    """Names of tests between commas or blanks."""

    name = "tests"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The tests in the order in which they were named, each once."""
        names = tuple(dict.fromkeys(str(value).replace(",", " ").lower().split()))
        for name in names:
            if name not in PROCEDURES:
                known = f"the tests are {', '.join(PROCEDURES)}"
                self.fail(f"{name}: {did_you_mean(name, PROCEDURES, known)}", param, ctx)
        return names


SUITE_OPTIONS = together(
    CLASS_OPTION,
    PLAN_OPTION,
    QUICK_OPTION,
    click.option(
        "--tests",
        type=_TestNames(),
        metavar="TEST,...",
        help=f"These, in this order: {', '.join(PROCEDURES)}. Without it those of the plan, or all of the "
        "specification.",
        **in_section(WHAT),
    ),
    *parameter_options(PROCEDURES[suite()[0]], Conditions),  # all tests have these
    SEED_OPTION,
)


class _Suite(UsualFirst, WithBaseline):
    """`openpts run all`."""


@click.command("all", cls=_Suite)
@click.argument("targets", metavar="TARGET", nargs=-1, required=True)
@SUITE_OPTIONS
@click.option(
    "--keep-going/--stop-on-failure",
    default=True,
    show_default=True,
    help="Continue with the next test after a failed I/O.",
)
@PURGE_OPTION
@together(*limit_options())
@together(*CONSENT_OPTIONS, CONFIRM_NAMESPACE)
@RUN_OPTIONS
def run_all(targets: tuple[str, ...], **arguments: Any) -> None:
    """Run several tests on TARGET, each with its own purge and preconditioning.

    Which tests: those of --tests, or of the plan, or all of the specification in its order. Each has its run
    folder; batch.json and index.html cover all of them. Settings of single tests are given in a plan file,
    with a table for each. All tests are checked before the first purge. If a test fails, the results of the
    others are kept and the suite continues. It ends if a purge fails, if a target is refused or gone, or if
    it is stopped.
    """
    if len(targets) > 1:
        raise UsageError(
            f"a suite is for one drive, not {len(targets)}: type `openpts run all` for each, or one test "
            "with all drives"
        )
    from openpts_batch.in_turn import run_suite  # noqa: PLC0415 help needs nothing that runs

    run_suite(targets[0], **arguments)
