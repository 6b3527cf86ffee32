"""Everything that can go wrong, as one tree.

Each class has the exit code with which the command line ends, so that a script can tell a
refusal from a broken drive without reading the text::

    OpenptsError                 1
    |-- UsageError               2   an option or a value makes no sense
    |-- TargetError              3   the target is not there, not usable or too small
    |-- RefusedError             4   the guard refuses: the device is in use or not confirmed
    |-- EngineUnavailableError   5   no io_uring for us in this kernel or container, or no fio
    |-- PurgeError               6   the purge failed or could not be proven
    |   `-- PurgeImpossibleError     the drive has no such purge, or one that erases nothing
    |-- RunFailedError           7   an I/O failed in the middle; what was measured is kept
    |   |-- DataLossError            data that had to survive a power cut did not; the run is complete
    |   |-- LimitError          10   the drive failed a limit that was set for it; the run is complete
    |   |-- NoVerdictError      13   a limit could neither be kept nor failed; the run is complete
    |   `-- NotSteadyError      14   steady state was required and not reached; the run is complete
    |-- RecordError              8   a run folder can't be written or read
    |   |-- NoRecordError              there is no run in the folder, or its beginning alone
    |   |-- LostRecordError          its files were deleted, moved or replaced during the run
    |   `-- UnwritableRecordError    its disk is full, read-only or fails: for now
    |-- NotSettledError          9   the drive did not come to rest in the time that was allowed
    |-- TraceError              12   a trace of I/Os can't be used
    |-- FleetError              15   a host or the scheduler of a fleet does not answer, or not as it must
    |-- PluginError                  a plug-in can't be loaded, is refused, or fails
    `-- InterruptedRunError    130   the operator stopped the run; what was measured is kept
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

from msgspec import MsgspecError

_EXPORTED_BY: Final = "openpts"
"""Tracebacks have the name by which a notebook catches an error."""


class OpenptsError(Exception):
    """Base of all errors that openpts raises on purpose; the text is one line for the operator."""

    __module__ = _EXPORTED_BY
    exit_code: ClassVar[int] = 1
    is_printed: bool = False
    """Whether the JSON object that a command has printed says it already."""

    @property
    def complaints(self) -> tuple[str, ...]:
        """What the command line says, a line each: the text, unless a class has more than one."""
        return (str(self),)


class UsageError(OpenptsError):
    """An option or a value makes no sense."""

    __module__ = _EXPORTED_BY
    exit_code = 2


class TargetError(OpenptsError):
    """The target is missing, can't be opened, has the wrong kind or is too small."""

    exit_code = 3


class RefusedError(OpenptsError):
    """The guard refuses to hand out a writable device."""

    exit_code = 4


class EngineUnavailableError(OpenptsError):
    """The kernel offers no usable io_uring, or the program fio is needed and missing."""

    exit_code = 5


class PurgeError(OpenptsError):
    """The purge failed, or reading back showed that it did nothing."""

    exit_code = 6


class PurgeImpossibleError(PurgeError):
    """The drive has no such purge, or one that erases nothing; a test may do without."""


class RunFailedError(OpenptsError):
    """An I/O failed while the test ran; the finished steps are in the run folder."""

    exit_code = 7


class DataLossError(RunFailedError):
    """A drive lost data that had to survive a power cut; the run and its report are complete."""


class LimitError(RunFailedError):
    """A drive failed a limit that was set for it; the run and its report are complete."""

    exit_code = 10


class NoVerdictError(RunFailedError):
    """No limit failed, but of some it can't be said whether they are kept; runs and reports are complete."""

    exit_code = 13


class NotSteadyError(RunFailedError):
    """Steady state was required and not reached; the run and its report are complete."""

    exit_code = 14


class RecordError(OpenptsError):
    """A run folder can't be created, written or read."""

    __module__ = _EXPORTED_BY
    exit_code = 8


class NoRecordError(RecordError):
    """A folder has nothing of a run, or its beginning alone."""

    __module__ = _EXPORTED_BY


class LostRecordError(RecordError):
    """The files of a record that is being written were deleted, moved or replaced."""


class UnwritableRecordError(RecordError):
    """The disk of a record takes nothing for now; what was to be written can be written later."""


class NotSettledError(OpenptsError):
    """The drive did not come to rest in the time that was allowed."""

    exit_code = 9


class TraceError(OpenptsError):
    """A trace of I/Os can't be read, or is refused: nothing was made of it."""

    exit_code = 12


class FleetError(OpenptsError):
    """A host, or the scheduler of a fleet, can't be reached or answers what makes no sense."""

    exit_code = 15


class PluginError(OpenptsError):
    """A plug-in can't be loaded, is refused at the door, or fails; openpts itself continues without it."""


class InterruptedRunError(OpenptsError):
    """The operator stopped the run; the finished steps are in the run folder."""

    exit_code = 130


NONSENSE: Final = (OpenptsError, OSError, ValueError, ArithmeticError, LookupError, TypeError, RecursionError)
"""What a run folder may lead to of which a part is nonsense: one such run leaves the others readable."""

_Kinds = type[Exception] | tuple[type[Exception], ...]


@contextmanager
def failing_as(
    kind: type[Exception], what: str, remedy: str = "", *, of: _Kinds = (OSError, MsgspecError)
) -> Iterator[None]:
    """Raise what the kernel refuses, or msgspec can't decode, as ``kind``: what failed, why, what to do.

    ``of`` are the errors that are raised so.
    """
    try:
        yield
    except of as error:
        why = getattr(error, "strerror", None) or error
        raise kind(f"{what}: {why}; {remedy}" if remedy else f"{what}: {why}") from error
