"""What an operator agrees to lose."""

from dataclasses import dataclass
from pathlib import Path


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
