"""Violations planted in a served drive are all found; drives that conform have none."""

import struct
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from openpts_nvme.drivers.dssd.ask import Asker
from openpts_nvme.dssd.answers import Answers
from openpts_nvme.dssd.judge import Judged, RequirementVerdict, asked_sources, judge
from openpts_testbench.overrides import Override
from openpts_testbench.served_drive import Faults
from tests import DATA
from tests.support.nvme_tcp_door import TcpDoor
from tests.support.ocp_drive import FIRST_HEALTH, LAST_HEALTH, OcpDrive, le
from tests.support.served_drive import served

PLANTED = DATA / "ocp/planted.txt"
CHUNKS = 12
CLEAN = 50

Plant = tuple[str, tuple[Override, ...]]


def ask(overrides: tuple[object, ...]) -> Answers:
    """All answers of a drive that is served so."""
    with served(faults=Faults(overrides=overrides)) as drive:
        door = TcpDoor.open(drive)
        try:
            asker = Asker(door)
            answers = asker.all_of(asked_sources())
            asker.again(asked_sources(), answers)
        finally:
            door.close()
    return answers


def failed(judged: tuple[Judged, ...]) -> dict[str, str]:
    return {
        each.requirement.identifier: each.why for each in judged if each.verdict is RequirementVerdict.NOT_MET
    }


def from_file(drive: OcpDrive) -> Iterator[Plant]:
    for line in PLANTED.read_text().splitlines():
        if line.startswith("#"):
            continue
        identifier, kind, number, at, text = line.split()
        text, _, after = text.partition("@")
        if text == "IDENTICAL":
            text = le(drive.watts[0] * 100, 2).hex()
        named = {kind: int(number, 16)}
        if kind == "feature":
            named = {"feature": int(number, 16) & 0xFF, "select": int(number, 16) >> 8}
        yield identifier, (Override(**named, at=int(at), bytes=text, after=int(after or 0)),)


def made(drive: OcpDrive) -> Iterator[Plant]:
    """Those that have a place for each FIFO, statistic, bucket or event."""

    def telemetry(identifier: str, at: int, data: bytes) -> Plant:
        return identifier, (Override(log=7, at=512 + at, bytes=data.hex()),)

    for fifo in range(16):
        yield telemetry(f"TELDF-{18 + fifo}", 160 + fifo, b"\3")
        exists = Override(log=7, at=512 + 160 + fifo, bytes="01")
        where = 512 + 176 + 16 * fifo
        far = Override(log=7, at=where, bytes=le(1 << 20, 8).hex() + le(1, 8).hex())
        large = Override(log=7, at=where, bytes=le(16, 8).hex() + le(1 << 20, 8).hex())
        yield f"TELDF-{34 + 2 * fifo}", (exists, far)
        yield f"TELDF-{35 + 2 * fifo}", (exists, large)
    for bucket in range(4):
        for operation in range(3):
            for identifier, counter, stamp, size in (
                ("LMDATA-16", 32, 168 - 24 * bucket + 8 * operation, 8),
                ("LMDATA-17", 32, 210 - 6 * bucket + 2 * operation, 2),
                ("LMDATA-24", 240, 376 - 24 * bucket + 8 * operation, 8),
                ("LMDATA-25", 240, 418 - 6 * bucket + 2 * operation, 2),
            ):
                none = Override(log=0xC3, at=counter + 16 * bucket + 4 + 4 * operation, bytes="00000000")
                yield identifier, (none, Override(log=0xC3, at=stamp, bytes=le(5, size).hex()))
    area = bytes(drive.pages["log", 7][512:])
    for name, at in statistics(area, drive.statistics_at):
        if FIRST_HEALTH <= name <= LAST_HEALTH:
            number = name + 3
            yield telemetry(f"STATI-{number}", at + 4, le(9, 2))
    first = drive.statistics_at
    yield telemetry("STATI-3", first + 20, le(61, 4))
    yield telemetry("STATF-1", first, le(0x70, 2))
    yield telemetry("STATF-2", first + 2, b"\x81")
    yield telemetry("STATF-3", first + 3, b"\1")
    yield telemetry("STATF-5", first + 6, le(1, 2))
    yield telemetry("TEL-25", first + 2, b"\x11")
    event = drive.events_at
    yield telemetry("EVENTD-1", event, b"\x0e")
    yield telemetry("EVC-TS-2", event + 1, le(3, 2))
    yield telemetry("EVC-TS-3", event + 3, b"\1")
    yield telemetry("EVENTD-3", event + 3, b"\xff")
    yield telemetry("EVC-PCI-2", event + 13, le(8, 2))
    yield telemetry("EVC-PCI-4", event + 17, b"\x09")
    yield telemetry("EVC-NVME-4", event + 24, b"\1")
    yield telemetry("EVF-6", 176, le(first // 4, 8))
    yield telemetry("EVF-5", 184, le(1 << 20, 8))


def statistics(area: bytes, at: int) -> Iterator[tuple[int, int]]:
    while any(area[at : at + 8]):
        name, _, _, dwords, _ = struct.unpack_from("<HBBHH", area, at)
        yield name, at
        at += 8 + 4 * dwords


def plants() -> list[Plant]:
    return [*from_file(OcpDrive(7)), *made(OcpDrive(7))]


def missed(planted: list[Plant]) -> list[str]:
    """Violations that are not found, each in a drive of its own."""
    found = []
    for identifier, changes in planted:
        overrides = (*OcpDrive(7).overrides(), *(each.ordered() for each in changes))
        if identifier not in failed(judge(ask(overrides))):
            found.append(f"{identifier} {[replace(each, page='') for each in changes]}")
    return found


def test_there_are_300_violations_and_more() -> None:
    assert len(plants()) >= 300
    assert len({identifier for identifier, _ in plants()}) >= 300


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_planted_violation_is_found(chunk) -> None:
    assert missed(plants()[chunk::CHUNKS]) == []


def test_some_planted_violations_are_found() -> None:
    assert missed(plants()[::40]) == []


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.slow if seed % 10 else ()) for seed in range(CLEAN)]
)
def test_a_drive_that_conforms_has_no_violation(seed) -> None:
    judged = judge(ask(OcpDrive(seed).overrides()))
    assert failed(judged) == {}
    assert sum(each.verdict is RequirementVerdict.MET for each in judged) > 500
