"""Answers to a level 0 discovery, built field by field after the TCG core specification."""

import struct
from collections.abc import Mapping
from typing import Final

SUPPORTED, ENABLED, LOCKED, ENCRYPTS, MBR_ENABLED, MBR_DONE = 1, 2, 4, 8, 16, 32


def feature(code: int, *data: int, length: int = 12) -> bytes:
    """A feature descriptor of version 1; ``length`` is what it says of itself."""
    return struct.pack(">HBB", code, 0x10, length) + bytes(data).ljust(length, b"\0")


def answer(*features: bytes, length: int | None = None) -> bytes:
    """The header and the descriptors, in 2048 bytes; ``length`` is what the header says."""
    body = b"".join(features)
    stated = 44 + len(body) if length is None else length
    return (struct.pack(">III", stated, 1, 0).ljust(48, b"\0") + body).ljust(2048, b"\0")


TPER: Final = feature(0x0001, 0x11)
OPAL_2: Final = feature(0x0203, 0x08, 0, 0, 1, length=16)


def locking(*flags: int) -> bytes:
    """The Locking feature with these bits."""
    return feature(0x0002, SUPPORTED | ENCRYPTS | sum(flags))


WORDS_OF: Final[Mapping[str, tuple[bytes, str]]] = {
    "opal-1": (answer(TPER, locking(), feature(0x0200, 8, 0, 0, 1)), "TCG Opal 1: not locking"),
    "opal-2": (answer(TPER, locking(), OPAL_2), "TCG Opal 2: not locking"),
    "enabled": (answer(TPER, locking(ENABLED), OPAL_2), "TCG Opal 2: locking enabled, unlocked"),
    "locked": (answer(TPER, locking(ENABLED, LOCKED), OPAL_2), "TCG Opal 2: locked"),
    "shadow-mbr": (
        answer(TPER, locking(ENABLED, MBR_ENABLED), OPAL_2),
        "TCG Opal 2: locking enabled, unlocked, a shadow MBR hides the first blocks",
    ),
    "sid-blocked": (
        answer(TPER, locking(), OPAL_2, feature(0x0402, 3)),
        "TCG Opal 2: not locking, SID blocked until power-on",
    ),
    "enterprise": (answer(TPER, locking(ENABLED, LOCKED), feature(0x0100)), "TCG Enterprise: locked"),
    "pyrite": (answer(TPER, feature(0x0002, 7), feature(0x0303)), "TCG Pyrite 2: locked"),
    "ruby": (answer(TPER, locking(), feature(0x0304)), "TCG Ruby: not locking"),
}
"""What each state of a served drive is called, beside an answer of that state."""

BROKEN: Final = (
    answer(TPER, locking(), OPAL_2, length=1 << 16),
    answer(TPER, locking(), feature(0x0402, length=0)),
    answer(TPER, locking(), OPAL_2, length=44 + 2),
    answer(TPER, OPAL_2[:10], length=44 + 16 + 10),
    answer(TPER, locking(), length=12),
    b"\0" * 47,
)
LEVEL0_ANSWERS: Final = (*(data for data, _ in WORDS_OF.values()), *BROKEN)
