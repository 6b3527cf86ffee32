"""What a drive's own logs tell of its purge: the names under which it stands in the record, and in words."""

from collections.abc import Mapping
from typing import Final

PURGE_STATUS_NAMES: Final[Mapping[str, str]] = {
    "utilisation": "Utilisation of the namespace",
    "lba_format": "Format of the namespace",
    "reads_as": "Deallocated blocks read as",
    "sanitize_status": "Last sanitize",
}
"""What else a record holds stands under its own name."""
