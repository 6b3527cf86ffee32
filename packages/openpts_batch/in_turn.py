"""The tests of a suite one after the other on one target, each with its own purge and preconditioning."""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace as changed

from openpts.errors import (
    InterruptedRunError,
    LimitError,
    LostRecordError,
    NotSteadyError,
    NoVerdictError,
    OpenptsError,
    RunFailedError,
)
from openpts.ownership import new_run_id
from openpts.procedures.kit.procedure import Procedure
from openpts.record.batch import DONE, Batch, BatchEntry
from openpts.record.manifest import RunState
from openpts.record.reader import has_begun, read_manifest
from openpts.record.writer import DATABASE_NAME
from openpts.runner.device_under_test import drive_kept
from openpts.runner.driver import driver_of
from openpts.runner.events import Listener
from openpts.runner.order import RunSettings
from openpts.runner.run import run_test
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.executor import EntryOutput, Executor

_ENDS: Final = (RunFailedError, LimitError, NotSteadyError, NoVerdictError)
"""How a test may end after its run, what counts most first."""


def _no_judge(_folder: Path) -> None:
    """Judge of a suite without limits: there is nothing to judge."""


class SuitePart(Struct, frozen=True):
    """A test and the order for its run; the run folder is inside that of the suite."""

    test: Procedure
    order: RunSettings

    def entry(self, number: int) -> BatchEntry:
        """The part in a suite that begins, with the conditions that it is to have."""
        request = RunRequest(run_id=new_run_id(), test_words=(self.test.name,), target=self.order.target)
        conditions = msgspec.to_builtins(self.order.wanted_conditions(self.test))
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
    judge: Callable[[Path], None] = _no_judge
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
                self._kept.enter_context(drive_kept(part.order.target))
                run_id = None if part.order.resumes else entry.request.run_id or None
                order = changed(part.order, folder=folder, run_id=run_id)
                run_test(part.test, order, [self._heard_of(index), *self.listeners(order)])
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

    def _heard_of(self, index: int) -> Listener:
        return lambda event: self.listener(EntryOutput(index, event))


def _after_the_first(part: SuitePart) -> SuitePart:
    """A scratch file now holds what the test before wrote: the consent to lose that was given by running."""
    consent = dataclasses.replace(part.order.consent, overwrite_file=True)
    return changed(part, order=changed(part.order, consent=consent))


def is_complete(folder: Path) -> bool:
    """Whether the run in a folder came to its end; a new one has none."""
    begun = (folder / DATABASE_NAME).exists() and has_begun(folder)
    return begun and read_manifest(folder).state is RunState.COMPLETE


def _state(error: BaseException, folder: Path) -> RunState:
    if isinstance(error, InterruptedRunError | KeyboardInterrupt):
        return RunState.INTERRUPTED
    has_begun = isinstance(error, LostRecordError) or (folder / DATABASE_NAME).exists()
    return RunState.FAILED if has_begun else RunState.REFUSED
