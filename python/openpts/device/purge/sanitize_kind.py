"""The three ways in which ATA and SCSI drives sanitize themselves, and how long each may take."""

from enum import StrEnum
from typing import Final

_LIMIT_S: Final = 4 * 3600.0
# the slowest that a disk writes, with a margin
_OVERWRITE_BYTES_PER_S: Final = 20 * 1000**2


class SanitizeKind(StrEnum):
    """What is done with the blocks, by the words of AtaIdentity.sanitizes."""

    BLOCK = "block"
    CRYPTO = "crypto"
    OVERWRITE = "overwrite"

    @property
    def is_purge(self) -> bool:
        """Whether a drive is as if never written afterwards: an overwrite leaves all its blocks written."""
        return self is not SanitizeKind.OVERWRITE

    def limit_s(self, capacity_bytes: int) -> float:
        """When a wait for its end is given up."""
        if self is SanitizeKind.OVERWRITE:
            return _LIMIT_S + capacity_bytes / _OVERWRITE_BYTES_PER_S
        return _LIMIT_S
