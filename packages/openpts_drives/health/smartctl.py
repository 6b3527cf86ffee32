"""What smartctl says of an ATA or SCSI drive, as a tree of JSON that nothing is taken from on trust.

smartmontools knows what hundreds of drives mean by their attributes; openpts asks it and reads its JSON
(format version 1). Its manual, "EXIT STATUS", says what the bits of the exit status mean. Where a drive
reports a value in two places, firmware gets it wrong more often than one would think (32 bits of 48, units
that the name denies): values that disagree are left out.
"""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final

from msgspec import Struct, field

from openpts.device.block_device import BlockDevice
from openpts.programs import ProgramRunner
from openpts.system_files import printable

FORMAT_VERSION: Final = 1
_LONGEST_MESSAGE: Final = 300

# bits of the exit status
_BAD_COMMAND_LINE: Final = 1 << 0
_NOT_OPENED: Final = 1 << 1


class SmartctlError(Exception):
    """smartctl could say nothing of the drive; the text says why."""


# Not ``-x``: it sends SCT commands, which some drives answer late, for tables that openpts does not need.
OF_HEALTH: Final = ("--info", "--health", "--attributes", "--log=error", "--log=devstat", "--log=ssd")
"""Identity, health, attributes, error counters and device statistics."""


def smartctl_command(device: BlockDevice, questions: Sequence[str] = OF_HEALTH) -> list[str]:
    """Ask a drive, and wake no sleeping disk."""
    return ["smartctl", "--json=c", "--nocheck=standby", *questions, str(device.node)]


class SmartctlAnswer(Struct, frozen=True):
    """The tree that smartctl printed; whatever is missing in it, or of another type, is None."""

    tree: Mapping[str, object]

    def at(self, *path: str) -> object:
        """The value at the end of a path of keys."""
        found: object = self.tree
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def number(self, *path: str) -> float | None:
        """A number there."""
        return number(self.at(*path))

    def items(self, *path: str) -> tuple[Mapping[str, object], ...]:
        """The objects of a list there."""
        found = self.at(*path)
        return tuple(item for item in found if isinstance(item, dict)) if isinstance(found, list) else ()

    def text(self, *path: str) -> str:
        """A text there, printable; "" if there is none."""
        found = self.at(*path)
        return printable(found[:_LONGEST_MESSAGE]) if isinstance(found, str) else ""

    @property
    def version(self) -> tuple[int, ...]:
        """smartctl's version, such as (7, 3); () if it does not tell."""
        found = self.at("smartctl", "version")
        parts = found if isinstance(found, list) else []
        return tuple(part for part in parts if isinstance(part, int) and not isinstance(part, bool))

    @property
    def name(self) -> str:
        """How a source names it, such as ``smartctl 7.3``."""
        return " ".join(("smartctl", ".".join(str(part) for part in self.version))).strip()

    @property
    def in_database(self) -> bool:
        """Whether smartmontools knows this model, and so what its attributes mean."""
        return self.at("in_smartctl_database") is True

    @property
    def foretells_failure(self) -> bool | None:
        """SMART's own verdict; None where the drive gives none."""
        passed = self.at("smart_status", "passed")
        return not passed if isinstance(passed, bool) else None


def number(value: object) -> float | None:
    """A JSON number that is one, as a float; None for all else, also for what no float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def ask_smartctl(
    device: BlockDevice, run: ProgramRunner, timeout_s: float, questions: Sequence[str] = OF_HEALTH
) -> SmartctlAnswer:
    """Ask about a drive. Raises SmartctlError, and ProgramError if smartctl is missing or too slow.

    The exit status is no verdict on the answer: bit 2 says that one of the commands failed, bits 3 to 7 what
    is wrong with the drive.
    """
    answer = run(smartctl_command(device, questions), timeout_s)
    try:
        tree = json.loads(answer.stdout)
    except (ValueError, RecursionError) as error:
        raise SmartctlError(f"smartctl printed no JSON: {answer.complaint}") from error
    reported = SmartctlAnswer(tree if isinstance(tree, dict) else {})
    if answer.returncode < 0 or answer.returncode & (_BAD_COMMAND_LINE | _NOT_OPENED):
        raise SmartctlError(_messages(reported) or f"exit status {answer.returncode} and no message")
    version = reported.at("json_format_version")
    if not (isinstance(version, list) and version[:1] == [FORMAT_VERSION]):
        raise SmartctlError(f"smartctl's JSON is not of format version {FORMAT_VERSION}")
    return reported


def _messages(reported: SmartctlAnswer) -> str:
    texts = (item.get("string") for item in reported.items("smartctl", "messages"))
    return "; ".join(printable(text[:_LONGEST_MESSAGE]) for text in texts if isinstance(text, str))


class Reported(Struct):
    """Values by name, and in words what was left out because the drive contradicts itself."""

    values: dict[str, float] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def add(self, name: str, value: float | None) -> None:
        """Take a value, if there is one."""
        if value is not None:
            self.values[name] = value

    def add_agreed(
        self, name: str, tellings: Mapping[str, float | None], *, apart: float = 0, share_apart: float = 0
    ) -> None:
        """Take the first of the tellings that there are, if all are at most so far from it.

        ``tellings`` go by their places; ``apart`` has the value's unit, ``share_apart`` is of the first.
        """
        reported = {place: value for place, value in tellings.items() if value is not None}
        if not reported:
            return
        first = next(iter(reported.values()))
        if all(abs(value - first) <= max(apart, share_apart * first) for value in reported.values()):
            self.values[name] = first
        else:
            self.doubt(name, reported)

    def doubt(self, name: str, reported: Mapping[str, float]) -> None:
        """Note what contradicts what."""
        places = " but ".join(f"{place} {value:.0f}" for place, value in reported.items())
        self.doubts.append(f"{name} left out: {places}")
