"""What openpts does to a drive to see how it behaves: each act measures, and sets back what it has set."""

import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Final

from msgspec import Struct

from openpts_nvme.ocp.answers import Answer, Answers
from openpts_nvme.ocp.ask import ALL, GET_FEATURES, GET_LOG_PAGE, Asker
from openpts_nvme.ocp.door import Door, Order

ABORT, SET_FEATURES, SELF_TEST, FORMAT, SANITIZE = 0x08, 0x09, 0x14, 0x80, 0x84
_READ_BYTES: Final = 4096
_FILL_BYTES: Final = 128 << 10
_MONITOR_BYTES: Final = 4096
_TEST_THRESHOLDS: Final = (3, 9, 27, 81)
_EVENT_BYTES: Final = 4096
_IN_PROGRESS: Final = 2
_BLOCK_ERASE, _CRYPTO_ERASE = 2, 4
_TB: Final = 10**12
_MW: Final = 0.001


class Act(Struct, frozen=True):
    """``run`` fills in what was measured. ``writes``: contents are lost, or settings are changed.

    ``seconds`` is what it takes of a drive with so many TB, at the limits of the specification.
    """

    name: str
    run: Callable[[Asker, Answers], None]
    writes: bool = True
    seconds: float = 1.0
    seconds_per_tb: float = 0.0


def measured(answers: Answers, name: str, value: float) -> None:
    """A figure that checks know as ``M.name``."""
    answers[f"M.{name}"] = Answer(repr(float(value)).encode())


def probed(asker: Asker, answers: Answers, name: str, order: Order) -> int:
    """A command whose status checks know as ``P.name``."""
    reply = asker.send(order, name)
    answers[f"P.{name}"] = Answer(status=reply.status) if reply.status else Answer(reply.data)
    return reply.status


def questions(asker: Asker, answers: Answers) -> None:
    """Commands that a drive must refuse, or take as others; nothing changes."""
    probed(asker, answers, "abort_with_a_namespace", Order(ABORT, (0xFFFF0000,), 1))
    log = (0xC0 | 127 << 16, 0, 0, 0)
    probed(asker, answers, "log_C0h_by_index", Order(GET_LOG_PAGE, (*log, asker.uuid_index), ALL, reads=512))
    probed(asker, answers, "log_C0h_by_number", Order(GET_LOG_PAGE, (*log, 0), ALL, reads=512))
    feature = (0xC2, 0, 0, 0)
    probed(asker, answers, "feature_C2h_by_index", Order(GET_FEATURES, (*feature, asker.uuid_index)))
    probed(asker, answers, "feature_C2h_by_number", Order(GET_FEATURES, (*feature, 0)))
    probed(asker, answers, "reserved_bits", Order(GET_FEATURES, (0x02, 0, 0, 0, 0, 0xFFFFFFFF)))


def set_feature(asker: Asker, number: int, value: int, data: bytes = b"", *, save: bool = False) -> int:
    """Set a feature by the specification's UUID index; its status."""
    words = (number | save << 31, value, 0, 0, asker.uuid_index)
    return asker.send(Order(SET_FEATURES, words, data=data), f"feature {number:02X}h").status


def _value(asker: Asker, number: int) -> int | None:
    answer = asker.feature(number, 0)
    return None if answer.words else int.from_bytes(answer.data[:4], "little")


@contextmanager
def _restored(asker: Asker, number: int, shift: int = 0) -> Iterator[int | None]:
    """A feature's value of now, which is set again in the end."""
    now = _value(asker, number)
    try:
        yield now
    finally:
        if now is not None:
            set_feature(asker, number, now << shift)


def settings(asker: Asker, answers: Answers) -> None:
    """Features that are set, read back, and set back: each shows how far it follows."""

    def followed(name: str, number: int, wanted: int, mask: int, shift: int = 0) -> None:
        status = set_feature(asker, number, wanted << shift)
        answers[f"P.{name}"] = Answer(status=status)
        seen = _value(asker, number)
        measured(answers, name, -1 if seen is None else seen & mask)

    with _restored(asker, 0xC2, 30):
        for mode in (1, 2, 3):
            followed(f"mode_{mode}", 0xC2, mode, 7, 30)
    with _restored(asker, 0xC6, 16):
        followed("protection_checks_every_30_min", 0xC6, 30, 0xFFFF, 16)
    with _restored(asker, 0xC8):
        followed("telemetry_profile_1", 0xC8, 1, 0xFF)
    with _restored(asker, 0xC9):
        followed("event_switches_2", 0xC9, 2, 3)
        followed("event_switches_1", 0xC9, 1, 3)
    answers["P.save_events"] = Answer(status=set_feature(asker, 0xC9, 1, save=True))
    _power_states(asker, answers)
    _monitor(asker, answers)
    _injections(asker, answers)
    answers["P.clear_link_errors"] = Answer(status=set_feature(asker, 0xC3, 1 << 31))
    log = asker.log(0xC0)
    if not log.words:
        measured(answers, "link_errors_after_clearing", int.from_bytes(log.data[104:112], "little"))


def _power_states(asker: Asker, answers: Answers) -> None:
    log = answers.get("LC4", Answer(why="not asked"))
    if log.words:
        return
    least = int.from_bytes(log.data[14:16], "little")
    states = answers.get("I01", Answer(bytes(4096)))
    with _restored(asker, 0xC7), _restored(asker, 0x02):
        for watts in (least, least + 1):
            answers[f"P.watts_{watts - least}_above_the_lowest"] = Answer(
                status=set_feature(asker, 0xC7, watts)
            )
            seen = _value(asker, 0xC7)
            measured(answers, f"watts_off_{watts - least}", abs(watts - (seen or 0) % 128))
            state, wanted = _value(asker, 0x02), log.data[16 + min(watts, 127)] & 31
            measured(answers, f"state_off_{watts - least}", abs((state or 0) % 32 - wanted))
        if least > 1 and not states.words:
            answers["P.watts_below_the_lowest"] = Answer(status=set_feature(asker, 0xC7, least - 1))


def _monitor(asker: Asker, answers: Answers) -> None:
    """The latency monitor with thresholds of ours, then with those that it had."""
    before = asker.log(0xC3)
    if before.words:
        return
    old = before.data
    kept = old[4:13] + old[448:450] + bytes((2, old[0] & 1))
    data = struct.pack("<H4BHBHBB", 0x7E0, *_TEST_THRESHOLDS, 0x0FFF, 10, 0, 0, 1).ljust(
        _MONITOR_BYTES, b"\0"
    )
    try:
        answers["P.configure_latency_monitor"] = Answer(status=set_feature(asker, 0xC5, 0, data, save=True))
        log = asker.log(0xC3)
        if not log.words:
            page = log.data
            for name, at, size, wanted in (
                ("timer", 4, 2, 0x7E0),
                ("A", 6, 1, 3),
                ("B", 7, 1, 9),
                ("C", 8, 1, 27),
                ("D", 9, 1, 81),
                ("configuration", 10, 2, 0xFFF),
                ("window", 12, 1, 10),
                ("triggers", 448, 2, 0),
            ):
                off = abs(int.from_bytes(page[at : at + size], "little") - wanted)
                measured(answers, f"monitor_{name}_off", off)
            measured(answers, "monitor_enabled", page[0] & 1)
            left = sum(sum(struct.unpack_from("<3I", page, at + 4)) for at in range(32, 96, 16))
            measured(answers, "counts_after_configuring", left)
            left = sum(sum(struct.unpack_from("<3I", page, at + 4)) for at in range(240, 304, 16))
            measured(answers, "static_counts_after_configuring", left)
        bad = bytearray(data)
        bad[2:6] = bytes(reversed(_TEST_THRESHOLDS))
        answers["P.thresholds_that_fall"] = Answer(status=set_feature(asker, 0xC5, 0, bytes(bad), save=True))
        disabled = bytearray(data)
        disabled[12] = 0
        set_feature(asker, 0xC5, 0, bytes(disabled), save=True)
        log = asker.log(0xC3)
        if not log.words:
            measured(answers, "monitor_enabled_after_disabling", log.data[0] & 1)
    finally:
        set_feature(
            asker,
            0xC5,
            0,
            (kept[:9] + kept[9:11] + b"\0" + kept[12:13]).ljust(_MONITOR_BYTES, b"\0"),
            save=True,
        )


def _injections(asker: Asker, answers: Answers) -> None:
    """Injected events that a drive must refuse; then none is left."""

    def inject(name: str, event: int, flags: int = 3, number: int = 1) -> None:
        entry = struct.pack("<BBHBBH", flags, 0, event, 3, 0, event).ljust(_EVENT_BYTES, b"\0")
        answers[f"P.{name}"] = Answer(status=set_feature(asker, 0xC0, number, entry))

    inject("event_0000h", 0x0000)
    inject("event_0023h", 0x0023)
    inject("event_not_enabled", 0x000E, flags=0)
    inject("two_events", 0x000E, number=2)
    inject("no_event", 0, flags=0, number=0)
    entry = struct.pack("<BBH", 3, 0, 0x000E).ljust(_EVENT_BYTES, b"\0")
    answers["P.save_event"] = Answer(status=set_feature(asker, 0xC0, 1, entry, save=True))


def beside_reads(asker: Asker, answers: Answers) -> None:
    """Reads of 4 KiB alone, then beside the reading of each log that must not hold them up."""
    door = asker.door.beside()
    span = max(min(door.capacity_bytes, 1 << 30) // _READ_BYTES, 1)
    alone, _ = _reads(door, span, lambda: time.sleep(1.0))
    base, worst = median(alone), max(alone)
    slowest = worst
    for name, number in (("health", 0xC0), ("latency", 0xC3), ("telemetry", 0x07)):
        beside, took = _reads(door, span, partial(_read_often, asker, number))
        if len(beside) < 2:
            continue
        measured(answers, f"reads_beside_{name}_log_later_ms", max(median(beside) - base, 0) * 1e3)
        measured(answers, f"reads_beside_{name}_log_most_later_ms", max(max(beside) - worst, 0) * 1e3)
        measured(answers, f"{name}_log_read_s", took)
        slowest = max(slowest, *beside)
    measured(answers, "slowest_io_s", slowest)


def _read_often(asker: Asker, number: int) -> None:
    for _ in range(8):
        asker.log(number)


def _reads(door: Door, span: int, work: Callable[[], object]) -> tuple[list[float], float]:
    """Times of reads, in s, while work is done in another thread, and how long that took."""
    done = threading.Event()
    took = [0.0]

    def working() -> None:
        begin = time.monotonic()
        work()
        took[0] = time.monotonic() - begin
        done.set()

    thread = threading.Thread(target=working)
    times: list[float] = []
    thread.start()
    place = 1
    while not done.is_set():
        place = place * 1_103_515_245 + 12_345 & 0x7FFFFFFF
        begin = time.monotonic()
        door.read(place % span * _READ_BYTES, _READ_BYTES)
        times.append(time.monotonic() - begin)
    thread.join()
    return times, took[0]


def power(asker: Asker, answers: Answers) -> None:
    """The drive's own power, idle and under its mean, by its health log."""
    time.sleep(1.0)
    idle, state = asker.log(0x02), _value(asker, 0x02)
    controller = answers.get("I01", Answer(why="not asked"))
    if idle.words or controller.words or state is None:
        return
    word = int.from_bytes(idle.data[240:244], "little")
    scale = {1: 0.0001, 2: 0.01}.get(word >> 16 & 3)
    if scale is None or not word & 0xFFFF:
        return
    measured(answers, "idle_power_w", (word & 0xFFFF) * scale)
    most, _, flags = struct.unpack_from("<HBB", controller.data, 2048 + 32 * (state & 31))
    measured(
        answers,
        "power_share_of_state_maximum",
        (word & 0xFFFF) * scale / (most * (0.0001 if flags & 1 else 0.01)),
    )


def reset(asker: Asker, answers: Answers) -> None:
    """A controller reset, and how soon the drive answers again."""
    stamp = asker.feature(0x0E, 0)
    begin = time.monotonic()
    asker.door.reset()
    status = asker.send(Order(0x06, (1,), reads=4096), "Identify after reset").status
    measured(answers, "reset_to_identify_s", time.monotonic() - begin)
    answers["P.controller_reset"] = Answer(status=status)
    asker.door.read(0, _READ_BYTES)
    measured(answers, "reset_to_io_s", time.monotonic() - begin)
    after = asker.feature(0x0E, 0)
    if not stamp.words and not after.words and stamp.data[6] >> 1 & 7 == 1:
        measured(answers, "timestamp_origin_after_reset", after.data[6] >> 1 & 7)


def self_test(asker: Asker, answers: Answers) -> None:
    """A short self-test: its time, and whether a block is as before."""
    before = asker.door.read(0, _READ_BYTES)
    begin = time.monotonic()
    if asker.send(Order(SELF_TEST, (1,), ALL), "self-test").status:
        return
    while time.monotonic() - begin < 180:
        log = asker.log(0x06)
        if log.words or not log.data[0] & 15:
            break
        time.sleep(0.2)
    measured(answers, "short_self_test_s", time.monotonic() - begin)
    measured(answers, "bytes_changed_by_self_test", _different(before, asker.door.read(0, _READ_BYTES)))


def _different(one: bytes, two: bytes) -> int:
    return sum(a != b for a, b in zip(one, two, strict=True))


def deallocation(asker: Asker, answers: Answers) -> None:
    """Trims and Write Zeroes: what is read afterwards, and reads elsewhere beside trims."""
    door = asker.door
    span = min(door.capacity_bytes // 4, 256 << 20) // _FILL_BYTES * _FILL_BYTES
    block = bytes(range(1, 256)) * (_FILL_BYTES // 255 + 1)
    for at in range(0, span, _FILL_BYTES):
        door.write(at, block[:_FILL_BYTES])
    other = door.beside()
    places = span // 2 // _READ_BYTES
    alone, _ = _reads(other, places, lambda: time.sleep(1.0))

    def trims() -> None:
        end = time.monotonic() + 1.0
        at = span // 2
        while time.monotonic() < end:
            door.trim(at, _FILL_BYTES)
            at = span // 2 + (at + _FILL_BYTES - span // 2) % (span // 2 // _FILL_BYTES * _FILL_BYTES)
            time.sleep(0.005)

    beside, _ = _reads(other, places, trims)
    measured(answers, "reads_beside_trims_slower_pct", max(median(beside) / median(alone) - 1, 0) * 100)
    idle, _ = _reads(other, places, lambda: time.sleep(1.0))
    measured(answers, "reads_after_trims_slower_pct", max(median(idle) / median(alone) - 1, 0) * 100)
    door.trim(span // 2, span // 2 // _FILL_BYTES * _FILL_BYTES)
    left = sum(any(door.read(at, _FILL_BYTES)) for at in range(span // 2, span, _FILL_BYTES * 16))
    measured(answers, "blocks_left_by_trim", left)
    door.write_zeroes(0, _FILL_BYTES)
    measured(answers, "blocks_left_by_write_zeroes", any(door.read(0, _FILL_BYTES)))


def formats(asker: Asker, answers: Answers) -> None:
    """Formats with and without erase: their times, what is left, what the logs keep."""
    door = asker.door
    used = answers.get("I00", Answer(bytes(4096))).data[26] & 15
    per_tb = max(door.capacity_bytes / _TB, 1)
    health = asker.log(0x02)
    for name, erase in (("format", 0), ("user_data_format", 1), ("crypto_format", 2)):
        door.write(0, b"\xa5" * _FILL_BYTES)
        order = Order(FORMAT, (used | erase << 9,), door.namespace, limit_s=3600)
        begin = time.monotonic()
        if asker.door.admin(order).status:
            continue
        took = time.monotonic() - begin
        # below 1 TB the limit of 1 TB holds
        measured(answers, f"{name}_s", took)
        measured(answers, f"{name}_s_per_tb", took / per_tb)
        if erase:
            measured(answers, f"blocks_left_by_{name}", any(door.read(0, _FILL_BYTES)))
    after = asker.log(0x02)
    if not health.words and not after.words:
        fell = sum(
            int.from_bytes(after.data[at : at + 16], "little")
            < int.from_bytes(health.data[at : at + 16], "little")
            for at in range(32, 192, 16)
        )
        measured(answers, "health_counters_lost_by_formats", fell)


def sanitizes(asker: Asker, answers: Answers) -> None:
    """Block and crypto erase: their times, the logs beside them, what is left."""
    door = asker.door
    per_tb = max(door.capacity_bytes / _TB, 1)
    for name, action in (("block_erase", _BLOCK_ERASE), ("crypto_erase", _CRYPTO_ERASE)):
        door.write(0, b"\x5a" * _FILL_BYTES)
        begin = time.monotonic()
        if asker.send(Order(SANITIZE, (action,)), name).status:
            continue
        for number in (0x03, 0xC0, 0xC1, 0xC4, 0xC5, 0xC6, 0xC7):
            log = asker.log(number)
            answers[f"P.log_{number:02X}h_during_{name}"] = Answer(status=log.status)
        while time.monotonic() - begin < 3600:
            log = asker.log(0x81)
            if log.words or int.from_bytes(log.data[2:4], "little") & 7 != _IN_PROGRESS:
                break
            time.sleep(0.01)
        took = time.monotonic() - begin
        measured(answers, f"{name}_s", took)
        measured(answers, f"{name}_s_per_tb", took / per_tb)
        measured(answers, f"blocks_left_by_{name}", any(door.read(0, _FILL_BYTES)))


ACTS: Final = (
    Act("questions", questions, writes=False),
    Act("reads beside logs", beside_reads, writes=False, seconds=60),
    Act("power", power, writes=False, seconds=5),
    Act("settings", settings, seconds=10),
    Act("reset", reset, seconds=20),
    Act("self-test", self_test, seconds=120),
    Act("deallocation", deallocation, seconds=60),
    Act("formats", formats, seconds=30, seconds_per_tb=10),
    Act("sanitize", sanitizes, seconds=30, seconds_per_tb=20),
)
"""All acts in their order, the destructive ones last."""
