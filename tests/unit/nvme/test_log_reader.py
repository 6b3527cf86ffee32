"""Pages of a drive and of a file: which are asked for, by which index, and what is printed of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openpts.device.nvme.nvme_admin import NvmeCommandError
from openpts.device.nvme.nvme_identify import parse_identify_controller
from openpts.errors import UsageError
from openpts_nvme.logs import drive
from openpts_nvme.logs.asked import named
from openpts_nvme.logs.command import logs
from openpts_nvme.logs.declaration import declared_logs
from openpts_nvme.logs.drive import LogReader
from tests.support.encoded_pages import encode
from tests.support.nvme_tcp_host import Host
from tests.support.served_drive import admin, served
from tests.support.transcript import Golden
from tests.unit.nvme.test_served_logs import INVALID_FIELD

MONITOR = {"enable": 1} | {
    f"active_threshold_{letter}_ms": ms for letter, ms in zip("abcd", (5, 30, 100, 235), strict=True)
}


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
def bridge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bridge]:
    """A served drive, on which LogReader works."""
    with served("enterprise-tlc?capacity=256MB") as target, admin(target) as host:
        found = Bridge(host)
        for name in ("identify_controller", "identify_uuid_list", "read_log", "set_feature"):
            monkeypatch.setattr(drive, name, getattr(found, name))
        yield found


def test_pages_that_the_drive_should_have_are_read_by_their_index(bridge: Bridge) -> None:
    reader = LogReader(0)
    assert [f"{log.id:02X}" for log in reader.expected] == ["02", "07", "08", "25", "C0", "C1", "C3", "C5"]
    for log in reader.expected:
        read = reader.read(log)
        assert (read.refused, read.uuid_index) == ("", int(log.ocp))
        assert read.page is not None
    assert {index for page, index, _ in bridge.asked if page >= 0xC0} == {1}
    assert {index for page, index, _ in bridge.asked if page < 0xC0} == {0}


def test_a_page_that_says_how_long_it_is_is_read_to_its_end(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = declared_logs()["fdp-events"]
    events = [{"type": 1, "namespace": number} for number in range(63)]
    whole = encode(log, {"events": events}) + bytes(64)
    monkeypatch.setattr(drive, "_PIECE_BYTES", 1000)
    monkeypatch.setattr(
        drive, "read_log", lambda _fd, _page, length, *, offset, **_: whole[offset : offset + length]
    )
    page = LogReader(0).read(log).page
    assert page is not None
    assert [event["namespace"] for event in page.values["events"]] == list(range(63))


def test_a_page_that_the_drive_lacks_is_refused_in_words(bridge: Bridge) -> None:
    read = LogReader(0).read(declared_logs()["fdp-statistics"])
    assert read.page is None
    assert read.refused == "the drive refuses it: NVMe status 0x109"


def test_the_index_that_a_feature_took_is_returned(bridge: Bridge) -> None:
    feature = declared_logs()["latency-monitor-feature"]
    assert LogReader(0).configure(feature, MONITOR) == 1
    bridge.refuses_index = True
    assert LogReader(0).configure(feature, MONITOR) == 0
    assert bridge.features == [1, 1, 0]


@pytest.mark.parametrize("text", ["latency-monitor", "C3h", "c3", "0xC3", "C3H"])
def test_a_page_is_named_by_its_name_or_its_number(text: str) -> None:
    assert named(text).name == "latency-monitor"


def test_another_name_is_refused_with_all_that_are_known(golden: Golden) -> None:
    with pytest.raises(UsageError) as refused:
        named("C9h")
    assert str(refused.value) == golden


def test_what_is_printed_of_a_page_with_impossible_values(tmp_path: Path, golden: Golden) -> None:
    log = declared_logs()["power-measurement"]
    stamp = {"ms": 1_790_000_000_123, "may_have_stopped": False, "origin": 1}
    bins = [{"count": 3, "lower_threshold_scale": 2, "lower_threshold_w": 7.25}]
    values = {
        "measurements": 12_345,
        "average_power_scale": 2,
        "average_power_w": 7.31,
        "power_error_pct": 99,
    }
    data = bytearray(encode(log, values | {"maximum_power_stamp": stamp, "histogram": bins}))
    data[56], data[46] = 120, 3
    (tmp_path / "25.bin").write_bytes(data)
    printed = CliRunner().invoke(logs, [str(tmp_path / "25.bin"), "25h"])
    assert printed.exception is None
    assert printed.stdout == golden
    whole = json.loads(CliRunner().invoke(logs, [str(tmp_path / "25.bin"), "25h", "--json"]).stdout)
    assert whole["values"]["average_power_w"] == 7.31
    assert whole["impossible"].keys() == {"power_error_pct", "maximum_power_scale"}


def test_a_page_of_a_later_version_has_a_note(tmp_path: Path, golden: Golden) -> None:
    log = declared_logs()["smart-extended"]
    (tmp_path / "c0.bin").write_bytes(encode(log, {}, version=9))
    printed = CliRunner().invoke(logs, [str(tmp_path / "c0.bin"), "smart-extended"])
    assert printed.stderr == golden
