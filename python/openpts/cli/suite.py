"""`openpts run all`: a suite of tests on one target, one folder for each test and an index page."""

import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import click
from msgspec import Struct

from openpts.cli.baseline_option import WithBaseline
from openpts.cli.consent_options import CONFIRM_NAMESPACE, CONSENT_OPTIONS, consent_of, taken
from openpts.cli.end_of_run import RunLimits, StopOnFail, end_judged, limit_options
from openpts.cli.fitting_scale import at_fitting_scale
from openpts.cli.help_order import together
from openpts.cli.live_outputs import log_stream
from openpts.cli.parameter_options import given_as_options, parameter_options
from openpts.cli.planned_run import planned_run
from openpts.cli.printed_document import print_document
from openpts.cli.procedure_options import (
    CLASS_OPTION,
    PLAN_OPTION,
    QUICK_OPTION,
    SEED_OPTION,
    Choices,
    chosen,
    plan_at,
)
from openpts.cli.report import documents_on
from openpts.cli.run import PURGE_OPTION, RUN_OPTIONS, display_on, order_of
from openpts.device.guard.consent import Consent
from openpts.did_you_mean import did_you_mean
from openpts.errors import OpenptsError, RecordError, TargetError, UsageError, failing_as
from openpts.fields.conditions import Conditions
from openpts.ownership import CLAIM_NAME, RunOwner, folder_claimed, new_run_id, read_owner
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.plan import RunPlan
from openpts.procedures.registry import PROCEDURES, PTS, procedure_of
from openpts.record.reader import has_begun, read_manifest, stored_run
from openpts.record.suite import (
    INDEX_NAME,
    SUITE_NAME,
    Suite,
    SuiteEntry,
    SuiteState,
    read_suite,
    write_suite,
)
from openpts.record.writer import DATABASE_NAME, RunWriter, inputs_of, remove_unbegun
from openpts.runner.driver import driver_of
from openpts.runner.events import Event, Listener
from openpts.runner.order import Order
from openpts.runner.resumed_run import Resumption
from openpts.runner.suite import DONE, SuitePart, SuiteRunner, is_complete
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import format_capacity, format_duration
from openpts.vocabulary.document import Document
from openpts.vocabulary.people import People
from openpts.vocabulary.purpose import Purpose


class _Tests(click.ParamType[tuple[str, ...]]):
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
        type=_Tests(),
        metavar="TEST,...",
        help=f"These, in this order: {', '.join(PROCEDURES)}. Without it those of the plan, or all of the "
        "specification.",
    ),
    *parameter_options(next(iter(PTS.values())), Conditions),  # all tests have these
    SEED_OPTION,
)


@click.command("all", cls=WithBaseline, short_help="Several tests, one after the other: all of PTS, or any.")
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
def run_all(
    targets: tuple[str, ...],
    *,
    tests: tuple[str, ...] | None,
    keep_going: bool,
    out: Path | None,
    as_json: bool,
    no_report: bool,
    limits_path: Path | None,
    baseline: tuple[Path, ...],
    stop_on_fail: bool,
    require_steady: bool,
    **options: Any,
) -> None:
    """Run several tests on TARGET, each with its own purge and preconditioning.

    Which tests: those of --tests, or of the plan, or all of the specification in its order. Each has its run
    folder; suite.json and index.html cover all of them. Settings of single tests are given in a plan file,
    with a table for each. All tests are checked before the first purge. If a test fails, the results of the
    others are kept and the suite continues; it ends if a purge fails, if a target is refused or gone, or if
    it is stopped.
    """
    if len(targets) > 1:
        raise UsageError(
            f"a suite is for one drive, not {len(targets)}: `openpts campaign run FILE` runs several tests "
            "on several drives"
        )
    (target,) = targets
    stream = log_stream(as_json=as_json)
    all_choices, consent = choices_of_suite(tests, options), consent_of(**taken(options))
    target = at_fitting_scale(target, all_choices, stream)
    _announce(target, all_choices, stream)
    limits = RunLimits.of(limits_path, baseline, stop_on_fail=stop_on_fail, require_steady=require_steady)
    parts = [
        SuitePart(choices.test, _with_seed(limits.ordered(order, choices.test)))
        for choices in all_choices
        for order in [order_of(target, choices, consent, out=None, **options)]
    ]
    folder = out or Path("openpts-runs") / f"suite-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    suite = Suite(
        target=target,
        ordered=parts[0].order.ordered,
        people=parts[0].order.people,
        purpose=parts[0].order.purpose,
        revision=parts[0].order.wanted_conditions(parts[0].test).class_text,
        command_line=tuple(sys.argv[1:]),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        keep_going=keep_going and not stop_on_fail,
        inputs={name: raw for part in parts for name, raw in part.order.inputs.items()},
    )
    runner = _runner(folder, suite, stream, no_report=no_report)
    RunWriter.check_free(folder)
    with failing_as(RecordError, f"can't create the suite's folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    with _claimed(folder, again=False):
        _run_parts(runner, parts, stream, as_json=as_json)


@contextmanager
def _claimed(folder: Path, *, again: bool) -> Iterator[None]:
    """No other process carries out the suite as long as the block lasts. Raises RecordError."""
    before = read_owner(folder / CLAIM_NAME) if again else None
    run_id = new_run_id() if before is None else before.run_id
    with folder_claimed(folder, RunOwner.this_process(run_id, "suite", (), SystemRoots()), again=again):
        yield


def resume_suite(
    folder: Path,
    target: str | None,
    consent: Consent,
    accepted: Mapping[str, bool],
    stream: IO[str],
    *,
    no_report: bool,
    as_json: bool,
) -> None:
    """Go on with the test of the suite that was cut off, and with those behind it.

    Raises RecordError if the suite has come to its end, does not say what was ordered, or is carried out.
    """
    with _claimed(folder, again=True):
        suite, parts = _what_is_left(folder, target, consent, accepted)
        runner = _runner(folder, suite, stream, no_report=no_report)
        _run_parts(runner, parts, stream, as_json=as_json)


def _what_is_left(
    folder: Path, target: str | None, consent: Consent, accepted: Mapping[str, bool]
) -> tuple[Suite, list[SuitePart]]:
    """The suite as its records have it, and all its parts. Raises RecordError as ``resume_suite`` does."""
    suite = read_suite(folder)
    if suite.ordered is None:
        raise RecordError(
            f"can't resume {folder}: an earlier openpts made its {SUITE_NAME}, without what resuming needs; "
            "run the tests that are left with --tests"
        )
    # suites of earlier versions have the operator's files in the copies of their runs alone
    of_runs = {name: raw for entry in suite.entries for name, raw in inputs_of(folder / entry.folder).items()}
    inputs = of_runs | suite.inputs
    suite = replace(
        suite,
        ordered=replace(suite.ordered, target=target or suite.ordered.target),
        entries=tuple(_as_recorded(folder, entry) for entry in suite.entries),
    )
    if suite.ended_at is not None and all(entry.state in DONE for entry in suite.entries):
        raise RecordError(f"{folder} has come to its end: no test is left to resume")
    again = (_part_again(folder, suite, entry, consent, accepted) for entry in suite.entries)
    parts = [replace(part, order=replace(part.order, inputs=inputs)) for part in again]
    return replace(suite, ended_at=None), parts


def _as_recorded(folder: Path, entry: SuiteEntry) -> SuiteEntry:
    """The state of a test, which may have come to its end just before the suite was killed.

    One that was killed before its record began begins again, in a folder of its own. One that cuts the
    drive's power can't be resumed: it stays as it is, and those behind it go on.
    """
    run_folder = folder / entry.folder
    if entry.state in DONE:
        return entry
    if not has_begun(run_folder):
        remove_unbegun(run_folder)
        return entry
    if is_complete(run_folder):
        return replace(entry, state=SuiteState.WAITING)  # only its verdict is left
    if driver_of(procedure_of(entry.test)).unresumable(read_manifest(run_folder)):
        return replace(entry, state=SuiteState.FAILED, reason="was cut off, which it can't be resumed from")
    return entry


def _part_again(
    folder: Path, suite: Suite, entry: SuiteEntry, consent: Consent, accepted: Mapping[str, bool]
) -> SuitePart:
    """A test that goes on where it has a record, and begins where it has none."""
    test, run_folder, ordered = procedure_of(entry.test), folder / entry.folder, suite.ordered
    begins = entry.state in DONE or not (run_folder / DATABASE_NAME).exists() or is_complete(run_folder)
    if begins and entry.conditions is not None and ordered is not None:
        order = Order.again(ordered, entry.conditions, consent, suite.people, suite.command_line)
        order = replace(order, purpose=suite.purpose)
    else:
        wanted = Resumption(stored_run(run_folder), **accepted)
        order = Order.to_resume(wanted, consent, ordered.target if ordered else None)
    return SuitePart(test, order)


def _with_seed(order: Order) -> Order:
    """Seeds are drawn when the suite begins: a test has the same if the suite is resumed before it."""
    return replace(order, seed=secrets.randbits(63)) if order.seed is None else order


class SuiteTest(Struct, frozen=True, kw_only=True):
    """A test of a suite, as suite.json has it; ``folder`` and ``reports`` are names in the suite's folder."""

    test: str
    title: str
    section: int
    folder: str
    state: SuiteState
    reason: str | None
    reports: tuple[str, ...]
    report_reason: str | None


class SuiteDocument(Document, frozen=True, kw_only=True, tag="openpts.suite/1"):
    """What became of each test, in the order in which they ran; ``suite`` is their folder.

    ``reports`` are those on all tests together; ``report_reason`` says why there is none.
    """

    suite: str
    target: str
    revision: str
    command_line: tuple[str, ...]
    started_at: str
    ended_at: str | None
    people: People
    purpose: Purpose
    entries: tuple[SuiteTest, ...]
    reports: tuple[str, ...]
    report_reason: str | None


def _run_parts(runner: SuiteRunner, parts: Sequence[SuitePart], stream: IO[str], *, as_json: bool) -> None:
    index = runner.folder / INDEX_NAME
    try:
        runner.run(parts)
    except OpenptsError as error:
        failure = type(error)(f"{error}; {index} lists the state of each test")
        if as_json:
            print_document(SuiteDocument.of(runner.suite, suite=str(runner.folder)), failure)
        raise failure from error
    if as_json:
        print_document(SuiteDocument.of(runner.suite, suite=str(runner.folder)))
    click.echo(f"index: {index}", file=stream)


def _runner(folder: Path, suite: Suite, stream: IO[str], *, no_report: bool) -> SuiteRunner:
    from openpts.report.record_files import renew_suite_checksums  # noqa: PLC0415 slow to load
    from openpts.report.suite_index import write_suite_index  # noqa: PLC0415 slow to load

    def publish(now: Suite) -> None:
        write_suite(folder, now)
        write_suite_index(folder, now)
        renew_suite_checksums(folder)

    def report(run_folder: Path) -> Sequence[str]:
        return () if no_report else documents_on(run_folder)

    @contextmanager
    def display(entry: SuiteEntry) -> Iterator[Listener]:
        source = procedure_of(entry.test).source
        click.echo(f"{entry.title} ({source}), in {folder / entry.folder}", file=stream)
        is_stopped = suite.ordered is not None and suite.ordered.stop_on_fail
        with display_on(stream) as show:
            listeners = (show, StopOnFail()) if is_stopped else (show,)

            def on_event(event: Event) -> None:
                for listener in listeners:
                    listener(event)

            yield on_event

    return SuiteRunner(
        folder, suite, display, publish, report, lambda run_folder: end_judged(run_folder, None)
    )


def choices_of_suite(tests: Sequence[str] | None, options: dict[str, Any]) -> list[Choices]:
    """The choices for each test; what a plan has for them counts less than what options say."""
    drive_class, path = options.pop("drive_class"), options.pop("plan_path")
    is_quick, seed = options.pop("quick"), options.pop("seed")
    given = given_as_options(Conditions, options)
    plan = plan_at(path)
    planned = () if plan is None else plan.settings.get("tests", ())
    return [
        chosen(PROCEDURES[name], plan, given, drive_class=drive_class, is_quick=is_quick, seed=seed)
        for name in dict.fromkeys(tests or planned or PTS)
    ]


def _announce(target: str, all_choices: Sequence[Choices], stream: IO[str]) -> None:
    """Refuse now what one of the tests would refuse later, and say how long all of them take."""
    unopened = UnopenedTarget.of(target, SystemRoots())
    drive = AssumedDrive.rated(unopened.preset.rated if unopened.preset else {})
    plans = planned_suite(all_choices, unopened, drive)
    names = ", ".join(choices.test.name for choices in all_choices)
    shortest, longest = (
        sum(extent.duration_ns for extent in extents)
        for extents in ([p.shortest_extent for p in plans], [p.longest_extent for p in plans])
    )
    written = format_capacity(sum(plan.longest_extent.written_bytes for plan in plans))
    lengths = " to ".join(dict.fromkeys(format_duration(length) for length in (shortest, longest)))
    click.echo(
        f"suite of {names}: about {lengths}, writes up to about {written}",
        file=stream,
    )


def planned_suite(
    all_choices: Sequence[Choices], unopened: UnopenedTarget, drive: AssumedDrive
) -> list[RunPlan]:
    """The plan of each test; what one would be refused for has its name. Raises UsageError, TargetError."""
    plans = []
    for choices in all_choices:
        try:
            driver_of(choices.test).refuse_name(unopened.facts.path)
            plans.append(planned_run(choices, unopened, drive))
        except (UsageError, TargetError) as error:
            raise type(error)(f"{choices.test.name}: {error}") from error
    return plans
