"""Acts that stop a controller: resets, shutdowns, and firmware that is downloaded and runs."""

import time
from typing import Final

from openpts_nvme.drivers.dssd.ask import (
    FILL_BYTES,
    IDENTIFY,
    READ_BYTES,
    AdminCommand,
    Asker,
    different,
    measured,
    number_at,
    probed,
)
from openpts_nvme.dssd.answers import Answers, CommandResult

_CONFIGURATION, _STATUS = 0x14, 0x1C
_SHUT_DOWN: Final = 2
_MOST_SHUTDOWN_S: Final = 12.0
_COMMIT, _DOWNLOAD = 0x10, 0x11
_AT_RESET, _AT_ONCE = 2, 3
_NEEDS_RESET: Final = {0x10B, 0x110, 0x111}
_KEPT_FEATURES: Final = (0x01, 0x02, 0x04, 0x0B, 0xC2, 0xC6, 0xC7, 0xC8, 0xC9)
_CONTROLLER: Final = AdminCommand(IDENTIFY, (1,), reads=4096)


def reset(asker: Asker, answers: Answers) -> None:
    """A controller reset, and how soon the drive answers again."""
    stamp = asker.feature(0x0E, 0)
    _reset(asker, answers, "controller_reset", "reset")
    after = asker.feature(0x0E, 0)
    if not stamp.words and not after.words and stamp.data[6] >> 1 & 7 == 1:
        measured(answers, "timestamp_origin_after_reset", after.data[6] >> 1 & 7)


def _reset(asker: Asker, answers: Answers, probe: str, name: str) -> None:
    begin = time.monotonic()
    asker.door.reset()
    probed(asker, answers, probe, _CONTROLLER)
    measured(answers, f"{name}_to_identify_s", time.monotonic() - begin)
    asker.door.read(0, READ_BYTES)
    measured(answers, f"{name}_to_io_s", time.monotonic() - begin)


def shutdowns(asker: Asker, answers: Answers) -> None:
    """A normal and an abrupt shutdown without loss of power: their times, contents, counters."""
    door = asker.door
    for name, kind in (("normal_shutdown", 1), ("abrupt_shutdown", 2)):
        door.write(0, name[:1].encode() * READ_BYTES)
        before, health, extended = door.read(0, READ_BYTES), asker.log(0x02), asker.log(0xC0)
        seconds = _shut_down(asker, kind)
        if seconds is None:
            return
        measured(answers, f"{name}_s", seconds)
        _reset(asker, answers, name, name)
        measured(answers, f"bytes_changed_by_{name}", different(before, door.read(0, READ_BYTES)))
        for counter, log, at, size in (
            ("power_cycles", health, 112, 16),
            ("unsafe_shutdowns", health, 144, 16),
            ("incomplete_shutdowns", extended, 112, 4),
        ):
            after = asker.log(0x02 if log is health else 0xC0)
            if not log.words and not after.words:
                counted = number_at(after, at, size) - number_at(log, at, size)
                measured(answers, f"{counter}_by_{name}", counted)


def _shut_down(asker: Asker, kind: int) -> float | None:
    """Seconds until it is done, or given up; None where the registers can't be written."""
    door = asker.door
    configuration = door.register(_CONFIGURATION, 4)
    begin = time.monotonic()
    if configuration is None or not door.write_register(_CONFIGURATION, configuration | kind << 14):
        return None
    while (seconds := time.monotonic() - begin) < _MOST_SHUTDOWN_S:
        status = door.register(_STATUS, 4)
        if status is not None and status >> 2 & 3 == _SHUT_DOWN:
            return seconds
        time.sleep(0.001)
    return _MOST_SHUTDOWN_S


def firmware(asker: Asker, answers: Answers, image: bytes) -> None:
    """An image in a slot that does not run: refused if damaged, stored, activated; then back to what ran."""
    door, slots, controller = asker.door, asker.log(0x03), asker.send(_CONTROLLER)
    if slots.words or controller.status:
        return
    frmw, ran = controller.data[260], slots.data[0] & 7
    other = next((slot for slot in range(1 + (frmw & 1), (frmw >> 1 & 7) + 1) if slot != ran), 0)
    if not other:
        return
    damaged = bytearray(image)
    damaged[len(image) // 2] ^= 0xFF
    _commit(asker, answers, "damaged_image", other, bytes(damaged))
    measured(answers, "slots_changed_by_damaged_image", different(slots.data, asker.log(0x03).data))
    probed(asker, answers, "identify_after_damaged_image", _CONTROLLER)
    for name, slot in (("commit_to_slot_0", 0), ("commit_to_slot", other)):
        status = _commit(asker, answers, name, slot, image)
        if not slot:
            now, place = asker.log(0x03), slice(8 * ran, 8 * ran + 8)
            is_same = number_at(now, 0, 1) & 7 == ran and now.data[place] == slots.data[place]
            measured(answers, "running_slot_changed_by_slot_0", not is_same)
    if status:
        return
    block = b"\x3c" * READ_BYTES
    door.write(0, block)
    for slot, action in ((other, _AT_ONCE if frmw & 1 << 4 else _AT_RESET), (ran, _AT_RESET)):
        before, begin = _features(asker), time.monotonic()
        name = "activation_without_reset" if action == _AT_ONCE else "activation_at_reset"
        status = _commit(asker, answers, name, slot | action << 3)
        took = time.monotonic() - begin
        if status and status not in _NEEDS_RESET:
            return
        if status or action == _AT_RESET:
            _reset(asker, answers, "identify_after_activation", "activation")
            took = time.monotonic() - begin
        probed(asker, answers, "identify_after_activation", _CONTROLLER)
        measured(answers, f"{name}_s", took)
        measured(answers, "bytes_changed_by_activation", different(block, door.read(0, READ_BYTES)))
        if action == _AT_ONCE and not status:
            changed = sum(map(CommandResult.__ne__, before, _features(asker)))
            measured(answers, "features_changed_by_activation", changed)
        measured(answers, f"{'earlier' if slot == ran else 'new'}_firmware_runs", _runs(asker, slot))


def _commit(asker: Asker, answers: Answers, name: str, action_word: int, image: bytes = b"") -> int:
    """Download an image if there is one, and commit: ``word`` has slot and action; the status."""
    for at in range(0, len(image), FILL_BYTES):
        part = image[at : at + FILL_BYTES]
        part += bytes(-len(part) % 4)
        status = asker.send(AdminCommand(_DOWNLOAD, (len(part) // 4 - 1, at // 4), data=part)).status
        if status:
            answers[f"P.{name}"] = CommandResult(status=status)
            return status
    return probed(asker, answers, name, AdminCommand(_COMMIT, (action_word,), limit_s=120))


def _features(asker: Asker) -> list[CommandResult]:
    return [asker.feature(number, 0) for number in _KEPT_FEATURES]


def _runs(asker: Asker, slot: int) -> bool:
    """Whether the slot's firmware runs, by the log of slots and by Identify."""
    slots, controller = asker.log(0x03), asker.send(_CONTROLLER)
    if slots.words or controller.status:
        return False
    revision = slots.data[8 * slot : 8 * slot + 8]
    return slots.data[0] & 7 == slot and controller.data[64:72] == revision
