"""Answers of programs that somebody recorded on hardware that no test machine has."""

import tomllib
from collections.abc import Sequence

from openpts.programs import Reply
from tests import DATA

FOLDER = DATA / "exchanges"


class RecordedExchange:
    """Implements openpts.programs.Run by the answers of a file, NODE standing for the drive.

    A command that was recorded several times gives its answers in that order, and then the last one for
    ever. One that was not recorded fails the test.
    """

    def __init__(self, *names: str) -> None:
        self.asked: list[str] = []
        self._answers: dict[str, list[dict[str, str | int]]] = {}
        for name in names:
            for answer in tomllib.loads((FOLDER / f"{name}.toml").read_text())["answers"]:
                self._answers.setdefault(answer["command"], []).append(answer)

    def __call__(self, command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        """The next answer to that command."""
        asked = " ".join((*command[:-1], "NODE"))
        self.asked.append(asked)
        assert asked in self._answers, f"{asked!r} was not recorded"
        answers = self._answers[asked]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return Reply(
            tuple(command), int(answer["returncode"]), str(answer["stdout"]), str(answer["stderr"]), 1
        )
