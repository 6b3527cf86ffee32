"""One test on one drive as it is asked for, before any host or process is chosen for it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

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
