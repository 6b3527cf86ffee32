"""The longest time that an idle processor may take to wake up, which programs may limit (PM QoS).

The limit lasts for as long as the one who set it keeps the file open: nothing is left to be put back after a
crash.
"""

import struct
from pathlib import Path
from typing import Final

_FORMAT: Final = struct.Struct("=i")  # include/linux/pm_qos.h: s32, microseconds
_NO_LIMIT_US: Final = 2_000_000_000  # PM_QOS_CPU_LATENCY_DEFAULT_VALUE


def allowed_wake_up_us(path: Path) -> int | None:
    """The limit that holds now over all programs; None if there is none or it can't be read."""
    try:
        # a read answers with the limit; opening the file asks for no limit of our own
        content = path.read_bytes()[: _FORMAT.size]
    except OSError:
        return None
    if len(content) < _FORMAT.size:
        return None
    (limit_us,) = _FORMAT.unpack(content)
    return limit_us if 0 <= limit_us < _NO_LIMIT_US else _NO_LIMIT_US
