"""`openpts plan`: what a run will do, how long it takes and what it writes, without touching anything."""

import json
import sys
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from openpts.cli.commands_on_demand import Decorator, OnDemand, of_group, of_tests, together
from openpts.cli.options import OUTPUT, WHAT, EnduranceBytes, FiniteRange, flag, listing_option, option
from openpts.cli.procedure_options import PassthroughArgs, choices_of, options_of, targets_of
from openpts.cli.several import several
from openpts.cli.standard_streams import BELOW_LABELS, print_document, wrapped
from openpts.errors import UsageError
from openpts.parameters.shipped_plans import shipped_names, shipped_plan
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES
from openpts.vocabulary.document import Document

_above_zero = FiniteRange(min=0, min_open=True)


_PURGE_OPTION = option("--purge METHOD", "Plan with this purge, as `openpts run` would do it.")

_STEPS_OPTION: Decorator = flag("Print every step in its order, too.", name="--steps", usual=OUTPUT)

PLAN_OPTIONS = together(
    option("--capacity SIZE", "User capacity instead of a target, such as 1.92TB.", usual=WHAT),
    option("--tbw", "Rated endurance, such as 1.2PB; a number alone is in TB.", EnduranceBytes(), usual=WHAT),
    option("--read-iops IOPS", "Assumed maximum of random read IOPS.", _above_zero),
    option("--write-iops IOPS", "Assumed maximum of random write IOPS.", _above_zero),
    option("--read-rate MB/s", "Assumed maximum read throughput.", _above_zero),
    option("--write-rate MB/s", "Assumed maximum write throughput.", _above_zero),
    option("--latency-us US", "Assumed time of a single I/O.", _above_zero),
    flag("Print one JSON object, steps included.", name="--json as_json", usual=OUTPUT),
)


def _command(test: Procedure) -> click.Command:
    @click.command(
        test.name,
        cls=PassthroughArgs,
        test=test,
        help=f"Plan the {test.title} test ({test.source}).\n\n"
        "TARGET and options are those of a run; --capacity can replace TARGET. For several drives, also "
        "prints which can be tested, and whether this host can drive all at once; the steps are the first's.",
    )
    @together(*options_of(test))
    @click.argument("targets", metavar="[TARGET]...", nargs=-1)
    @together(*([_PURGE_OPTION] if test.purges else []))
    @_STEPS_OPTION
    @PLAN_OPTIONS
    def command(as_json: bool, **options: Any) -> None:
        targets = options.pop("targets") if options["capacity"] else targets_of(test, options, None)
        if as_json and len(targets) > 1:
            raise UsageError("--json prints the plan for one drive: name one TARGET")
        from openpts.cli.printed_plan import print_plan  # noqa: PLC0415 help needs nothing that plans

        target = next(iter(targets), None)
        print_plan(target, choices_of(test, options, target), as_json=as_json, **options)
        if len(targets) > 1:
            click.echo()
            several().part("prospect")(targets, sys.stdout)

    return command


class ListedPlan(Struct, frozen=True, kw_only=True):
    """A plan that ships; ``tests`` are those that it names, empty for one that suits any."""

    name: str
    title: str
    tests: tuple[str, ...]


class PlanList(Document, frozen=True, kw_only=True, tag="openpts.plans/1"):
    """The plans that ship."""

    plans: tuple[ListedPlan, ...]


@click.group(
    "plan",
    cls=OnDemand,
    commands=of_tests(_command, PROCEDURES, of_group("plan")),
    subcommand_metavar="TEST [ARGS]...",
    invoke_without_command=True,
    no_args_is_help=True,
)
@together(
    listing_option("List the plans that ship, or print the file of NAME, to copy and edit.", name="listed"),
    flag("Print the JSON Schema of plan files, for editors.", name="--schema"),
    flag("With --list, print one JSON object.", name="--json as_json"),
)
@click.pass_context
def plan_command(context: click.Context, listed: str | None, *, schema: bool, as_json: bool) -> None:
    """Print what a test will do, without touching the target.

    Prints how long it takes, what it writes, wear and space. Then prints its parts, with --steps every
    step in order, the expected ledger, and whether a run would be refused now. A drive is only queried
    for its identity, its purge methods and its use; a file is not created; a simulated drive does not
    run.

    Without a TEST, --list and --schema show the plans that ship and what a plan file may have, for
    `--plan NAME|FILE`.
    """
    if context.invoked_subcommand is not None:
        if listed is not None or schema or as_json:
            raise UsageError("options before TEST go without it: --list, --schema and the --json of a list")
    elif schema:
        from openpts.parameters.plan_file import plan_schema  # noqa: PLC0415 help reads no plan

        click.echo(json.dumps(plan_schema(), indent=2))
    elif listed:
        click.echo(shipped_plan(listed).decode(), nl=False)
    elif listed is not None:
        _print_plans(as_json=as_json)
    else:
        raise UsageError("--json goes with --list, or behind TEST")


def _print_plans(*, as_json: bool) -> None:
    from openpts.parameters.plan_file import read_plan  # noqa: PLC0415 help reads no plan

    plans = {name: read_plan(Path(name)).settings for name in shipped_names()}
    if as_json:
        listed = (
            ListedPlan(name=one, title=of["title"], tests=of.get("tests", ())) for one, of in plans.items()
        )
        print_document(PlanList(plans=tuple(listed)))
        return
    for name, of in plans.items():
        click.echo(wrapped(f"{name:<12}{of['title']}", sys.stdout, BELOW_LABELS))
