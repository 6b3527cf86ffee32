"""What an operator wants done before a test, and agrees to lose; what a drive reports of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Self

from msgspec import Struct

AUTO: Final = "auto"
NONE: Final = "none"
PATTERN: Final = "auto|none|[a-z0-9-]+(,[a-z0-9-]+)*"
"""What can be meant by a text; which names there are is known where the methods are."""


class PurgeChoice(Struct, frozen=True):
    """``methods`` are tried in their order, each if the one before failed; without any, the best is taken.

    ``left_out``: no purge at all, which the ledger states.
    """

    methods: tuple[str, ...] = ()
    left_out: bool = False

    AUTO: ClassVar["PurgeChoice"]
    NONE: ClassVar["PurgeChoice"]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``auto``, ``none``, a method's name, or several with commas. Raises ValueError."""
        if not re.fullmatch(PATTERN, text):
            raise ValueError(f"{text!r} is neither auto, none nor names of purge methods with commas between")
        if text in {AUTO, NONE}:
            return cls(left_out=text == NONE)
        names = tuple(text.split(","))
        if len(set(names)) < len(names):
            raise ValueError(f"{text!r} names a purge method twice")
        if {AUTO, NONE} & set(names):
            raise ValueError(f"{text!r} has auto or none among names of purge methods")
        return cls(names)

    def __str__(self) -> str:
        return NONE if self.left_out else ",".join(self.methods) or AUTO


PurgeChoice.AUTO = PurgeChoice()
PurgeChoice.NONE = PurgeChoice(left_out=True)


PURGE_STATUS_NAMES: Final[Mapping[str, str]] = {
    "utilisation": "Utilisation of the namespace",
    "lba_format": "Format of the namespace",
    "reads_as": "Deallocated blocks read as",
    "sanitize_status": "Last sanitize",
}
"""What else a record holds stands under its own name."""


@dataclass(frozen=True, slots=True)
class Consent:
    """The operator's words, one field for each option of that name (``--confirm-serial`` and so on).

    ``confirm_namespaces`` are nodes of other namespaces of the drive that may be erased with it.
    """

    confirm_serial: str | None = None
    confirm_device_path: str | None = None
    erase_signatures: bool = False
    overwrite_file: bool = False
    confirm_namespaces: tuple[Path, ...] = ()
