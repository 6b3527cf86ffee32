"""Checks of telemetry's statistics and events, which follow each other in its areas."""

import struct
import tomllib
from collections.abc import Generator, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final

from openpts_nvme.dssd.answers import NOT_ASKED, Answers
from openpts_nvme.dssd.structures import Found, outcome

_VENDOR: Final = 0x8000
_LAST_DEFINED: Final = 0x6F
_HEALTH: Final = range(0x1E, 0x6D)
_NOT_HEALTH: Final = {0x45, 0x46}
_CONTEXTS: Final = {
    0x6D: ("STATI-112", "CTX-NS", 2, 4),
    0x6E: ("STATI-113", "CTX-CTLR", 2, 6),
    0x6F: ("STATI-114", "CTX-QUEUE", 2, 4),
}
_SHARES: Final = {0x02: "STATI-3", 0x03: "STATI-4"}
_BAD_BLOCKS: Final = {0x1B: "STATI-28", 0x1C: "STATI-29", 0x1D: "STATI-30"}
_HINT_1: Final = 1
_FIFOS: Final = 16
_VIRTUAL, _SNAPSHOT, _TIMESTAMPS, _VENDOR_CLASS = 0x0B, 0x0A, 0x01, 0x80
_LAST_CLASS: Final = 0x0D


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("statistics.toml").read_text())


@cache
def sizes() -> dict[int, tuple[str, int]]:
    """Requirement and dwords of each defined statistic of one size, by its identifier."""
    found = {}
    for dwords, numbers in _tables()["dwords"].items():
        for number in numbers:
            found[number - 1 if number < 31 else number - 3] = (f"STATI-{number}", int(dwords))
    return found


def telemetry(answers: Answers) -> Iterator[Found]:
    """Statistics and events of areas 1 and 2 of the host's telemetry."""
    one, two = (answers.get(name, NOT_ASKED) for name in ("A1", "A2"))
    if one.words or len(one.data) < 512:
        return
    words = struct.unpack_from("<4Q", one.data, 96)
    found: set[int] = set()
    taken = []
    for number, (area, start, size) in enumerate(((one.data, *words[:2]), (two.data, *words[2:])), 1):
        buffer = area[4 * start : 4 * (start + size)]
        if size and buffer:
            found |= yield from _statistics(buffer, is_inside=False)
            taken.append((number, start, start + size))
    lacking = [each for each in _HEALTH if each not in found and each not in _NOT_HEALTH]
    text = ", ".join(f"{each:04X}h" for each in lacking[:8])
    yield outcome(
        "TEL-23", not lacking, f"{len(lacking)} are missing {text}".strip(), "all health statistics"
    )
    yield from _fifos(one.data, two.data, taken)


def _statistics(buffer: bytes, *, is_inside: bool) -> Generator[Found, None, set[int]]:  # noqa: C901 each field has its line
    """Descriptors one behind the other, then zeros; returns their identifiers."""
    at = 0
    found: set[int] = set()
    shares: dict[int, int] = {}
    while at + 8 <= len(buffer):
        identifier, info, space, dwords, rest = struct.unpack_from("<HBBHH", buffer, at)
        if not any(buffer[at : at + 8]):
            break
        data = buffer[at + 8 : at + 8 + 4 * dwords]
        name = f"statistic {identifier:04X}h"
        found.add(identifier)
        defined = 0 < identifier <= _LAST_DEFINED or identifier >= _VENDOR
        yield outcome("STATF-1", defined, name, "a defined statistic")
        yield outcome("STATI-1", identifier != 0, name, "not 0000h")
        yield outcome("STATI-31", defined or not identifier, name, "not reserved")
        is_context = identifier in _CONTEXTS
        yield outcome(
            "STATF-2",
            not info & 0x80 and bool(info & 0x40) == is_context,
            f"{name}: {info:02X}h",
            "as its kind",
        )
        hint = info >> 4 & 3
        wanted = _HINT_1 if identifier in _HEALTH and identifier not in _NOT_HEALTH else 0
        yield outcome("TEL-25", hint == wanted, f"{name}: hint {hint}", f"hint {wanted}")
        if not space & 0x80:
            yield outcome("STATF-3", space == 0, f"{name}: namespace {space}", "0")
            yield outcome("STATF-5", rest == 0, f"{name}: namespace {rest}", "0")
        yield outcome("STATF-4", len(data) == 4 * dwords, f"{name}: {dwords} dwords", "inside the area")
        if identifier in sizes():
            requirement, size = sizes()[identifier]
            yield outcome(requirement, dwords == size, f"{name}: {dwords} dwords", f"{size} dwords")
        if identifier in _SHARES and data:
            shares[identifier] = int.from_bytes(data[:4], "little")
        if identifier in _BAD_BLOCKS and data:
            yield outcome(_BAD_BLOCKS[identifier], data[0] <= 100, f"{name}: {data[0]} %", "100 % at most")
        if is_context:
            yield outcome("STAT-CSD-3", not is_inside, name, "not inside another context")
            yield outcome("STAT-CSD-4", space == 0 and rest == 0, f"{name}: {space}, {rest}", "zeros")
            yield from _context(identifier, data)
        at += 8 + 4 * dwords
    if len(shares) == len(_SHARES):
        for identifier, requirement in _SHARES.items():
            yield outcome(requirement, sum(shares.values()) == 100, f"{shares[identifier]} %", "100 % in all")
    if not is_inside:
        yield outcome("SDL-2", not any(buffer[at:]), f"{len(buffer) - at} bytes behind", "zeros")
    return found


def _context(identifier: int, data: bytes) -> Iterator[Found]:
    requirement, prefix, size, reserved_end = _CONTEXTS[identifier]
    told = int.from_bytes(data[:2], "little")
    yield outcome("STAT-CSD-1", told > 0, f"{told} dwords", "above 0")
    yield outcome(f"{prefix}-1", told == size, f"{told} dwords", f"{size} dwords")
    reserved = data[2:reserved_end]
    yield outcome(f"{prefix}-2", not any(reserved), reserved.hex(), "zeros")
    inner = data[4 * size :]
    yield outcome(requirement, len(inner) >= 8, f"{len(inner)} bytes of statistics", "one at least")
    yield from _statistics(inner, is_inside=True)


def _fifos(one: bytes, two: bytes, taken: list[tuple[int, int, int]]) -> Iterator[Found]:
    for number in range(_FIFOS):
        area = one[160 + number]
        start, size = struct.unpack_from("<2Q", one, 176 + 16 * number)
        buffer = {1: one, 2: two}.get(area, b"")
        if not size or area not in {1, 2}:
            continue
        name = f"FIFO {number + 1}"
        yield outcome(
            "EVF-5",
            4 * (start + size) <= len(buffer),
            f"{name} ends at {4 * (start + size):,}",
            f"{len(buffer):,}",
        )
        overlaps = [each for each in taken if each[0] == area and each[1] < start + size and start < each[2]]
        yield outcome(
            "EVF-6", not overlaps, f"{name}: dwords {start} to {start + size}", "apart from the statistics"
        )
        yield from _events(name, buffer[4 * start : 4 * (start + size)])


def _events(name: str, buffer: bytes) -> Iterator[Found]:
    at = 0
    while at + 4 <= len(buffer) and any(buffer[at : at + 4]):
        kind, identifier, dwords = struct.unpack_from("<BHB", buffer, at)
        size = 4 + 4 * dwords
        if kind == _SNAPSHOT and at + 12 <= len(buffer):
            size = 12 + 4 * int.from_bytes(buffer[at + 8 : at + 10], "little")
            yield outcome(
                "EVC-SNP-6", at + size <= len(buffer), f"{name}: {size} bytes at {at}", "inside the FIFO"
            )
        data = buffer[at + 4 : at + size]
        words = f"{name}: class {kind:02X}h, event {identifier:04X}h"
        yield outcome("EVENTD-1", 0 < kind <= _LAST_CLASS or kind >= _VENDOR_CLASS, words, "a defined class")
        yield outcome(
            "EVENTD-3", at + size <= len(buffer), f"{name}: {size} bytes at {at}", "inside the FIFO"
        )
        yield outcome("EVF-3", at + size <= len(buffer), f"{name}: {size} bytes at {at}", "a whole event")
        if str(kind) in _tables()["events"]:
            defined, last, sized, least = _tables()["events"][str(kind)]
            holds = identifier <= last or identifier >= _VENDOR
            yield outcome("EVENTD-2", holds, words, f"0000h to {last:04X}h, or the vendor's")
            yield outcome(defined, holds, words, f"0000h to {last:04X}h, or the vendor's")
            if sized:
                yield outcome(sized, dwords >= least, f"{words}: {dwords} dwords", f"{least} or more")
        yield from _of_class(kind, identifier, dwords, data, words)
        at += size
    rest = buffer[at:]
    yield outcome("EVF-2", not any(rest), f"{name}: events end at {at}", "no event behind a gap")
    yield outcome("EVF-4", not any(rest), f"{name}: {len(rest)} bytes behind", "zeros")


def _of_class(kind: int, identifier: int, dwords: int, data: bytes, words: str) -> Iterator[Found]:
    """What single classes ask for."""
    if kind == 0x02 and identifier == 0x07 and len(data) >= 4:
        holds = data[0] <= 2 and 1 <= data[1] <= 7 and 1 <= data[2] <= 5
        yield outcome("EVC-PCI-4", holds, f"{words}: {data[:4].hex()}", "a defined speed and width")
    if kind == 0x03 and identifier in {0, 1, 2, 3, 5, 6, 9, 10, 13, 16} and len(data) >= 8:
        yield outcome("EVC-NVME-4", not any(data[:8]), f"{words}: {data[:8].hex()}", "zeros")
    if kind == _VIRTUAL:
        yield outcome("EVC-VF-2", identifier <= 1, words, "0000h or 0001h")
        yield outcome("EVC-VF-3", dwords == 1, f"{words}: {dwords} dwords", "1")
        physical = int.from_bytes(data[:2], "little") >> 11
        yield outcome("EVC-VF-4", 1 <= physical <= _FIFOS, f"{words}: FIFO {physical}", "1 to 16")
        yield outcome("EVC-VF-5", not any(data[2:4]), f"{words}: {data[2:4].hex()}", "zeros")
    if kind == 0x0C and identifier == 0x03 and len(data) >= 2:
        cause = int.from_bytes(data[:2], "little")
        yield outcome("EVC-SMBUS-4", cause <= 2, f"{words}: cause {cause}", "0 to 2")
    if kind == 0x0D and len(data) >= 8:
        yield outcome(
            "EVC-MCTP-5", data[2] in {0, 1, 4, 5}, f"{words}: transport {data[2]:02X}h", "00h, 01h, 04h, 05h"
        )
        holds = bool(data[3] & 0x80) or not any(data[4:8])
        yield outcome("EVC-MCTP-7", holds, f"{words}: header {data[4:8].hex()}", "zeros unless valid")


CONCERNS: Final = ("STAT", "CTX-", "EVC-", "EVENTD-", "EVF-", "SDL-")
"""Prefixes of requirements of what a drive may have or not."""

SOURCES: Final = frozenset({"A1", "A2"})
"""What the checks look at."""
