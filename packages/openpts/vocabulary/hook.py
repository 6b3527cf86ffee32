"""Commands of the operator's at moments of a run: for relays, chambers, fans, power supplies."""

import re
import shlex
from enum import StrEnum
from typing import Final

from msgspec import Struct

from openpts.errors import UsageError

HOOK_LIMIT_S: Final = 60.0
"""How long a command may take, unless the operator sets it otherwise."""


class HookPoint(StrEnum):
    """When a command is started. The run waits for it, except where a drive is at work."""

    RUN_START = "run-start"
    """Before the first purge; if the command fails, the run ends there."""
    RUN_END = "run-end"
    """After the last step, however the run ended."""
    CYCLE_START = "cycle-start"
    """Before the purge of each cycle."""
    CYCLE_END = "cycle-end"
    PHASE_START = "phase-start"
    """When the steps of a phase are with the engine; the run does not wait."""
    TIME = "time"
    """So long after the start of the run; the run does not wait."""


_NAMED: Final = tuple(moment.value for moment in HookPoint if moment is not HookPoint.TIME)
_TIME: Final = r"([0-9]+(?:\.[0-9]+)?)(s|min|h)"
_SECONDS: Final = {"s": 1, "min": 60, "h": 3600}


class Hook(Struct, frozen=True):
    """A command and its moment; ``after_s`` is the time of one that has a time."""

    moment: HookPoint
    command: str
    after_s: float = 0.0

    @classmethod
    def of(cls, text: str) -> "Hook":
        """From ``MOMENT=COMMAND``. Raises UsageError for a moment or a command that makes no sense."""
        word, equals, command = text.partition("=")
        when = re.fullmatch(_TIME, word)
        if not equals or (when is None and word not in _NAMED):
            raise UsageError(
                f"invalid --hook {text!r}: write MOMENT=COMMAND, where MOMENT is {', '.join(_NAMED)} or a "
                "time such as 90s, 30min or 2h"
            )
        try:
            arguments = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"invalid --hook {text!r}: {error}") from error
        if not arguments:
            raise UsageError(f"invalid --hook {text!r}: name a command behind the =")
        if when is None:
            return cls(HookPoint(word), command)
        return cls(HookPoint.TIME, command, float(when[1]) * _SECONDS[when[2]])


class HookRun(Struct, frozen=True):
    """A command and how it ended. ``place`` is the phase or the time, ``started_at`` ISO 8601, UTC.

    ``exit_code`` is None if it could not be started, or was killed at its time limit: ``failure`` says so.
    ``output`` is the end of what it printed.
    """

    moment: HookPoint
    place: str
    command: str
    started_at: str
    elapsed_ns: int
    exit_code: int | None
    failure: str
    output: str

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with 0."""
        return self.exit_code == 0

    @property
    def how_it_ended(self) -> str:
        """``exit code 0``, or what went wrong."""
        return self.failure or f"exit code {self.exit_code}"
