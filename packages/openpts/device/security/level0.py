"""Level 0 discovery of the Trusted Computing Group: what a drive has for locking, and whether it is locked.

TCG Storage Architecture Core Specification, level 0 discovery, and the feature descriptors of its Security
Subsystem Classes, Opal, Enterprise, Pyrite and Ruby, and of Block SID Authentication. All numbers are
big-endian.
"""

import struct
from typing import Final, Self

from msgspec import Struct

LEVEL0_BYTES: Final = 2048
"""What is asked for; drives have some 200 bytes."""

_HEADER_BYTES: Final = 48
# what the length of the header does not count
_LENGTH_BYTES: Final = 4
_DESCRIPTOR: Final = struct.Struct(">HBB")

_LOCKING, _BLOCK_SID = 0x0002, 0x0402
_CLASSES: Final = {
    0x0100: "Enterprise",
    0x0200: "Opal 1",
    0x0203: "Opal 2",
    0x0301: "Opalite",
    0x0302: "Pyrite 1",
    0x0303: "Pyrite 2",
    0x0304: "Ruby",
}
_SUPPORTED, _ENABLED, _LOCKED, _MBR_ENABLED, _MBR_DONE = 1 << 0, 1 << 1, 1 << 2, 1 << 4, 1 << 5
_SID_BLOCKED: Final = 1 << 1


class Level0(Struct, frozen=True):
    """``classes`` are the Security Subsystem Classes of a drive; none: it has no TCG.

    ``locking``, ``enabled`` and ``locked`` are of the Locking feature: it is there, it was activated, a range
    is locked now. ``shadowed``: an MBR of the drive's own is shown in place of the first blocks.
    ``sid_blocked``: the owner's PIN is not accepted until the next power cycle; the PSID is.
    """

    classes: tuple[str, ...] = ()
    locking: bool = False
    enabled: bool = False
    locked: bool = False
    shadowed: bool = False
    sid_blocked: bool = False

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The answer to Security Receive, security protocol 01h, ComID 0001h.

        Raises ValueError where its lengths contradict each other, so that nothing of it can be trusted.
        """
        if len(data) < _HEADER_BYTES:
            raise ValueError(f"a level 0 discovery has {_HEADER_BYTES} bytes at least, not {len(data)}")
        end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
        if end == _LENGTH_BYTES:  # some drives without it answer with zeros
            return cls()
        if not _HEADER_BYTES <= end <= len(data):
            raise ValueError(f"its length is {end} bytes, of which {len(data)} were read")
        features, at = {}, _HEADER_BYTES
        while at < end:
            if at + _DESCRIPTOR.size > end:
                raise ValueError(f"{end - at} bytes are left over behind its last descriptor")
            code, _, length = _DESCRIPTOR.unpack_from(data, at)
            at += _DESCRIPTOR.size
            if at + length > end:
                raise ValueError(f"descriptor {code:04x}h has {length} bytes, and only {end - at} are left")
            features[code] = data[at : at + length]
            at += length
        return cls._of(features)

    @classmethod
    def _of(cls, features: dict[int, bytes]) -> Self:
        flags = {}
        for code, name in ((_LOCKING, "locking"), (_BLOCK_SID, "block SID")):
            if code in features and not features[code]:
                raise ValueError(f"its {name} descriptor is empty")
            flags[code] = features[code][0] if code in features else 0
        locking = flags[_LOCKING]
        return cls(
            classes=tuple(name for code, name in sorted(_CLASSES.items()) if code in features),
            locking=bool(locking & _SUPPORTED),
            enabled=bool(locking & _ENABLED),
            locked=bool(locking & _LOCKED),
            shadowed=bool(locking & _MBR_ENABLED) and not locking & _MBR_DONE,
            sid_blocked=bool(flags[_BLOCK_SID] & _SID_BLOCKED),
        )

    @property
    def keeps_data_away(self) -> bool:
        """Whether something other than the drive's own blocks is read now, or nothing at all."""
        return self.locked or self.shadowed

    def __str__(self) -> str:
        """``TCG Opal 2: locked, a shadow MBR hides the first blocks``."""
        name = f"TCG {', '.join(self.classes)}" if self.classes else "TCG of no known class"
        if not (self.classes or self.locking):
            return "no TCG"
        state = "locked" if self.locked else "locking enabled, unlocked" if self.enabled else "not locking"
        words = [state]
        if self.shadowed:
            words.append("a shadow MBR hides the first blocks")
        if self.sid_blocked:
            words.append("SID blocked until power-on")
        return f"{name}: {', '.join(words)}"
