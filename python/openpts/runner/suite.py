"""All tests one after the other on one target, each with its own purge, preconditioning and run folder."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from openpts.errors import (
    InterruptedRunError,
    LimitError,
    LostRecordError,
    NotSteadyError,
    NoVerdictError,
    OpenptsError,
    RecordError,
    RunFailedError,
)
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import RunState
from openpts.record.reader import has_begun, read_manifest
from openpts.record.suite import Suite, SuiteEntry, SuiteState
from openpts.record.writer import DATABASE_NAME
from openpts.runner.device_under_test import drive_kept
from openpts.runner.driver import driver_of
from openpts.runner.events import Listener
from openpts.runner.order import Order
from openpts.runner.run import run_test

_SEVERAL: Final = 2
DONE: Final = frozenset({SuiteState.COMPLETE, SuiteState.FAILED})
"""What a resumed suite leaves as it is; a run that failed can be resumed alone."""


_ENDS: Final = (RunFailedError, LimitError, NotSteadyError, NoVerdictError)
"""How a test may end after its run, what counts most first."""


def _no_judge(_folder: Path) -> None:
    """Judge of a suite without limits: there is nothing to judge."""


@dataclass(frozen=True, slots=True)
class SuitePart:
    """A test and the order for its run; the run folder is inside that of the suite."""

    test: Procedure
    order: Order


@dataclass(slots=True)
class SuiteRunner:
    """Runs the parts of ``suite`` that are not done, and reports the state of each after every change.

    ``display`` shows one test while it runs, ``publish`` takes the suite in its current state, ``report``
    makes the reports of a run folder, or of all of the suite's, and returns their names. ``judge`` raises
    RunFailedError for a finished run that failed a limit. A failed purge, a refusal or a missing target ends
    the suite, a test that failed during its run unless the suite is to keep going.
    """

    folder: Path
    suite: Suite
    display: Callable[[SuiteEntry], AbstractContextManager[Listener]]
    publish: Callable[[Suite], None]
    report: Callable[[Path], Sequence[str]]
    judge: Callable[[Path], None] = _no_judge
    _kept: ExitStack = field(default_factory=ExitStack)

    def run(self, parts: Sequence[SuitePart]) -> None:
        """Run all parts, as far as they can run, and report on those that ended without their report.

        Raises the error that ended the suite, or at its end that which counts most of its tests, those that
        failed before it was resumed included.
        """
        if not self.suite.entries:
            self._set(replace(self.suite, entries=_entries_of(parts)))
        try:
            with self._kept:
                for index, part in enumerate(parts):
                    entry = self.suite.entries[index]
                    if entry.state not in DONE:
                        self._run_part(index, _after_the_first(part) if index else part)
                    elif not entry.reports:
                        self._report(index, self.folder / entry.folder)
        finally:
            self._set(replace(self.suite, ended_at=datetime.now(UTC).isoformat(timespec="seconds")))
            self._report_on_all()
        if failed := [entry for entry in self.suite.entries if entry.state is SuiteState.FAILED]:
            ends = {entry.exit_code for entry in failed}
            kind = next((one for one in _ENDS if one.exit_code in ends), RunFailedError)
            first = f"{failed[0].test}: {failed[0].reason}"
            raise kind(f"{len(failed)} of {len(parts)} tests failed: {first}")

    def _run_part(self, index: int, part: SuitePart) -> None:
        folder = self.folder / self.suite.entries[index].folder
        self._change(index, state=SuiteState.RUNNING)
        try:
            if not is_complete(folder):  # or killed before it was judged
                self._kept.enter_context(drive_kept(part.order.target))
                with self.display(self.suite.entries[index]) as on_event:
                    run_test(part.test, replace(part.order, folder=folder), [on_event])
            driver_of(part.test).end(folder)
            self.judge(folder)
            self._change(index, state=SuiteState.COMPLETE, reason=None, exit_code=None)
        except (OpenptsError, KeyboardInterrupt) as error:
            self._change(
                index,
                state=_state(error, folder),
                reason=str(error) or "stopped by the operator",
                exit_code=getattr(error, "exit_code", InterruptedRunError.exit_code),
            )
            if not (isinstance(error, RunFailedError) and self.suite.keep_going):
                raise
        finally:
            self._report(index, folder)

    def _report(self, index: int, folder: Path) -> None:
        if not (folder / DATABASE_NAME).exists():
            return
        try:
            self._change(index, reports=tuple(self.report(folder)))
        except Exception as error:  # noqa: BLE001 tests that still have to run count more than a report
            self._change(index, report_reason=f"{type(error).__name__}: {error}")

    def _report_on_all(self) -> None:
        """One report of all tests that have a record; of a single one there is a report already."""
        folders = [self.folder / entry.folder for entry in self.suite.entries]
        if sum((folder / DATABASE_NAME).exists() for folder in folders) < _SEVERAL:
            return
        try:
            self._set(replace(self.suite, reports=tuple(self.report(self.folder))))
        except Exception as error:  # noqa: BLE001 the tests are done, and each has its own report
            self._set(replace(self.suite, report_reason=f"{type(error).__name__}: {error}"))

    def _change(self, index: int, **changes: object) -> None:
        entries = list(self.suite.entries)
        entries[index] = replace(entries[index], **changes)  # type: ignore[arg-type]
        with suppress(RecordError):  # of a disk that is full now; the next change writes all of it
            self._set(replace(self.suite, entries=tuple(entries)))

    def _set(self, suite: Suite) -> None:
        self.suite = suite
        self.publish(suite)


def _entries_of(parts: Sequence[SuitePart]) -> tuple[SuiteEntry, ...]:
    """The parts of a suite that begins, with the conditions that each is to have."""
    return tuple(
        SuiteEntry(
            part.test.name,
            part.test.title,
            part.test.section or 0,
            f"{number}-{part.test.name}",
            conditions=part.order.wanted_conditions(part.test),
        )
        for number, part in enumerate(parts, start=1)
    )


def _after_the_first(part: SuitePart) -> SuitePart:
    """A scratch file now holds what the test before wrote: the consent to lose that was given by running."""
    return replace(part, order=replace(part.order, consent=replace(part.order.consent, overwrite_file=True)))


def is_complete(folder: Path) -> bool:
    """Whether the run in a folder came to its end; a new one has none."""
    begun = (folder / DATABASE_NAME).exists() and has_begun(folder)
    return begun and read_manifest(folder).state is RunState.COMPLETE


def _state(error: BaseException, folder: Path) -> SuiteState:
    if isinstance(error, InterruptedRunError | KeyboardInterrupt):
        return SuiteState.INTERRUPTED
    has_begun = isinstance(error, LostRecordError) or (folder / DATABASE_NAME).exists()
    return SuiteState.FAILED if has_begun else SuiteState.REFUSED
