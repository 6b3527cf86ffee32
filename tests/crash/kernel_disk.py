"""A SCSI disk of this machine's kernel whose commands are answered by a thread of this process.

The kernel's target_core_user puts each command into a ring that both share (linux/target_core_user.h), and
tcm_loop shows the disk to its SCSI layer: programs and drivers above it are those of any other disk.
"""

import mmap
import os
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CONFIG: Final = Path("/sys/kernel/config/target")
_STORE: Final = _CONFIG / "core/user_0/crash"
_PORT: Final = _CONFIG / "loopback/naa.5000000000000017/tpgt_1"
_NEXUS: Final = "naa.5000000000000018"
_SECTOR_BYTES: Final = 512
_TIMEOUT_S: Final = 60

_RING_AT, _HEAD_AT, _TAIL_AT = 4, 12, 64  # in the mailbox
_RING: Final = struct.Struct("<II")
_NUMBER: Final = struct.Struct("<I")
_ENTRY: Final = struct.Struct("<I4xI12xQ")  # length and operation, pieces of data, place of the CDB
_PIECES_AT: Final = 48
_PIECE: Final = struct.Struct("<QQ")
_ANSWER: Final = struct.Struct("<B7x96s")
_ANSWER_AT: Final = 8
_UNKNOWN_AT, _UNKNOWN = 7, 1
_OPERATION: Final = 7
_PAD, _COMMAND = 0, 1
_LONGEST_CDB: Final = 16
_GOOD, _CHECK_CONDITION = 0x00, 0x02


@dataclass(frozen=True)
class Reply:
    """Data for the initiator; with sense data the command ends with CHECK CONDITION."""

    data: bytes = b""
    sense: bytes = b""


Answerer = Callable[[bytes, Callable[[], bytes]], Reply]
"""Gets a CDB and what fetches the data that came with it."""


def add_disk(size_bytes: int, answer: Answerer) -> Path:
    """Its node, once the kernel has it. It stays as long as the machine runs."""
    before = _disks()
    subprocess.run(["modprobe", "-a", "target_core_user", "tcm_loop"], check=True)
    _STORE.mkdir(parents=True)
    options = f"dev_size={size_bytes},dev_config=crash/drive,hw_block_size={_SECTOR_BYTES}"
    (_STORE / "control").write_text(f"{options},nl_reply_supported=-1")
    (_STORE / "enable").write_text("1")
    (device,) = (
        name.parent
        for name in Path("/sys/class/uio").glob("*/name")
        if name.read_text().startswith("tcm-user/0/crash/")
    )
    ring = os.open(f"/dev/{device.name}", os.O_RDWR)
    size = int((device / "maps/map0/size").read_text(), 16)
    threading.Thread(target=_serve, args=(ring, mmap.mmap(ring, size), answer), daemon=True).start()
    (_PORT / "lun/lun_0").mkdir(parents=True)
    (_PORT / "nexus").write_text(_NEXUS)
    (_PORT / "lun/lun_0/crash").symlink_to(_STORE)
    until_s = time.monotonic() + _TIMEOUT_S
    while not (added := _disks() - before) or not (node := Path("/dev") / next(iter(added))).exists():
        assert time.monotonic() < until_s, "the kernel does not show the disk"
        time.sleep(0.1)
    return node


def _disks() -> set[str]:
    return {path.name for path in Path("/sys/block").glob("sd*")}


def _serve(ring: int, shared: mmap.mmap, answer: Answerer) -> None:
    """Answer whatever comes, one command after the other, for ever."""
    begin, size = _RING.unpack_from(shared, _RING_AT)
    while True:
        os.read(ring, 4)
        (tail,) = _NUMBER.unpack_from(shared, _TAIL_AT)
        while tail != _NUMBER.unpack_from(shared, _HEAD_AT)[0]:
            tail = (tail + _answer_one(shared, begin + tail, answer)) % size
            _NUMBER.pack_into(shared, _TAIL_AT, tail)
            os.write(ring, b"\0\0\0\0")


def _answer_one(shared: mmap.mmap, at: int, answer: Answerer) -> int:
    """The length of the entry."""
    length, count, cdb_at = _ENTRY.unpack_from(shared, at)
    operation, length = length & _OPERATION, length & ~_OPERATION
    if operation == _COMMAND:
        pieces = [_PIECE.unpack_from(shared, at + _PIECES_AT + n * _PIECE.size) for n in range(count)]
        reply = answer(shared[cdb_at : cdb_at + _LONGEST_CDB], lambda: _gathered(shared, pieces))
        _scatter(shared, pieces, reply.data)
        _ANSWER.pack_into(shared, at + _ANSWER_AT, _CHECK_CONDITION if reply.sense else _GOOD, reply.sense)
    elif operation != _PAD:
        shared[at + _UNKNOWN_AT] |= _UNKNOWN
    return length


def _gathered(shared: mmap.mmap, pieces: Iterable[tuple[int, int]]) -> bytes:
    return b"".join(shared[at : at + length] for at, length in pieces)


def _scatter(shared: mmap.mmap, pieces: Iterable[tuple[int, int]], data: bytes) -> None:
    for at, length in pieces:
        part, data = data[:length], data[length:]
        shared[at : at + len(part)] = part
