"""What openpts does to a drive to see how it behaves: each act measures, and sets back what it has set."""

import struct
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Final

from openpts_nvme.drivers.dssd import contents, resets
from openpts_nvme.drivers.dssd.ask import ALL, READ_BYTES, AdminCommand, Asker, different, measured, reads
from openpts_nvme.drivers.dssd.orders import carry_out
from openpts_nvme.dssd.answers import Answers, CommandResult

_SELF_TEST: Final = 0x14


def beside_reads(asker: Asker, answers: Answers) -> None:
    """Reads of 4 KiB alone, then beside the reading of each log that must not hold them up."""
    door = asker.door.beside()
    span = max(min(door.capacity_bytes, 1 << 30) // READ_BYTES, 1)
    alone = reads(door, span, lambda: time.sleep(1.0))
    base, worst = median(alone), max(alone)
    slowest = worst
    for name, number in (("health", 0xC0), ("latency", 0xC3), ("telemetry", 0x07)):
        beside = reads(door, span, partial(_read_often, asker, number))
        if len(beside) < 2:
            continue
        measured(answers, f"reads_beside_{name}_log_later_ms", max(median(beside) - base, 0) * 1e3)
        measured(answers, f"reads_beside_{name}_log_most_later_ms", max(max(beside) - worst, 0) * 1e3)
        slowest = max(slowest, *beside)
    measured(answers, "slowest_io_s", slowest)


def _read_often(asker: Asker, number: int) -> None:
    for _ in range(8):
        asker.log(number)


def power(asker: Asker, answers: Answers) -> None:
    """The drive's own power, idle and under its mean, by its health log."""
    time.sleep(1.0)
    idle, state = asker.log(0x02), asker.feature(0x02, 0)
    controller = answers.get("I01", CommandResult(why="not asked"))
    if idle.words or controller.words or state.words:
        return
    word = int.from_bytes(idle.data[240:244], "little")
    scale = {1: 0.0001, 2: 0.01}.get(word >> 16 & 3)
    if scale is None or not word & 0xFFFF:
        return
    measured(answers, "idle_power_w", (word & 0xFFFF) * scale)
    most, _, flags = struct.unpack_from("<HBB", controller.data, 2048 + 32 * (state.data[0] & 31))
    measured(
        answers,
        "power_share_of_state_maximum",
        (word & 0xFFFF) * scale / (most * (0.0001 if flags & 1 else 0.01)),
    )


def self_test(asker: Asker, answers: Answers) -> None:
    """A short self-test: its time, and whether a block is as before."""
    before = asker.door.read(0, READ_BYTES)
    begin = time.monotonic()
    if asker.send(AdminCommand(_SELF_TEST, (1,), ALL)).status:
        return
    while time.monotonic() - begin < 180:
        log = asker.log(0x06)
        if log.words or not log.data[0] & 15:
            break
        time.sleep(0.2)
    measured(answers, "short_self_test_s", time.monotonic() - begin)
    measured(answers, "bytes_changed_by_self_test", different(before, asker.door.read(0, READ_BYTES)))


RUN: Final[dict[str, Callable[[Asker, Answers], None]]] = {
    "questions": partial(carry_out, "questions"),
    "reads beside logs": beside_reads,
    "power": power,
    "settings": partial(carry_out, "settings"),
    "reset": resets.reset,
    "shutdowns": resets.shutdowns,
    "self-test": self_test,
    "deallocation": contents.deallocation,
    "deallocated space": contents.space,
    "formats": contents.formats,
    "sanitize": contents.sanitizes,
}
"""The acts of ``openpts_nvme.dssd.plan`` by their names: each fills in what it has measured."""
