"""Checks of telemetry's statistics and events, which follow each other in its areas."""

import struct
import tomllib
from collections.abc import Generator, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final

from openpts_nvme.dssd.answers import NOT_ASKED, Answers
from openpts_nvme.dssd.structures import Found, of_record, outcome

_VENDOR: Final = 0x8000
_HEALTH: Final = range(0x1E, 0x6D)
_NOT_HEALTH: Final = {0x45, 0x46}
_CONTEXTS: Final = range(0x6D, 0x70)
_SHARES: Final = {0x02: "STATI-3", 0x03: "STATI-4"}
_FIFOS: Final = 16
_SNAPSHOT: Final = 0x0A


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
    regions = []
    for number, (area, start, size) in enumerate(((one.data, *words[:2]), (two.data, *words[2:])), 1):
        buffer = area[4 * start : 4 * (start + size)]
        if size and buffer:
            found |= yield from _statistics(buffer, is_inside=False)
            regions.append((number, start, start + size))
    lacking = [each for each in _HEALTH if each not in found and each not in _NOT_HEALTH]
    text = ", ".join(f"{each:04X}h" for each in lacking[:8])
    yield outcome(
        "TEL-23", not lacking, f"{len(lacking)} are missing {text}".strip(), "all health statistics"
    )
    yield from _fifos(one.data, two.data, regions)


def _statistics(buffer: bytes, *, is_inside: bool) -> Generator[Found, None, set[int]]:
    """Descriptors one behind the other, then zeros; returns their identifiers."""
    at = 0
    found: set[int] = set()
    shares: dict[int, int] = {}
    while at + 8 <= len(buffer):
        identifier, dwords = struct.unpack_from("<H2xH2x", buffer, at)
        if not any(buffer[at : at + 8]):
            break
        data = buffer[at + 8 : at + 8 + 4 * dwords]
        name = f"statistic {identifier:04X}h"
        found.add(identifier)
        yield from of_record("statistic", name, buffer[at : at + 8 + 4 * dwords])
        yield outcome("STATF-4", len(data) == 4 * dwords, f"{name}: {dwords} dwords", "inside the area")
        if identifier in sizes():
            requirement, size = sizes()[identifier]
            yield outcome(requirement, dwords == size, f"{name}: {dwords} dwords", f"{size} dwords")
        if identifier in _SHARES and data:
            shares[identifier] = int.from_bytes(data[:4], "little")
        if identifier in _CONTEXTS:
            yield outcome("STAT-CSD-3", not is_inside, name, "not inside another context")
            yield from _statistics(data[8:], is_inside=True)
        at += 8 + 4 * dwords
    if len(shares) == len(_SHARES):
        for identifier, requirement in _SHARES.items():
            yield outcome(requirement, sum(shares.values()) == 100, f"{shares[identifier]} %", "100 % in all")
    if not is_inside:
        yield outcome("SDL-2", not any(buffer[at:]), f"{len(buffer) - at} bytes behind", "zeros")
    return found


def _fifos(one: bytes, two: bytes, regions: list[tuple[int, int, int]]) -> Iterator[Found]:
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
        overlaps = [
            each for each in regions if each[0] == area and each[1] < start + size and start < each[2]
        ]
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
        words = f"{name}: class {kind:02X}h, event {identifier:04X}h"
        yield from of_record("event", words, buffer[at : at + size])
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
        at += size
    rest = buffer[at:]
    yield outcome("EVF-2", not any(rest), f"{name}: events end at {at}", "no event behind a gap")
    yield outcome("EVF-4", not any(rest), f"{name}: {len(rest)} bytes behind", "zeros")


CONCERNS: Final = ("STAT", "CTX-", "EVC-", "EVENTD-", "EVF-", "SDL-")
"""Prefixes of requirements of what a drive may have or not."""

SOURCES: Final = frozenset({"A1", "A2"})
"""What the checks look at."""
