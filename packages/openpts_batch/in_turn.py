"""The tests of a suite one after the other on one target, each with its own purge and preconditioning."""

import dataclasses
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openpts.cli.consent_options import consent_of, popped
from openpts.cli.detach import begun
from openpts.cli.folder_events import background_listener
from openpts.cli.live_outputs import log_stream
from openpts.cli.planned_run import fitting_target, planned_run
from openpts.cli.procedure_options import Choices, chosen, class_of_target, overrides_from, plan_at
from openpts.cli.report import documents_on
from openpts.cli.run_settings import settings_of
from openpts.cli.standard_streams import print_document
from openpts.errors import (
    InterruptedRunError,
    LimitError,
    LostRecordError,
    NotSteadyError,
    NoVerdictError,
    OpenptsError,
    RecordError,
    RunFailedError,
    TargetError,
    UsageError,
)
from openpts.fields.conditions import Conditions
from openpts.ownership import new_run_id
from openpts.planning.dry_run import AssumedDrives
from openpts.planning.plan import RunPlan, extents_of_all, extents_text
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES, procedure_of, suite
from openpts.record.batch import DONE, INDEX_NAME, Batch, BatchEntry, Suite, read_batch
from openpts.record.manifest import RunState
from openpts.record.reader import has_begun, read_manifest, stored_run
from openpts.record.writer import DATABASE_NAME, RunWriter
from openpts.runner.device_under_test import drive_kept
from openpts.runner.driver import driver_of, what_is_kept
from openpts.runner.events import Event, Listener, RunStarted
from openpts.runner.resource_check import assumed_drives
from openpts.runner.resumed_run import Resumption
from openpts.runner.run import run_test
from openpts.runner.settings import RunSettings
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.cli.batch import BatchDocument
from openpts_batch.cli.batch_display import batch_shown_on
from openpts_batch.executor import EntryOutput, Executor, batch_claimed, now, what_is_left
from openpts_compare.cli.run_limits import StopOnFail, asked, end_judged

_ENDS: Final = (RunFailedError, LimitError, NotSteadyError, NoVerdictError)
"""How a test may end after its run, what counts most first."""


class SuitePart(Struct, frozen=True):
    """A test and the order for its run; the run folder is inside that of the suite."""

    test: Procedure
    settings: RunSettings

    def entry(self, number: int) -> BatchEntry:
        """The part in a suite that begins, with the conditions that it is to have."""
        request = RunRequest(run_id=new_run_id(), test_words=(self.test.name,), target=self.settings.target)
        conditions = msgspec.to_builtins(self.settings.requested_conditions(self.test))
        return BatchEntry(request=request, folder=f"{number}-{self.test.name}", conditions=conditions)


@dataclass(kw_only=True)
class InTurn(Executor):
    """Runs the ``parts`` of a suite that are not done, in this process.

    ``report`` makes the reports of a run folder, or of all of the suite's. ``listeners`` hear the run of an
    order, too. ``judge`` raises RunFailedError for a finished run that failed a limit. A failed purge, a
    refusal or a missing target ends the suite, a test that failed during its run unless the suite is to keep
    going.
    """

    parts: Sequence[SuitePart]
    judge: Callable[[Path], object] = lambda _: None
    listeners: Callable[[RunSettings], Sequence[Listener]] = lambda _: ()
    _kept: ExitStack = field(default_factory=ExitStack)

    def run(self) -> Batch:
        """As any executor, and report on tests that ended without their report.

        Raises the error that ended the suite, or at its end that which counts most of its tests, those that
        failed before it was resumed included.
        """
        entries = super().run().entries
        if failed := [entry for entry in entries if entry.state is RunState.FAILED]:
            ends = {entry.exit_code for entry in failed}
            kind = next((one for one in _ENDS if one.exit_code in ends), RunFailedError)
            first = f"{failed[0].test}: {failed[0].reason}"
            raise kind(f"{len(failed)} of {len(entries)} tests failed: {first}")
        return self.batch

    def publish(self) -> None:
        """As any executor, and the index page; reports on all tests have the checksums of both."""
        from openpts.report.record_files import renew_suite_checksums  # noqa: PLC0415 slow to load
        from openpts_batch.batch_index import write_batch_index  # noqa: PLC0415 slow to load

        super().publish()
        write_batch_index(self.folder, self.batch)
        renew_suite_checksums(self.folder)

    def _carry_out(self) -> None:
        with self._kept:
            for index, part in enumerate(self.parts):
                entry = self.batch.entries[index]
                if entry.state not in DONE:
                    self._run_part(index, _after_the_first(part) if index else part)
                elif not entry.reports:
                    self._report(index)

    def _run_part(self, index: int, part: SuitePart) -> None:
        entry = self.batch.entries[index]
        folder = self.folder / entry.folder
        self._set(index, state=RunState.RUNNING)
        try:
            if not is_complete(folder):  # or killed before it was judged
                self._kept.enter_context(drive_kept(part.settings.target))
                run_id = None if part.settings.resumes else entry.request.run_id or None
                settings = replace(part.settings, folder=folder, run_id=run_id)
                run_test(part.test, settings, [self._listener_of(index), *self.listeners(settings)])
            driver_of(part.test).end(folder)
            self.judge(folder)
            self._set(index, state=RunState.COMPLETE, reason=None, exit_code=None)
        except (OpenptsError, KeyboardInterrupt) as error:
            self._set(
                index,
                state=_state(error, folder),
                reason=str(error) or "stopped by the operator",
                exit_code=getattr(error, "exit_code", InterruptedRunError.exit_code),
            )
            keeps_going = self.batch.suite is not None and self.batch.suite.keep_going
            if not (isinstance(error, RunFailedError) and keeps_going):
                raise
        finally:
            self._report(index)

    def _listener_of(self, index: int) -> Listener:
        return lambda event: self.listener(EntryOutput(index, event))


def _after_the_first(part: SuitePart) -> SuitePart:
    """A scratch file now holds what the test before wrote: the consent to lose that was given by running."""
    consent = dataclasses.replace(part.settings.consent, overwrite_file=True)
    return replace(part, settings=replace(part.settings, consent=consent))


def is_complete(folder: Path) -> bool:
    """Whether the run in a folder came to its end; a new one has none."""
    begun = (folder / DATABASE_NAME).exists() and has_begun(folder)
    return begun and read_manifest(folder).state is RunState.COMPLETE


def _state(error: BaseException, folder: Path) -> RunState:
    if isinstance(error, InterruptedRunError | KeyboardInterrupt):
        return RunState.INTERRUPTED
    has_begun = isinstance(error, LostRecordError) or (folder / DATABASE_NAME).exists()
    return RunState.FAILED if has_begun else RunState.REFUSED


def run_suite(
    target: str,
    *,
    tests: tuple[str, ...] | None,
    keep_going: bool,
    out: Path | None,
    as_json: bool,
    no_report: bool,
    **options: Any,
) -> None:
    """Run the tests on a target, each with its own purge. Raises UsageError and what ends a suite."""
    stream = log_stream(as_json=as_json)
    all_choices, consent = choices_of_suite(tests, options, target), consent_of(popped(options))
    target = fitting_target(target, all_choices, stream)
    _announce(target, all_choices, stream)
    limits = asked(options)
    parts = [
        SuitePart(choices.test, _with_seed(limits.ordered(settings, choices.test)))
        for choices in all_choices
        for settings in [settings_of(target, choices, consent, out=None, **options)]
    ]
    folder = out or Path("openpts-runs") / f"suite-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    first = parts[0]
    suite = Batch(
        batch_id=new_run_id(),
        command_line=tuple(sys.argv[1:]),
        started_at=now("seconds"),
        entries=tuple(part.entry(number) for number, part in enumerate(parts, start=1)),
        suite=Suite(
            target=target,
            revision=first.settings.requested_conditions(first.test).class_text,
            ordered=first.settings.ordered,
            people=first.settings.people,
            purpose=first.settings.purpose,
            keep_going=keep_going and not limits.stop_on_fail,
        ),
        inputs={name: raw for part in parts for name, raw in part.settings.inputs.items()},
    )
    RunWriter.check_free(folder)
    _carry_out(folder, suite, parts, stream, as_json=as_json, no_report=no_report)


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
    """Continue the test of the suite that was cut off, then those behind it.

    Raises RecordError if the suite has come to its end, does not say what was ordered, or is carried out.
    """
    with batch_claimed(folder, read_batch(folder), SystemRoots()):
        batch, parts = _what_is_left(folder, target, consent, accepted)
        _carry_out(folder, batch, parts, stream, as_json=as_json, no_report=no_report)


def _what_is_left(
    folder: Path, target: str | None, consent: Consent, accepted: Mapping[str, bool]
) -> tuple[Batch, list[SuitePart]]:
    """The suite as its records have it, and all its parts. Raises RecordError as ``resume_suite`` does."""
    batch = read_batch(folder)
    suite = batch.suite
    assert suite is not None  # noqa: S101 a folder without one is resumed by another
    left = what_is_left(folder, batch)
    if batch.ended_at is not None and all(entry.state in DONE for entry in left.entries):
        raise RecordError(f"{folder} has come to its end: no test is left to resume")
    ordered = replace(suite.ordered, target=target or suite.ordered.target)
    suite = replace(suite, ordered=ordered)
    batch = replace(left, suite=suite)
    return batch, [
        SuitePart(procedure_of(entry.test), _order_again(folder, batch, entry, consent, accepted))
        for entry in batch.entries
    ]


def _order_again(
    folder: Path, batch: Batch, entry: BatchEntry, consent: Consent, accepted: Mapping[str, bool]
) -> RunSettings:
    """Of a test that continues where it has a record, and begins where it has none."""
    run_folder, suite = folder / entry.folder, batch.suite
    ordered = suite.ordered if suite else None
    begins = entry.state in DONE or not (run_folder / DATABASE_NAME).exists() or is_complete(run_folder)
    if begins and entry.conditions is not None and suite and ordered:
        conditions = msgspec.convert(entry.conditions, procedure_of(entry.test).conditions)
        settings = RunSettings.again(ordered, conditions, consent, suite.people, batch.command_line)
        settings = replace(settings, purpose=suite.purpose)
    else:
        resumption = Resumption(stored_run(run_folder), **accepted)
        settings = RunSettings.to_resume(resumption, consent, ordered.target if ordered else None)
    return replace(settings, inputs=batch.inputs)


def _with_seed(settings: RunSettings) -> RunSettings:
    """Seeds are drawn when the suite begins: a test has the same if the suite is resumed before it."""
    return replace(settings, seed=secrets.randbits(63)) if settings.seed is None else settings


def _carry_out(
    folder: Path, suite: Batch, parts: Sequence[SuitePart], stream: IO[str], *, as_json: bool, no_report: bool
) -> None:
    index = folder / INDEX_NAME

    def on_event(event: Event) -> None:
        if isinstance(event, RunStarted):
            begun(folder)

    running = InTurn(
        folder=folder,
        batch=suite,
        parts=parts,
        report=None if no_report else documents_on,
        listeners=lambda settings: (on_event, *([StopOnFail()] if settings.stop_on_fail else ())),
        judge=lambda run_folder: end_judged(run_folder, None),
    )
    try:
        with background_listener(batch_shown_on(stream, suite)) as running.listener:
            running.run()
    except OpenptsError as error:
        kept = f"; {what_is_kept(folder)}" if isinstance(error, InterruptedRunError) else ""
        failure = type(error)(f"{error}; {index} lists the state of each test{kept}")
        if as_json:
            print_document(BatchDocument.of(running.batch, folder=str(folder)), failure)
        raise failure from error
    if as_json:
        print_document(BatchDocument.of(running.batch, folder=str(folder)))
    from openpts_batch.batch_index import buyers_lines  # noqa: PLC0415 slow to load

    for line in buyers_lines(folder, running.batch):
        click.echo(line, file=stream)
    click.echo(f"index: {index}", file=stream)


def choices_of_suite(
    tests: Sequence[str] | None, options: dict[str, Any], target: str | None
) -> list[Choices]:
    """The choices for each test; what a plan has for them counts less than what options say."""
    drive_class, path = options.pop("drive_class"), options.pop("plan_path")
    is_quick, seed = options.pop("quick"), options.pop("seed")
    overrides = overrides_from(Conditions, options)
    plan = plan_at(path)
    drive_class = drive_class or class_of_target(plan, target)
    planned = () if plan is None else plan.settings.get("tests", ())
    return [
        chosen(PROCEDURES[name], plan, overrides, drive_class=drive_class, is_quick=is_quick, seed=seed)
        for name in dict.fromkeys(tests or planned or suite())
    ]


def _announce(target: str, all_choices: Sequence[Choices], stream: IO[str]) -> None:
    """Refuse now what one of the tests would refuse later, and say how long all of them take."""
    unopened = UnopenedTarget.of(target, SystemRoots())
    plans = planned_suite(all_choices, unopened, assumed_drives(unopened.facts.path))
    names = ", ".join(choices.test.name for choices in all_choices)
    click.echo(f"suite of {names}: {extents_text(extents_of_all(plans))}", file=stream)


def planned_suite(
    all_choices: Sequence[Choices], unopened: UnopenedTarget, drives: AssumedDrives
) -> list[RunPlan]:
    """The plan of each test; what one would be refused for has its name. Raises UsageError, TargetError."""
    plans = []
    for choices in all_choices:
        try:
            driver_of(choices.test).refuse_name(unopened.facts.path)
            plans.append(planned_run(choices, unopened, drives))
        except (UsageError, TargetError) as error:
            raise type(error)(f"{choices.test.name}: {error}") from error
    return plans
