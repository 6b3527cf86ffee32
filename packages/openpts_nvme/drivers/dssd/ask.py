"""The door to a drive, what is asked through it, and what acts measure with."""

import struct
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from msgspec import Struct

from openpts_drives.health.nvme_health import ocp_uuid_index
from openpts_nvme.dssd.answers import LATER, REGISTERS, SELECTIONS, Answers, CommandResult, Family, family


class CommandCompletion(Struct, frozen=True):
    """A command's completion: status type and code, dword 0 (and 1), and its data."""

    status: int
    result: int
    data: bytes


class AdminCommand(Struct, frozen=True):
    """An admin command: ``dwords`` are CDW10 on, ``data`` is for the drive, ``reads`` bytes come back."""

    opcode: int
    dwords: tuple[int, ...] = ()
    namespace: int = 0
    data: bytes = b""
    reads: int = 0
    limit_s: float = 30.0


class Door(Protocol):
    """A drive that is open. ``namespace`` is the one whose sectors are read and written."""

    namespace: int
    sector_bytes: int
    capacity_bytes: int

    def admin(self, command: AdminCommand) -> CommandCompletion:
        """Send an admin command and wait for it. Raises OSError if the drive is gone."""

    def register(self, offset: int, size: int) -> int | None:
        """A controller register; None where the transport has no way to it."""

    def write_register(self, offset: int, value: int) -> bool:
        """Write a controller register of 32 bits; False where the kernel's driver has it to itself."""

    def config_space(self) -> bytes:
        """PCI configuration space; empty for a drive without one, or where it may not be read."""

    def read(self, offset: int, length: int) -> bytes:
        """Contents, by one command."""

    def write(self, offset: int, data: bytes) -> None:
        """Write contents, by one command."""

    def trim(self, offset: int, length: int) -> None:
        """Deallocate a range."""

    def write_zeroes(self, offset: int, length: int) -> None:
        """Write zeros by a command without data, with deallocation."""

    def reset(self) -> None:
        """Reset the controller; returns when it is ready again."""

    def beside(self) -> "Door":
        """The same drive for another thread."""


IDENTIFY, GET_LOG_PAGE, GET_FEATURES, SECURITY_RECEIVE = 0x06, 0x02, 0x0A, 0x82
ALL: Final = 0xFFFFFFFF
_PAGE: Final = 4096
_MOST_BYTES: Final = 1 << 20
_BLOCK: Final = 512
_LOG_BYTES: Final = {
    0x01: 64, 0x04: _PAGE, 0x05: _PAGE, 0x06: 564, 0x0E: 16, 0x12: 1024, 0x13: _PAGE, 0x20: 1024, 0xC4: _PAGE,
    0xC5: _PAGE, 0xC6: 64, 0xC9: 432,
}  # fmt: skip
_BY_GROUP: Final = {0x09, 0x20}
_LSP: Final = {0x07: 1, 0x0D: 1}
_RELEASE: Final = 2
_FEATURE_BYTES: Final = {0x0E: 8, 0xC0: _PAGE}
_CAPABILITIES: Final = {0x01: "PM", 0x05: "MSI", 0x10: "PCIE", 0x11: "MSIX"}
_EXTENDED: Final = {0x0001: "AER", 0x0003: "DSN", 0x000F: "ATS"}
_LEVEL_0_BYTES: Final = 2048
_NO_LINK: Final = CommandResult(
    why="no PCI configuration space: the drive is behind a network, or it may not be read"
)
_NO_REGISTERS: Final = CommandResult(why="no way to the controller's registers")
_NOT_THERE: Final = CommandResult(status=0x02)


class Asker:
    """Asks, keeps the time of the slowest command, and the UUID index by which OCP's pages are asked for."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.slowest_s = 0.0
        self.uuid_index = 0

    def send(self, command: AdminCommand) -> CommandCompletion:
        """Send a command; its time counts."""
        begin = time.monotonic()
        reply = self.door.admin(command)
        self.slowest_s = max(self.slowest_s, time.monotonic() - begin)
        return reply

    def all_of(self, sources: Iterable[str]) -> Answers:
        """Answers to all sources but measured ones, and probes."""
        requested = sorted(each for each in sources if LATER not in each)
        answers: Answers = {}
        answers["I17"] = self._identify(0x17)
        self.uuid_index = ocp_uuid_index(answers["I17"].data)
        for source in requested:
            if source not in answers and (answer := self._one(source)) is not None:
                answers[source] = answer
        if {"A1", "A2"} & set(requested):
            self._telemetry(answers)
        self._link(answers, requested)
        if any(family(each) is Family.SECURITY for each in requested):
            self._level_0(answers, requested)
        return answers

    def again(self, sources: Iterable[str], answers: Answers) -> None:
        """The second reading of what is read twice."""
        for source in sources:
            if source.endswith(LATER):
                answers[source] = self.log(int(source[1:3], 16))

    def _one(self, source: str) -> CommandResult | None:
        match family(source):
            case Family.IDENTIFY:
                return self._identify(int(source[1:3], 16))
            case Family.LOG:
                return self.log(int(source[1:3], 16))
            case Family.FEATURE:
                return self.feature(int(source[1:3], 16), SELECTIONS[source[3:]])
            case Family.REGISTER:
                offset, size = REGISTERS[source]
                value = self.door.register(offset, size)
                return _NO_REGISTERS if value is None else CommandResult(value.to_bytes(size, "little"))
        return None

    def _identify(self, structure: int) -> CommandResult:
        namespace = self.door.namespace if structure == 0 else 0
        return _answer(self.send(AdminCommand(IDENTIFY, (structure,), namespace, reads=_PAGE)))

    def log(self, number: int, *, index: int | None = None) -> CommandResult:
        """A log, all of it if it says how long it is; OCP's by the UUID index unless another is given."""
        size = _LOG_BYTES.get(number, _BLOCK)
        answer = self._part(number, 0, size, index)
        if answer.status or answer.why:
            return answer
        whole = size
        if number == 0x07:
            whole = _BLOCK * (1 + max(struct.unpack_from("<HH", answer.data, 8)))
        elif number == 0xC6:
            whole = int.from_bytes(answer.data[32:48], "little")
        elif number == 0xC9:
            whole = 4 * int.from_bytes(answer.data[32:40], "little")
        whole = min(whole, _MOST_BYTES) // 4 * 4
        data = answer.data
        while len(data) < whole:
            more = self._part(number, len(data), min(_PAGE, whole - len(data)), index, is_more=True)
            if more.status or not more.data:
                return more
            data += more.data
        if number == 0x0D:
            self._part(number, 0, size, index, is_more=True)
        return CommandResult(data)

    def _part(
        self, number: int, offset: int, size: int, index: int | None, *, is_more: bool = False
    ) -> CommandResult:
        specific = (_RELEASE if number == 0x0D else 0) if is_more else _LSP.get(number, 0)
        dwords = size // 4 - 1
        group = 1 if number in _BY_GROUP else 0
        uuid = self.uuid_index if index is None and number >= 0xC0 else index or 0
        command = (
            number | specific << 8 | (dwords & 0xFFFF) << 16,
            dwords >> 16 | group << 16,
            offset & 0xFFFFFFFF,
            offset >> 32,
            uuid,
        )
        return _answer(self.send(AdminCommand(GET_LOG_PAGE, command, ALL, reads=size)))

    def feature(self, number: int, select: int, *, index: int | None = None) -> CommandResult:
        """Dword 0 of a feature, and its data behind it."""
        uuid = self.uuid_index if index is None and number >= 0xC0 else index or 0
        room = 0 if select == SELECTIONS["c"] else _FEATURE_BYTES.get(number, 0)
        command = AdminCommand(GET_FEATURES, (number | select << 8, 0, 0, 0, uuid), reads=room)
        reply = self.send(command)
        if reply.status:
            return CommandResult(status=reply.status)
        data = reply.data if number == 0x0E and room else (reply.result & ALL).to_bytes(4, "little")
        return CommandResult(data)

    def _telemetry(self, answers: Answers) -> None:
        log = answers.setdefault("L07", self.log(0x07))
        if log.words:
            answers["A1"] = answers["A2"] = log
            return
        first, second = struct.unpack_from("<HH", log.data, 8)
        answers["A1"] = CommandResult(log.data[_BLOCK : _BLOCK * (first + 1)])
        answers["A2"] = CommandResult(log.data[_BLOCK * (first + 1) : _BLOCK * (second + 1)])

    def _link(self, answers: Answers, requested: list[str]) -> None:
        names = [each for each in requested if family(each) is Family.LINK]
        space = self.door.config_space() if names else b""
        found = capabilities(space)
        for name in names:
            answers[name] = (
                _NO_LINK if len(space) < 64 else CommandResult(found[name]) if name in found else _NOT_THERE
            )

    def _level_0(self, answers: Answers, requested: list[str]) -> None:
        command = AdminCommand(
            SECURITY_RECEIVE, (0x01 << 24 | 0x0001 << 8, _LEVEL_0_BYTES), reads=_LEVEL_0_BYTES
        )
        reply = self.send(command)
        found = {} if reply.status else level_0(reply.data)
        for name in requested:
            if family(name) is Family.SECURITY:
                answers[name] = (
                    CommandResult(found[name])
                    if name in found
                    else CommandResult(status=reply.status or 0x02)
                )


def _answer(reply: CommandCompletion) -> CommandResult:
    return CommandResult(status=reply.status) if reply.status else CommandResult(reply.data)


def capabilities(space: bytes) -> dict[str, bytes]:
    """Configuration space as a whole, and the capabilities in it by name, each to the end of the space."""
    found = {"PCI": space}
    at, steps = (space[0x34] if len(space) >= 64 else 0), 0
    while 64 <= at < min(len(space), 255) and steps < 48:
        if name := _CAPABILITIES.get(space[at]):
            found.setdefault(name, space[at:256])
        at, steps = space[at + 1] & 0xFC, steps + 1
    at, steps = 256, 0
    while at >= 256 and at + 4 <= len(space) and steps < 128:
        word = int.from_bytes(space[at : at + 4], "little")
        if name := _EXTENDED.get(word & 0xFFFF):
            found.setdefault(name, space[at:])
        at, steps = word >> 20 & 0xFFC, steps + 1
    return found


def level_0(data: bytes) -> dict[str, bytes]:
    """Descriptors of a level 0 discovery by their codes: ``TCG0203`` is Opal 2."""
    found: dict[str, bytes] = {}
    end = min(int.from_bytes(data[:4], "big") + 4, len(data))
    at = 48
    while at + 4 <= end:
        size = 4 + data[at + 3]
        found.setdefault(f"TCG{int.from_bytes(data[at : at + 2], 'big'):04X}", data[at : at + size])
        at += size
    return found


READ_BYTES: Final = 4096
FILL_BYTES: Final = 128 << 10


def measured(answers: Answers, name: str, value: float) -> None:
    """A figure that checks know as ``M.name``."""
    answers[f"M.{name}"] = CommandResult(repr(float(value)).encode())


def probed(asker: Asker, answers: Answers, name: str, command: AdminCommand) -> int:
    """A command whose status checks know as ``P.name``."""
    reply = asker.send(command)
    answers[f"P.{name}"] = CommandResult(status=reply.status) if reply.status else CommandResult(reply.data)
    return reply.status


def different(one: bytes, two: bytes) -> int:
    """How many bytes differ."""
    return sum(a != b for a, b in zip(one, two, strict=True))


def number_at(answer: CommandResult, at: int, size: int) -> int:
    """A field of a page; 0 where there is none."""
    return int.from_bytes(answer.data[at : at + size], "little")


def reads(door: Door, span: int, work: Callable[[], object]) -> list[float]:
    """Times of reads among ``span`` places, in s, while work is done in another thread."""
    thread = threading.Thread(target=work)
    times: list[float] = []
    thread.start()
    place = 1
    while thread.is_alive():
        place = place * 1_103_515_245 + 12_345 & 0x7FFFFFFF
        begin = time.monotonic()
        door.read(place % span * READ_BYTES, READ_BYTES)
        times.append(time.monotonic() - begin)
    thread.join()
    return times
