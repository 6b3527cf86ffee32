"""The Sanitize Status log (81h), byte by byte.

NVM Express Base Specification, "Sanitize Status (Log Page Identifier 81h)".
"""

import struct
from enum import Enum
from typing import Final

from msgspec import Struct

SANITIZE_LOG: Final = 0x81
SANITIZE_LOG_BYTES: Final = 512

_FIELDS: Final = struct.Struct("<HHI3I")
_NO_ESTIMATE: Final = 0xFFFF_FFFF
_PROGRESS_WHOLE: Final = 65_536


class SanitizeState(Enum):
    """Bits 2:0 of SSTAT, and the words for each."""

    NEVER = (0, "never sanitized")
    DONE = (1, "completed successfully")
    IN_PROGRESS = (2, "in progress")
    FAILED = (3, "failed")
    DONE_DEALLOCATED = (4, "completed successfully, all blocks deallocated")

    @property
    def words(self) -> str:
        """As the log would say it."""
        return self.value[1]

    @property
    def succeeded(self) -> bool:
        """Whether the last sanitize ended well."""
        return self in {SanitizeState.DONE, SanitizeState.DONE_DEALLOCATED}


class SanitizeAction(Enum):
    """The values of SANACT that erase."""

    BLOCK = (2, "Block Erase")
    OVERWRITE = (3, "Overwrite")
    CRYPTO = (4, "Crypto Erase")

    @property
    def number(self) -> int:
        """As it goes into dword 10."""
        return self.value[0]

    @property
    def words(self) -> str:
        """The specification's name."""
        return self.value[1]


class SanitizeLog(Struct, frozen=True):
    """One reading. ``share_done`` is 1 unless a sanitize is in progress; ``command`` is dword 10 of the last.

    ``erased_since`` is the Global Data Erased bit: nothing was written since the last sanitize.
    ``estimates_s`` has those actions for which the drive gives a time.
    """

    state: SanitizeState
    share_done: float
    command: int
    erased_since: bool
    estimates_s: dict[SanitizeAction, int]

    @classmethod
    def parse(cls, data: bytes) -> "SanitizeLog":
        """Read the log's first bytes. Raises ValueError if they make no sense."""
        if len(data) < _FIELDS.size:
            raise ValueError(f"a Sanitize Status log has {SANITIZE_LOG_BYTES} bytes, not {len(data)}")
        progress, status, command, *estimates = _FIELDS.unpack_from(data)
        state = next((state for state in SanitizeState if state.value[0] == status & 0x7), None)
        if state is None:
            raise ValueError(f"the Sanitize Status log has the unknown status {status & 0x7}")
        order = (SanitizeAction.OVERWRITE, SanitizeAction.BLOCK, SanitizeAction.CRYPTO)
        return cls(
            state=state,
            share_done=progress / _PROGRESS_WHOLE if state is SanitizeState.IN_PROGRESS else 1.0,
            command=command,
            erased_since=bool(status & 1 << 8),
            estimates_s={
                action: estimate_s
                for action, estimate_s in zip(order, estimates, strict=True)
                if estimate_s != _NO_ESTIMATE
            },
        )

    def __str__(self) -> str:
        text = self.state.words
        if self.state is SanitizeState.IN_PROGRESS:
            text += f", {self.share_done:.0%} done"
        return f"{text}; nothing written since" if self.erased_since and self.state.succeeded else text
