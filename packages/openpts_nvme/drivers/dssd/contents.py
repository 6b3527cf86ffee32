"""Acts on contents: blocks are deallocated, formatted and sanitized, and what is left is examined."""

import math
import time
from random import Random
from statistics import median
from typing import Final

from openpts.units import GIB
from openpts_fio.trim_targets import TRIMS
from openpts_nvme.drivers.dssd.ask import (
    FILL_BYTES,
    IDENTIFY,
    READ_BYTES,
    AdminCommand,
    Asker,
    Door,
    measured,
    number_at,
    reads,
)
from openpts_nvme.dssd.answers import Answers, CommandResult

_FORMAT, _SANITIZE = 0x80, 0x84
_BLOCK: Final = (bytes(range(1, 256)) * (FILL_BYTES // 255 + 1))[:FILL_BYTES]
_IN_PROGRESS: Final = 2
_BLOCK_ERASE, _CRYPTO_ERASE = 2, 4
_TB: Final = 10**12
_HOST_UNIT_BYTES: Final = 512_000
_REST_S, _MOST_REST_S = 1.0, 10.0
_MOST_TRIMS: Final = 1000


def _used_bytes(asker: Asker) -> int:
    """Bytes of the namespace in use, by its NUSE, when that has not changed for a second."""
    command = AdminCommand(IDENTIFY, (0,), asker.door.namespace, reads=4096)
    end = time.monotonic() + _MOST_REST_S
    used, since = -1, time.monotonic()
    while time.monotonic() < min(since + _REST_S, end):
        now = int.from_bytes(asker.send(command).data[16:24], "little")
        if now != used:
            used, since = now, time.monotonic()
        time.sleep(0.05)
    return used * asker.door.sector_bytes


def deallocation(asker: Asker, answers: Answers) -> None:
    """Trims and Write Zeroes: what is read afterwards, blocks in use, and reads elsewhere beside trims."""
    door = asker.door
    span = min(door.capacity_bytes // 4, 256 << 20) // FILL_BYTES * FILL_BYTES
    door.trim(0, span)
    before = _used_bytes(asker)
    for at in range(0, span, FILL_BYTES):
        door.write(at, _BLOCK)
    filled = _used_bytes(asker)
    measured(answers, "used_blocks_off_after_writes_pct", abs(filled - before - span) / span * 100)
    other = door.beside()
    places = span // 2 // READ_BYTES
    alone = reads(other, places, lambda: time.sleep(1.0))

    def trims() -> None:
        end = time.monotonic() + 1.0
        at = span // 2
        while time.monotonic() < end:
            door.trim(at, FILL_BYTES)
            at = span // 2 + (at + FILL_BYTES - span // 2) % (span // 2 // FILL_BYTES * FILL_BYTES)
            time.sleep(0.005)

    beside = reads(other, places, trims)
    measured(answers, "reads_beside_trims_slower_pct", max(median(beside) / median(alone) - 1, 0) * 100)
    idle = reads(other, places, lambda: time.sleep(1.0))
    measured(answers, "reads_after_trims_slower_pct", max(median(idle) / median(alone) - 1, 0) * 100)
    door.trim(span // 2, span // 2 // FILL_BYTES * FILL_BYTES)
    trimmed = _used_bytes(asker)
    measured(answers, "used_blocks_off_after_trims_pct", abs(trimmed - before - span / 2) / span * 200)
    left = sum(any(door.read(at, FILL_BYTES)) for at in range(span // 2, span, FILL_BYTES * 16))
    measured(answers, "blocks_left_by_trim", left)
    door.write_zeroes(0, FILL_BYTES)
    measured(answers, "blocks_left_by_write_zeroes", any(door.read(0, FILL_BYTES)))


def space(asker: Asker, answers: Answers) -> None:
    """Write amplification of writes at random: with all of the drive in use, then with a quarter of it."""
    door = asker.door
    blocks = door.capacity_bytes // FILL_BYTES
    for at in range(blocks):
        door.write(at * FILL_BYTES, _BLOCK)
    for name, used in (("in_use", blocks), ("deallocated", blocks // 4)):
        if used < blocks:
            _trims(door, answers)
            door.trim(used * FILL_BYTES, (blocks - used) * FILL_BYTES)
        _write_at_random(door, used, blocks // 2)
        before = _written(asker)
        _write_at_random(door, used, blocks // 8)
        after = _written(asker)
        if before is None or after is None or after[1] <= before[1]:
            break
        amplification = (after[0] - before[0]) / (after[1] - before[1])
        measured(answers, f"write_amplification_{name}", amplification)


def _write_at_random(door: Door, blocks: int, writes: int) -> None:
    draw = Random(writes)  # noqa: S311 places, no secret
    for _ in range(writes):
        door.write(draw.randrange(blocks) * FILL_BYTES, _BLOCK)


def _written(asker: Asker) -> tuple[int, int] | None:
    """Bytes written to the media by log C0h, and by the host by log 02h."""
    media, host = asker.log(0xC0), asker.log(0x02)
    if media.words or host.words:
        return None
    return number_at(media, 0, 16), number_at(host, 48, 16) * _HOST_UNIT_BYTES


def _trims(door: Door, answers: Answers) -> None:
    """Rate and P99 of trims of the sizes that have targets, as far as the drive has room."""
    for target in TRIMS:
        places = door.capacity_bytes // target.size_bytes
        times = []
        for place in range(min(places, _MOST_TRIMS)):
            begin = time.monotonic()
            door.trim(place * target.size_bytes, target.size_bytes)
            times.append(time.monotonic() - begin)
        if times:
            name = f"trims_of_{target.size.replace(' ', '_')}"
            measured(answers, f"{name}_gib_per_s", len(times) * target.size_bytes / GIB / sum(times))
            measured(answers, f"{name}_p99_ms", sorted(times)[math.ceil(0.99 * len(times)) - 1] * 1e3)


def formats(asker: Asker, answers: Answers) -> None:
    """Formats with and without erase: their times, what is left, what the logs keep."""
    door = asker.door
    used = answers.get("I00", CommandResult(bytes(4096))).data[26] & 15
    health = asker.log(0x02)
    for name, erase in (("format", 0), ("user_data_format", 1), ("crypto_format", 2)):
        door.write(0, b"\xa5" * FILL_BYTES)
        command = AdminCommand(_FORMAT, (used | erase << 9,), door.namespace, limit_s=3600)
        begin = time.monotonic()
        if asker.door.admin(command).status:
            continue
        _erased(door, answers, name, time.monotonic() - begin)
        if erase:
            measured(answers, f"used_blocks_after_{name}", _used_bytes(asker) / door.sector_bytes)
    after = asker.log(0x02)
    if not health.words and not after.words:
        fell = sum(number_at(after, at, 16) < number_at(health, at, 16) for at in range(32, 192, 16))
        measured(answers, "health_counters_lost_by_formats", fell)


def sanitizes(asker: Asker, answers: Answers) -> None:
    """Block and crypto erase: their times, the logs beside them, what is left."""
    door = asker.door
    for name, action in (("block_erase", _BLOCK_ERASE), ("crypto_erase", _CRYPTO_ERASE)):
        door.write(0, b"\x5a" * FILL_BYTES)
        begin = time.monotonic()
        if asker.send(AdminCommand(_SANITIZE, (action,))).status:
            continue
        for number in (0x03, 0xC0, 0xC1, 0xC4, 0xC5, 0xC6, 0xC7):
            log = asker.log(number)
            answers[f"P.log_{number:02X}h_during_{name}"] = CommandResult(status=log.status)
        while time.monotonic() - begin < 3600:
            log = asker.log(0x81)
            if log.words or int.from_bytes(log.data[2:4], "little") & 7 != _IN_PROGRESS:
                break
            time.sleep(0.01)
        _erased(door, answers, name, time.monotonic() - begin)


def _erased(door: Door, answers: Answers, name: str, took_s: float) -> None:
    measured(answers, f"{name}_s", took_s)
    # below 1 TB the limit of 1 TB holds
    measured(answers, f"{name}_s_per_tb", took_s / max(door.capacity_bytes / _TB, 1))
    measured(answers, f"blocks_left_by_{name}", any(door.read(0, FILL_BYTES)))
