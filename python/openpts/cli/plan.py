"""`openpts plan`: what a run will do, how long it takes and what it writes, without touching anything."""

import json
import sys
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from openpts.cli.commands_on_demand import OnDemandInOrder, Place, of_tests
from openpts.cli.fitting_scale import at_fitting_scale
from openpts.cli.guard_verdict import SafetyVerdict, verdict_lines
from openpts.cli.help_order import Decorator, together
from openpts.cli.live_outputs import log_stream
from openpts.cli.number_types import Endurance, FiniteRange
from openpts.cli.options import argument, flag, option, with_options
from openpts.cli.parameter_options import PassthroughArgs, command_with_rest, targets_of
from openpts.cli.plan_text import plan_document, plan_lines
from openpts.cli.planned_run import planned_run
from openpts.cli.printed_document import print_document
from openpts.cli.procedure_options import Choices, choices_of, options_of
from openpts.cli.terminal import wrapped
from openpts.device.listing.inspect import verdict_on
from openpts.device.targets.simulated_target import names_simulated
from openpts.device.targets.target import parse_target
from openpts.errors import UsageError
from openpts.parameters.plan_file import plan_schema, read_plan
from openpts.parameters.shipped_plans import shipped_names, shipped_plan
from openpts.planning.assumed_drive import AssumedDrive
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES
from openpts.runner.driver import driver_of
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import MB, NS_PER_US, parse_size_bytes
from openpts.vocabulary.document import Document

BELOW_LABELS = " " * 12
_above_zero = FiniteRange(min=0, min_open=True)


_PURGE_OPTION = option("--purge METHOD", "Plan with this purge, as `openpts run` would do it.")

_STEPS_OPTION: Decorator = flag("Print every step in its order, too.", name="--steps")

PLAN_OPTIONS = together(
    option("--capacity SIZE", "User capacity instead of a target, such as 1.92TB."),
    option("--tbw", "Rated endurance, such as 1.2PB; a number alone is in TB.", Endurance()),
    option("--read-iops IOPS", "Assumed maximum of random read IOPS.", _above_zero),
    option("--write-iops IOPS", "Assumed maximum of random write IOPS.", _above_zero),
    option("--read-rate MB/s", "Assumed maximum read throughput.", _above_zero),
    option("--write-rate MB/s", "Assumed maximum write throughput.", _above_zero),
    option("--latency-us US", "Assumed time of a single I/O.", _above_zero),
    flag("Print one JSON object, steps included.", name="--json as_json"),
)


def _command(test: Procedure) -> click.Command:
    @click.command(
        test.name,
        cls=PassthroughArgs,
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
        _print_plan(next(iter(targets), None), choices_of(test, options), as_json=as_json, **options)
        if len(targets) > 1:
            from openpts.cli.batch import print_prospect  # noqa: PLC0415 few plans are for several drives

            click.echo()
            print_prospect(targets, sys.stdout)

    return command_with_rest(test, command)


@click.group(
    "plan",
    cls=OnDemandInOrder,
    commands=of_tests(
        _command,
        PROCEDURES,
        "Plan the {0.title} test ({0.source}).",
        {"all": Place("openpts.cli.plan_all:plan_all", "Plan a suite: all of PTS, or any tests.")},
    ),
    subcommand_metavar="TEST [ARGS]...",
)
def plan_command() -> None:
    """Print what a test will do, without touching the target.

    Prints how long it takes, what it writes, wear and space; then its parts, with --steps every step in
    order, the expected ledger, and whether a run would be refused now. A drive is only queried for its
    identity, its purge methods and its use; a file is not created; a simulated drive does not run.
    """


def _print_plan(
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
    roots = SystemRoots()
    if target is not None:
        target = at_fitting_scale(target, [choices], log_stream(as_json=as_json))
    unopened = plan_target(target, capacity, choices.test, roots)
    plan = planned_run(choices, unopened, assumed_drive(unopened, **rates))
    planned = [step for planned in plan.longest for step in planned.apply.steps]
    if not driver_of(choices.test).depends_on_scale:
        planned = []  # as in a run
    cache = plan.conditions.write_cache_enabled
    choice = choices.purge(purge) if choices.test.purges else None
    by = "the test makes none" if choice is None else unopened.purge_text(choice)
    ledger = (*unopened.deviations(planned, choice, cache, roots), *plan.deviations)
    name = unopened.facts.path if unopened.preset is None else unopened.facts.name
    if target is None:
        name = unopened.facts.name
    no_drive = target is None or names_simulated(target) or Path(target).is_dir()
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
            return driver_of(test).unopened(target, roots)
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
    return replace(AssumedDrive.rated(unopened.preset.rated if unopened.preset else {}), **changes)


class ListedPlan(Struct, frozen=True, kw_only=True):
    """A plan that ships; ``tests`` are those that it names, empty for one that suits any."""

    name: str
    title: str
    tests: tuple[str, ...]


class PlanList(Document, frozen=True, kw_only=True, tag="openpts.plans/1"):
    """The plans that ship."""

    plans: tuple[ListedPlan, ...]


@click.command("plans")
@with_options
def plans_command(
    *,
    name: str | None = argument(required=False),
    as_json: bool = flag("Print the list as one JSON object.", name="--json"),
) -> None:
    """List the plans that ship, for `--plan NAME`; with NAME print its file, to read or to edit a copy.

    `openpts run all TARGET --plan NAME` runs all tests of a plan, `openpts run TEST TARGET --plan NAME` one.
    """
    if name is not None:
        click.echo(shipped_plan(name).decode(), nl=False)
        return
    plans = {one: read_plan(Path(one)).settings for one in shipped_names()}
    if as_json:
        print_document(
            PlanList(
                plans=tuple(
                    ListedPlan(name=one, title=of["title"], tests=of.get("tests", ()))
                    for one, of in plans.items()
                )
            )
        )
        return
    for one, of in plans.items():
        click.echo(wrapped(f"{one:<12}{of['title']}", sys.stdout, BELOW_LABELS))


@click.command("plan-schema")
def plan_schema_command() -> None:
    """Print the JSON Schema of plan files (`openpts run TEST TARGET --plan FILE`).

    An editor that knows it completes keys, explains them and marks what makes no sense.
    """
    click.echo(json.dumps(plan_schema(), indent=2))
