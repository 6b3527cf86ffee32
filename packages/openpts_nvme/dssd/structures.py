"""Checks of what a single line can't say: lists, tables, and descriptors that follow each other."""

import re
import struct
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from openpts_nvme.dssd.answers import NOT_ASKED, Answers, CommandResult, Family
from openpts_nvme.dssd.rules import RuleOutcome, State, checks, natural, requirements

Found = tuple[str, RuleOutcome]
"""A requirement, and how one check of it ended."""

_UUID: Final = bytes.fromhex("C194D55BE0944794A21D29998F56BE6F")
_WATTS: Final = (0.01, 0.0001)
_COMPONENT: Final = struct.Struct("<QQI24x")
_WANTED_COMPONENTS: Final = {"controller": 1, "NAND": 2, "DRAM": 3, "power management": 4, "board": 5}
_SERIAL, _DATE = 9, 12
_LEAST_BYTES: Final = {"LC6": 64, "LC9": 432}


def outcome(identifier: str, holds: bool, seen: str, asked: str) -> Found:
    """A requirement that is met or not."""
    return identifier, RuleOutcome(State.MET if holds else State.NOT_MET, seen, asked)


def of_record(kind: str, name: str, data: bytes) -> Iterator[Found]:
    """What the lines of ``records.toml`` ask of one record of a list, called ``name`` in the evidence."""
    answers = {"R": CommandResult(data)}
    for identifier, lines in _records()[kind].items():
        for line in lines:
            for one in checks(line):
                found = one.outcome(answers)
                if found.state is State.MET or found.state is State.NOT_MET:
                    yield identifier, RuleOutcome(found.state, f"{name}:{found.seen}", found.asked)


@cache
def _records() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(files(__package__).joinpath("records.toml").read_text())


def _data(answers: Answers, source: str) -> bytes | None:
    """An answer that is whole: evidence may have been cut off since."""
    answer = answers.get(source, NOT_ASKED)
    least = _LEAST_BYTES.get(source, 1 if source.startswith(Family.PROBE) else 4096)
    return None if answer.words or len(answer.data) < least else answer.data


def uuid_list(answers: Answers) -> Iterator[Found]:
    """The specification's UUID in the list of UUIDs, without an association."""
    data = _data(answers, "I17")
    if data is None:
        return
    entries = [data[at : at + 32] for at in range(32, len(data), 32)]
    mine = [number for number, entry in enumerate(entries, 1) if entry[16:] == _UUID and entry[0] & 3 == 0]
    yield outcome(
        "UUID-1", bool(mine), f"entry {mine[0]}" if mine else "no such entry", "C194D55B-... listed"
    )


def power_states(answers: Answers) -> Iterator[Found]:
    """Maxima of the NVMe states, and the DSSD states that lead to them."""
    data = _data(answers, "I01")
    if data is None:
        return
    watts = []
    for number in range(min(data[263], 31) + 1):
        value, _, flags = struct.unpack_from("<HBB", data, 2048 + 32 * number)
        watts.append(value * _WATTS[flags & 1])
    text = ", ".join(f"{each:g}" for each in watts)
    yield outcome("PWR-8", len(set(watts)) == len(watts), f"{text} W", "maxima differ")
    log = _data(answers, "LC4")
    if log is None:
        return
    for number in range(max(int.from_bytes(log[14:16], "little"), 1), 128):
        within = [(each, -state) for state, each in enumerate(watts) if each <= number]
        listed = log[16 + number] & 31
        best = -max(within)[1] if within else None
        yield outcome(
            "DSSDPSD-3", listed == best, f"{number} W: state {listed}", f"state {best}, of {text} W"
        )
    for above in range(2):
        state = _data(answers, f"P.state_of_watts_{above}_above_the_lowest")
        if state is not None:
            number = int.from_bytes(log[14:16], "little") + above
            logged = log[16 + min(number, 127)] & 31
            seen = f"{number} W set: state {state[0] & 31}"
            yield outcome("DSSDPSS-1", state[0] & 31 == logged, seen, f"state {logged}, of log C4h")


def sectors(answers: Answers) -> Iterator[Found]:
    """Sector sizes, and the number of sectors by SFF-8447."""
    data = _data(answers, "I00")
    if data is None:
        return
    found = struct.unpack_from("<16I", data, 128)[: data[25] + 1]
    shifts = sorted({each >> 16 & 255 for each in found if each & 0xFFFF == 0})
    sizes = ", ".join(f"{1 << shift:,}" for shift in shifts if shift)
    yield outcome("SECTOR-4", {9, 12} <= set(shifts), f"{sizes} bytes", "512 and 4,096 bytes")
    listed = _data(answers, "I02") or b""
    if not any(listed) or any(listed[4:8]):
        return
    blocks = int.from_bytes(data[0:8], "little")
    # SFF-8447 above 50 GB; the whole drive is one namespace
    base, step = (97_696_368, 1_953_504) if found[data[26] & 15] >> 16 & 255 == 9 else (12_212_046, 244_188)
    yield outcome(
        "SECTOR-5", (blocks - base) % step == 0, f"{blocks:,} blocks", f"{base:,} and multiples of {step:,}"
    )


def unsupported(answers: Answers) -> tuple[str, ...]:
    """Identifiers in log C5h, as far as they can be read."""
    data = _data(answers, "LC5") or b""
    count = min(int.from_bytes(data[:2], "little"), 253)
    names = [data[16 + 16 * n : 32 + 16 * n].rstrip(b"\0").decode("ascii", "replace") for n in range(count)]
    return tuple(name for name in names if name)


def unsupported_list(answers: Answers) -> Iterator[Found]:
    """The list of log C5h: known, in order, counted, zeros behind it."""
    data = _data(answers, "LC5")
    if data is None:
        return
    count = min(int.from_bytes(data[:2], "little"), 253)
    names = unsupported(answers)
    unknown = [name for name in names if name not in requirements()]
    yield outcome("URLP-1", len(names) == count, f"{len(names)} of {count} entries", "as many as counted")
    yield outcome("URLP-3", not unknown, ", ".join(unknown) or "all known", "requirements of 2.7")
    # alphabetical, or by the numbers in them: the specification does not say which
    is_ordered = (
        list(names) == sorted(names) or list(names) == sorted(names, key=natural) if not unknown else True
    )
    yield outcome("URLP-3", is_ordered, ", ".join(names[:4]) or "empty", "in alphabetical order")
    rest = data[16 + 16 * count : 4064]
    yield outcome("URLP-3", not any(rest), "zeros" if not any(rest) else "not zero", "zeros behind the list")


def components(answers: Answers) -> Iterator[Found]:
    """The hardware components of log C6h, one behind the other."""
    data = _data(answers, "LC6")
    if data is None:
        return
    end = min(int.from_bytes(data[32:48], "little"), len(data))
    at, found = 64, []
    while at + 44 <= end:
        lot, more, kind = _COMPONENT.unpack_from(data, at)
        size = 44 + 4 * (lot + more)
        fits = at + size <= end
        yield outcome(
            "COMPD-1", at + 44 + 4 * lot <= end, f"{lot:,} dwords at byte {at}", f"inside {end:,} bytes"
        )
        yield outcome("COMPD-2", fits, f"{more:,} dwords at byte {at}", f"inside {end:,} bytes")
        yield from of_record("component", f"component {kind:04X}h at byte {at}", data[at : at + 44])
        if not fits:
            break
        text = data[at + 44 : at + size].rstrip(b"\0 ").decode("ascii", "replace")
        yield from _judge_text(answers, kind, text)
        found.append(kind)
        at += size
    yield outcome("HWCLOG-6", bool(found), f"{len(found)} components", "one at least")
    yield outcome("HWCOMP-7", bool(found), "at byte 64" if found else "none", "the first at byte 64")
    yield outcome("HWCOMP-8", at == end, f"end at byte {at:,}", f"end at byte {end:,}")
    yield outcome("HWCOMP-9", at == end, f"{end - at:,} bytes between or behind", "none")
    lacking = [name for name, kind in _WANTED_COMPONENTS.items() if kind not in found]
    yield outcome("HWCOMP-3", not lacking, f"lacking: {', '.join(lacking) or 'nothing'}", "all of them")
    for kind, identifier in ((9, "HWCOMP-4"), (10, "HWCOMP-5"), (11, "HWCOMP-6")):
        yield outcome(identifier, kind in found, "listed" if kind in found else "not listed", "listed")


def _judge_text(answers: Answers, kind: int, text: str) -> Iterator[Found]:
    serial = (_data(answers, "I01") or bytes(24))[4:24].decode("ascii", "replace").strip()
    if kind == _SERIAL and serial:
        yield outcome(
            "CITYPE-10", text.strip() == serial, f"serial number {text!r}", f"{serial!r}, of Identify"
        )
    if kind == _DATE:
        is_date = re.fullmatch(r"(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(19|20)\d\d", text) is not None
        yield outcome("CITYPE-15", is_date, f"date {text!r}", "MMDDYYYY")


def strings(answers: Answers) -> Iterator[Found]:
    """The tables of strings of log C9h."""
    data = _data(answers, "LC9")
    if data is None:
        return
    word = struct.unpack_from("<8Q", data, 64)
    at = 4 * word[6]
    table = data[at : at + 4 * word[7]]
    for place, (start, size) in enumerate(((word[0], word[1]), (word[2], word[3]), (word[4], word[5]))):
        name, order = (("STR-ID", "TELSLG-2"), ("STR-EV", "TELSLG-5"), ("STR-VUEV", "TELSLG-6"))[place]
        entries = [data[4 * start + at : 4 * start + at + 16] for at in range(0, min(4 * size, 1 << 16), 16)]
        entries = [entry for entry in entries if len(entry) == 16]
        keys = []
        for entry in entries:
            yield from _entry(name, entry, table)
            keys.append((entry[0], entry[1] | entry[2] << 8) if place else (0, entry[0] | entry[1] << 8))
        classes = [key[0] for key in keys] if place else [key[1] for key in keys]
        yield outcome(order, classes == sorted(classes), f"{len(keys)} entries", "ascending")
        if place:
            within = "TELSLG-7" if place == 1 else "TELSLG-8"
            is_ordered = all(a < b for a, b in pairwise(keys) if a[0] == b[0])
            yield outcome(within, is_ordered, f"{len(keys)} entries", "ascending within a class")


def _entry(name: str, entry: bytes, table: bytes) -> Iterator[Found]:
    length, offset = entry[3] + 1, 4 * int.from_bytes(entry[4:12], "little")
    yield from of_record(name, f"entry {entry.hex()}", entry)
    yield outcome(
        f"{name}-3", offset + length <= len(table), f"{length} letters at {offset}", "inside the strings"
    )
    yield outcome(f"{name}-4", offset < len(table), f"byte {offset:,}", f"below {len(table):,}")
    padding = table[offset + length : (offset + length + 3) // 4 * 4]
    yield outcome("TELSLG-9", not padding.strip(b" "), padding.hex() or "none", "spaces")


CHECKS: Final[tuple[Callable[[Answers], Iterator[Found]], ...]] = (
    uuid_list,
    power_states,
    sectors,
    unsupported_list,
    components,
    strings,
)
"""All checks of this module; each looks at what was answered, and says nothing of what was not."""

SOURCES: Final = frozenset({"I00", "I01", "I02", "I17", "LC4", "LC5", "LC6", "LC9"})
"""What they look at."""
