"""The class of a drive, which chooses the conditions of the specification."""

from enum import StrEnum
from typing import Final

CACHE_DISABLED: Final = "write cache disabled (PTS-E); as its users have it: --class client"
"""What figures of a drive with a volatile write cache are of, where the class switches it off."""


class DriveClass(StrEnum):
    """Enterprise or client, PTS-E or PTS-C: the two sets of settings of the specification."""

    ENTERPRISE = "enterprise"
    CLIENT = "client"

    @property
    def revision(self) -> str:
        """The header's field Rev. (PTS 5.1)."""
        return f"PTS-{'E' if self is DriveClass.ENTERPRISE else 'C'} 2.0.1"
