"""What a drive answered when it was asked, by names as the checks use them."""

from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.record.decoding import decode_json
from openpts.run_folder_files import read_file, write_files

STATUS_WORDS: Final = {0x01: "Invalid Command Opcode", 0x02: "Invalid Field", 0x109: "Invalid Log Page"}


class CommandResult(Struct, frozen=True, omit_defaults=True):
    """``data`` of a command that succeeded; ``status`` of a refusal, type and code; ``why`` it was not asked.

    Values that are no data of a command are little-endian: registers, dword 0 of a feature, measured figures.
    """

    data: bytes = b""
    status: int = 0
    why: str = ""

    @property
    def words(self) -> str:
        """What there is instead of data; empty for data."""
        if self.why:
            return self.why
        if not self.status:
            return ""
        return f"refused with status {self.status:#x}, {STATUS_WORDS.get(self.status, 'see NVMe Base')}"


class Family(StrEnum):
    """Kinds of what can be asked, by the first letters of a name: ``LC0`` is log C0h, ``FC2d`` a default.

    RECORD is a part of another answer, which has its own name in evidence.
    """

    IDENTIFY = "I"
    LOG = "L"
    FEATURE = "F"
    MEASURED = "M."
    PROBE = "P."
    REGISTER = "register"
    LINK = "link"
    SECURITY = "TCG"
    TELEMETRY = "A"
    RECORD = "R"


REGISTERS: Final = {
    "CAP": (0x00, 8),
    "VS": (0x08, 4),
    "CC": (0x14, 4),
    "CSTS": (0x1C, 4),
    "CMBMSC": (0x50, 8),
    "CRTO": (0x68, 4),
}
"""Registers that are read: their offset, and bytes."""

SELECTIONS: Final = {"": 0, "d": 1, "s": 2, "c": 3}
"""What of a feature is asked, by the last letter of its name: current, default, saved, capabilities."""

LATER: Final = "'"
"""Behind the name of a log: the second reading, at the end of the run."""


def family(source: str) -> Family:
    """Of which kind a source is."""
    if source in REGISTERS:
        return Family.REGISTER
    for each in (Family.MEASURED, Family.PROBE, Family.SECURITY):
        if source.startswith(each):
            return each
    if source.startswith(("PCI", "PM", "MSI", "AER", "DSN", "ATS")):
        return Family.LINK
    return Family(source[0])


def title(source: str) -> str:
    """A source's name: ``log C0h``."""
    kind = family(source)
    if kind is Family.LOG:
        return f"log {source[1:3]}h{', read again' if source.endswith(LATER) else ''}"
    if kind is Family.IDENTIFY:
        return f"Identify CNS {source[1:3]}h"
    if kind is Family.FEATURE:
        words = {"": "", "d": " default", "s": " saved", "c": " capabilities"}[source[3:]]
        return f"feature {source[1:3]}h{words}"
    if kind in {Family.MEASURED, Family.PROBE}:
        return source[2:].replace("_", " ")
    if kind is Family.TELEMETRY:
        return f"telemetry area {source[1:]}"
    if kind is Family.RECORD:
        return ""
    return f"{source} {'register' if kind is Family.REGISTER else 'structure'}"


Answers = dict[str, CommandResult]
"""All answers by their names; a name that is missing was not asked for."""

NOT_ASKED: Final = CommandResult(why="not asked")


NAME: Final = "ocp-answers.json"
"""Each answer by its name: data in Base64, or the status or reason why there are none."""


def keep(folder: Path, answers: Answers) -> None:
    """Write all answers so far."""
    with failing_as(RecordError, f"can't write {folder / NAME}"):
        write_files(folder, {NAME: msgspec.json.format(msgspec.json.encode(answers), indent=1)})


def kept(folder: Path) -> Answers:
    """The answers of a run; none if it ended before the drive was asked. Raises RecordError."""
    try:
        return decode_json(read_file(folder, NAME), dict[str, CommandResult])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise RecordError(f"can't read {folder / NAME}: {error}") from error
