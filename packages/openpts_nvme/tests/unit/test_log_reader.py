"""Pages of a drive and of a file: which are asked for, by which index, and what is printed of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.device.nvme_admin import NvmeCommandError, parse_identify_controller
from openpts_nvme.logs import page as drive
from openpts_nvme.logs.page import LogReader, declared_logs
from openpts_nvme.power.drive_report import reported
from openpts_nvme.tests.unit.test_served_logs import INVALID_FIELD
from tests.support.encoded_pages import encode
from tests.support.nvme_tcp_host import Host
from tests.support.served_drive import admin, served

MONITOR = {"enable": 1} | {
    f"active_threshold_{letter}_ms": ms for letter, ms in zip("abcd", (5, 30, 100, 235), strict=True)
}


PAGES = {"02", "07", "08", "25", "C0", "C1", "C3", "C5"}
"""What a served drive has."""


class Bridge:
    """Commands by the tests' own host, in place of the kernel's; ``asked`` has (page, index, bytes)."""

    def __init__(self, host: Host, *, refuses_index: bool = False) -> None:
        self.host = host
        self.refuses_index = refuses_index
        self.asked: list[tuple[int, int, int]] = []
        self.features: list[int] = []

    def identify_controller(self, _: int) -> Any:
        return parse_identify_controller(self.host.identify(1))

    def identify_uuid_list(self, _: int) -> bytes:
        return self.host.identify(0x17)

    def read_log(self, _: int, page: int, length: int, **words: Any) -> bytes:
        index, offset = words["uuid_index"], words["offset"]
        assert words["retain_events"]
        self.asked.append((page, index, length))
        done = self.host.command(
            0x02, page | 1 << 15 | (length // 4 - 1) << 16, 0, offset, 0, index, reads=length
        )
        if done.status:
            raise NvmeCommandError(f"NVMe status {done.status:#x}")
        return done.data

    def set_feature(self, _: int, feature: int, value: int, *, data: bytes, uuid_index: int = 0) -> int:
        self.features.append(uuid_index)
        if self.refuses_index and uuid_index:
            raise NvmeCommandError(f"NVMe status {INVALID_FIELD:#x}")
        assert self.host.command(0x09, feature, value, 0, 0, uuid_index, data=data).status == 0
        return 0


@pytest.fixture
def bridge(monkeypatch) -> Iterator[Bridge]:
    """A served drive, on which LogReader works."""
    with served("enterprise-tlc?capacity=256MB") as target, admin(target) as host:
        found = Bridge(host)
        for name in ("identify_controller", "identify_uuid_list", "read_log", "set_feature"):
            monkeypatch.setattr(drive, name, getattr(found, name))
        yield found


def test_pages_are_read_by_their_index(bridge) -> None:
    reader = LogReader(0)
    for log in (log for log in declared_logs().values() if f"{log.id:02X}" in PAGES and not log.is_feature):
        read = reader.read(log)
        assert (read.refused, read.uuid_index) == ("", int(log.ocp))
        assert read.page is not None
    assert {index for page, index, _ in bridge.asked if page >= 0xC0} == {1}
    assert {index for page, index, _ in bridge.asked if page < 0xC0} == {0}


def test_a_page_that_says_how_long_it_is_is_read_to_its_end(bridge, monkeypatch) -> None:
    log = declared_logs()["fdp-events"]
    events = [{"type": 1, "namespace": number} for number in range(63)]
    whole = encode(log, {"events": events}) + bytes(64)
    monkeypatch.setattr(drive, "_PIECE_BYTES", 1000)
    monkeypatch.setattr(
        drive, "read_log", lambda _fd, _page, length, *, offset, **_: whole[offset : offset + length]
    )
    page = LogReader(0).read(log).page
    assert [event["namespace"] for event in page.values["events"]] == list(range(63))


def test_a_page_that_the_drive_lacks_is_refused_in_words(bridge) -> None:
    read = LogReader(0).read(declared_logs()["fdp-statistics"])
    assert read.page is None
    assert read.refused == "the drive refuses it: NVMe status 0x109"


def test_both_pages_are_asked_for_the_power_that_a_drive_reports(bridge) -> None:
    values, source = reported(0)
    assert source.startswith("log 25h: estimated")  # a served drive has no interval power in log 02h
    assert values.keys() == {"power_mean_w", "power_max_w"}
    assert [page for page, _, _ in bridge.asked] == [0x02, 0x25]


def test_the_power_log_of_a_drive_that_measures_none_is_not_asked_for(bridge, monkeypatch) -> None:
    controller = replace(bridge.identify_controller(0), ctratt=0)
    monkeypatch.setattr(drive, "identify_controller", lambda _: controller)
    assert reported(0) == ({}, "")
    assert [page for page, _, _ in bridge.asked] == [0x02]


def test_the_index_that_a_feature_took_is_returned(bridge) -> None:
    feature = declared_logs()["latency-monitor-feature"]
    assert LogReader(0).configure(feature, MONITOR) == 1
    bridge.refuses_index = True
    assert LogReader(0).configure(feature, MONITOR) == 0
    assert bridge.features == [1, 1, 0]
