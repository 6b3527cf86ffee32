"""One test on one drive as it is asked for; results of another program that a run was made of."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.vocabulary.verdict import Deviation

_CONSENTS: Final = ("--confirm-serial", "--confirm-device-path", "--confirm-namespace")
_CONSENTS_WITHOUT_VALUE: Final = ("--erase-signatures", "--overwrite-file")


class RunRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run that a batch or a fleet is to carry out once.

    ``run_id`` is minted by who asks, before anything is submitted: it names claim, folder and job.
    ``test_words`` are the arguments of ``openpts run`` without target and folder, the test first. ``target``
    is a node, a file or a simulated drive of the host; without it ``slot`` is, whose drive must have
    ``serial``, or, on this machine, whatever has that. ``host`` is None for this machine.
    """

    run_id: str
    test_words: tuple[str, ...]
    target: str | None = None
    slot: str | None = None
    model: str | None = None
    serial: str | None = None
    host: str | None = None
    labels: dict[str, str] = {}

    def words_on(self, target: str, run_folder: Path, ours: Sequence[str]) -> list[str]:
        """``openpts run`` there. Of two of an option the last counts: ours stand behind the request's.

        The target is behind what the test itself takes, such as a job file.
        """
        arguments = list(self.test_words)
        at = arguments.index("--") if "--" in arguments else len(arguments)
        labels = [f"--label={name}={value}" for name, value in self.labels.items()]
        ours = [*ours, "--run-id", self.run_id, "--out", str(run_folder), *labels]
        return ["run", *arguments[:at], *ours, target, *arguments[at:]]

    @property
    def consents(self) -> tuple[str, ...]:
        """The options with which its operator agreed to lose what is on the drive, each one word."""
        arguments, found = iter(self.test_words), []
        for word in arguments:
            if word == "--":
                break
            if word in _CONSENTS:
                found.append(f"{word}={next(arguments, '')}")
            elif word in _CONSENTS_WITHOUT_VALUE or word.partition("=")[0] in _CONSENTS:
                found.append(word)
        return tuple(found)


IMPORTED: Final = "PTS-GEN-01"


class CourseFigure(StrEnum):
    """What a course of another program is of: I/Os or bytes per second, or ns."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    LATENCY = "latency"


class ImportedCourse(Struct, frozen=True):
    """A figure of the job ``of`` over time: the mean of each ``step_ms`` from its start, None if unknown."""

    of: str
    operation: str
    figure: CourseFigure
    step_ms: int
    values: tuple[float | None, ...]


class Imported(Struct, frozen=True, omit_defaults=True):
    """Where a run comes from. ``tool`` is the program with its version, ``form`` that of its output.

    ``file`` is the source as it was named; a copy is among the inputs of the run as ``kept_as``, with
    ``sha256``. ``stated`` are lines of what the source states and a record has no place for: what, and the
    figure with its unit. ``missing`` is what it does not state, in words. ``courses`` are of its logs.
    """

    tool: str
    form: str
    file: str
    kept_as: str
    sha256: str
    stated: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    courses: tuple[ImportedCourse, ...] = ()

    @property
    def entry(self) -> Deviation:
        """The ledger's entry for all of it."""
        return Deviation(
            IMPORTED,
            "1.1",
            "measured by the test as specified",
            f"imported from {self.tool}: not measured by openpts",
            "preparation, stimulus and timing are the other program's, and were not checked",
        )
