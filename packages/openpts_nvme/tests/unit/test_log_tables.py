"""Tables of fields: what they declare, and pages that go through them and back."""

import ctypes
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from openpts_drives.health.nvme_health import SMART_LOG_FIELDS
from openpts_nvme.logs.page import (
    EntryList,
    Log,
    LogError,
    LogField,
    declared_logs,
    decode,
    encode_feature,
    whole_bytes,
)
from tests.support.drawn_pages import drawn_page, has_values
from tests.support.encoded_pages import encode
from tests.support.ocp_pages import ErrorRecovery, LatencyMonitor, PowerMeasurement, SmartExtended, number
from tests.support.smart_log import SmartLog

_LOGS = list(declared_logs().values())
_PAGES = 10_000

each_log = pytest.mark.parametrize("log", _LOGS, ids=lambda log: log.name)


def _all_fields(log: Log) -> Iterator[tuple[Sequence[LogField], Sequence[EntryList]]]:
    levels: list[tuple[Sequence[LogField], Sequence[EntryList]]] = [(log.fields, log.lists)]
    while levels:
        fields, lists = levels.pop()
        yield fields, lists
        levels += [(one.fields, one.lists) for one in lists]


@each_log
def test_no_two_fields_share_a_bit_and_all_are_in_the_page(log) -> None:
    for fields, lists in _all_fields(log):
        taken: set[int] = set()
        for field in fields:
            for index in range(field.count or 1):
                at, low, width = field.place(index)
                bits = set(range(8 * at + low, 8 * at + low + width))
                assert not bits & taken, field.name
                taken |= bits
        names = [one.name for one in fields] + [one.name for one in lists]
        assert len(names) == len(set(names))
        assert all(one.at * 8 > max(taken) for one in lists)
    held = [at for field in log.fields for at, _, _ in map(field.place, range(field.count or 1))]
    assert max(held) < log.length


@each_log
def test_what_a_table_names_is_among_its_fields(log) -> None:
    around: set[str] = set()
    for fields, lists in _all_fields(log):
        names = {one.name for one in fields}
        around |= names
        assert {one.scale_in for one in fields} <= names | {None}
        assert {one.count_in for one in lists} <= around
    assert set(log.ascending) | ({log.length_in} - {None}) <= {one.name for one in log.fields}


@pytest.mark.slow
def test_ten_thousand_random_pages_come_back_as_they_were() -> None:
    draw = random.Random(37)
    for turn in range(_PAGES):
        log = _LOGS[turn % len(_LOGS)]
        values = drawn_page(log, draw)
        data = encode(log, values)
        page = decode(log, data)
        assert page.impossible == {}
        assert has_values(page.values, values)
        assert whole_bytes(log, data[: log.length]) <= len(data)
        assert encode(log, page.values, page.version) == data
        if log.is_feature:
            assert encode_feature(log, page.values) == data


@pytest.mark.parametrize(
    "values",
    [
        {"active_threshold_a_ms": 7},
        {"active_threshold_a_ms": 5 * 257},
        {"active_read_keeps_largest": (True,) * 5},
        {"no_such_field": 1},
    ],
)
def test_what_a_feature_cannot_hold_is_not_sent(values) -> None:
    with pytest.raises(LogError):
        encode_feature(declared_logs()["latency-monitor-feature"], values)


def test_log_02h_is_what_health_reads_and_what_its_structure_has() -> None:
    smart = declared_logs()["smart"]
    fields = {one.name: one for one in smart.fields}
    shared = SMART_LOG_FIELDS.keys() & fields.keys()
    assert len(shared) == len(SMART_LOG_FIELDS) - 1
    for name in shared:
        assert (fields[name].at, fields[name].width, fields[name].times) == SMART_LOG_FIELDS[name][:3]
    page = SmartLog(composite_temperature_k=300, light_s=7, heavy_transitions=9)
    page.sensors_k[3] = 310
    values = decode(smart, bytes(page)).values
    assert values["temperature_c"] == 27
    assert values["temperature_sensor_c"] == [None, None, None, 37, None, None, None, None]
    assert (values["thermal_management_1_s"], values["thermal_management_2_transitions"]) == (7, 9)


@pytest.mark.parametrize("name", [log.name for log in _LOGS if log.guid])
def test_the_page_of_another_vendor_is_refused(name, golden) -> None:
    log = declared_logs()[name]
    data = bytearray(encode(log, {}))
    data[log.guid_at] ^= 1
    with pytest.raises(LogError) as refused:
        decode(log, bytes(data))
    assert str(refused.value) == golden


@each_log
def test_a_short_page_and_one_of_a_drive_that_is_gone_are_refused(log) -> None:
    for data in (b"", bytes(log.length - 1), b"\xff" * log.length):
        with pytest.raises(LogError):
            decode(log, data)


_FILLED_PAGES = 200


def pages(name: str, layout: type[ctypes.LittleEndianStructure]) -> Any:
    """Drawn pages: in the layout, and as their values."""
    log, draw = declared_logs()[name], random.Random(name)
    for _ in range(_FILLED_PAGES):
        data = encode(log, drawn_page(log, draw))
        yield layout.from_buffer_copy(data), decode(log, data).values


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("smart-extended", SmartExtended),
        ("error-recovery", ErrorRecovery),
        ("power-measurement", PowerMeasurement),
    ],
)
def test_each_field_is_at_its_place(name, layout) -> None:
    fields = {one.name: one for one in declared_logs()[name].fields if one.kind in {"number", "text"}}
    names = [place[0] for place in layout._fields_ if place[0] in fields and fields[place[0]].count is None]
    assert len(names) >= 8
    for page, values in pages(name, layout):
        for field_name in names:
            field, value = fields[field_name], values[field_name]
            at_place = getattr(page, field_name)
            if field.kind == "text":
                assert at_place.rstrip(b"\0").decode() == value
            else:
                raw = field.none if value is None else (value - field.plus) // field.times
                assert number(at_place) == raw, field_name


def test_no_field_of_c0h_has_no_second_place() -> None:
    places = {place[0] for place in SmartExtended._fields_}
    assert {one.name for one in declared_logs()["smart-extended"].fields} <= places


def test_buckets_count_up_and_stamps_count_down() -> None:
    for page, values in pages("latency-monitor", LatencyMonitor):
        for kind in ("active", "static"):
            for bucket in range(4):
                for bit, operation in enumerate(("read", "write", "deallocate")):
                    counters = getattr(page, f"{kind}_counters")[bucket]
                    stamp = getattr(getattr(page, f"{kind}_stamps_down")[3 - bucket], operation)
                    latency = getattr(getattr(page, f"{kind}_latencies_down")[3 - bucket], operation)
                    unit = getattr(page, f"{kind}_stamp_units") >> 3 * bucket + bit & 1
                    assert values[f"{kind}_{operation}s"][bucket] == getattr(counters, operation)
                    assert (values[f"{kind}_{operation}_latency_ms"][bucket] or 0) == latency
                    assert values[f"{kind}_{operation}_stamp"][bucket]["ms"] == stamp & (1 << 48) - 1
                    assert values[f"{kind}_{operation}_stamp_is_of_host"][bucket] == bool(unit)
                    mode = page.configuration >> 3 * bucket + bit & 1
                    assert values[f"active_{operation}_keeps_largest"][bucket] == bool(mode)
        thresholds = [values[f"active_threshold_{letter}_ms"] for letter in "abcd"]
        assert thresholds == [5 * raw + 5 for raw in page.thresholds]
        assert values["active_latency_minimum_window_ms"] == 100 * page.window
        assert values["active_bucket_timer_min"] == 5 * page.timer
        assert values["active_bucket_timer_threshold_min"] == 5 * page.timer_threshold
        assert values["debug_log_dwords"] == number(page.debug_log_dwords)
        assert (values["debug_log_latency_ms"] or 0) == page.debug_latency
        assert values["debug_log_page"] == page.debug_page
        assert values["debug_log_stamp_is_of_host"] == bool(page.debug_stamp_unit & 1)
        assert values["debug_was_triggered_by_write"] == [
            bool(page.debug_source >> 3 * b + 1 & 1) for b in range(4)
        ]
