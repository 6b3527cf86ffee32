"""Tables beside layouts that were written down a second time, field after field, from the specification."""

import ctypes
import random
from typing import Any

import pytest

from openpts_nvme.logs.declaration import declared_logs
from openpts_nvme.logs.page import decode
from tests.support.drawn_pages import drawn_page
from tests.support.encoded_pages import encode
from tests.support.ocp_pages import ErrorRecovery, LatencyMonitor, PowerMeasurement, SmartExtended, number

_PAGES = 200


def pages(name: str, layout: type[ctypes.LittleEndianStructure]) -> Any:
    """Drawn pages: in the layout, and as their values."""
    log, draw = declared_logs()[name], random.Random(name)
    for _ in range(_PAGES):
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
