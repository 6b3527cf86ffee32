"""The SMART log of NVMe, held against the specification's layout written down a second time."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.health.nvme_health import parse_smart_log
from openpts.device.nvme.nvme_identify import SMART_LOG_BYTES
from tests.support.smart_log import SmartLog

U8, U16, U32 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32))
# the least significant half comes first
WIDE = {
    "host_read_bytes": ("data_units_read", 512_000),
    "host_write_bytes": ("data_units_written", 512_000),
    "host_read_commands": ("host_reads", 1),
    "host_write_commands": ("host_writes", 1),
    "busy_s": ("busy_minutes", 60),
    "power_cycles": ("power_cycles", 1),
    "power_on_hours": ("power_on_hours", 1),
    "unsafe_shutdowns": ("unsafe_shutdowns", 1),
    "media_errors": ("media_errors", 1),
    "error_log_entries": ("error_log_entries", 1),
}


# up to 200 degrees Celsius
KELVIN = st.integers(0, 473)


def _half_the_life_s(wide: dict[str, int]) -> int:
    return min(2**32 - 1, wide["power_on_hours"] * 3600 // 2)


@given(st.data())
def test_each_field_is_read_from_its_place_and_no_other(data: Any) -> None:
    log = SmartLog()
    for name in ("critical_warning", "available_spare", "available_spare_threshold", "percentage_used"):
        setattr(log, name, data.draw(U8))
    log.composite_temperature_k = data.draw(KELVIN)
    for name in ("warning_minutes", "critical_minutes", "light_transitions", "heavy_transitions"):
        setattr(log, name, data.draw(U32))
    log.sensors_k[:] = data.draw(st.lists(KELVIN, min_size=8, max_size=8))
    wide = {name: data.draw(st.integers(0, 2**64 - 2)) for name in WIDE}
    log.light_s, log.heavy_s = (data.draw(st.integers(0, _half_the_life_s(wide))) for _ in range(2))
    for name, (attribute, _) in WIDE.items():
        getattr(log, attribute)[:] = (wide[name] % 2**64, wide[name] // 2**64)
    log.reserved_232[:] = data.draw(st.binary(min_size=280, max_size=280))

    expected = {
        "critical_warning": log.critical_warning,
        "available_spare_pct": log.available_spare,
        "available_spare_threshold_pct": log.available_spare_threshold,
        "percentage_used_pct": log.percentage_used,
        "warning_temperature_s": 60 * log.warning_minutes,
        "critical_temperature_s": 60 * log.critical_minutes,
        "throttle_events": log.light_transitions + log.heavy_transitions,
        "throttled_s": log.light_s + log.heavy_s,
        **{name: float(wide[name] * factor) for name, (_, factor) in WIDE.items()},
        # 0 K: not reported
        **({"temperature_c": log.composite_temperature_k - 273} if log.composite_temperature_k else {}),
        **{f"temperature_sensor_{n + 1}_c": k - 273 for n, k in enumerate(log.sensors_k) if k},
    }
    assert parse_smart_log(bytes(log)) == expected


def test_a_data_unit_is_a_thousand_sectors_of_512_bytes() -> None:
    log = SmartLog()
    log.data_units_written[0] = 525  # 256 MiB, as a drive counts them: rounded up
    written = parse_smart_log(bytes(log))["host_write_bytes"]
    assert 256 * 2**20 <= written < 256 * 2**20 + 512_000


def test_the_halves_of_a_wide_counter_are_in_their_places() -> None:
    log = SmartLog()
    log.host_reads[:] = (0, 1)
    # 2^64 is more than any drive counts: what stands at or beyond the end of the lower half is no count
    assert "host_read_commands" not in parse_smart_log(bytes(log))
    log.host_reads[:] = (2**64 - 2, 0)
    assert parse_smart_log(bytes(log))["host_read_commands"] == float(2**64 - 2)


@pytest.mark.parametrize("full", [2**64 - 1, 2**128 - 1])
def test_a_full_counter_counts_no_more_and_is_left_out(full: int) -> None:
    log = SmartLog()
    log.data_units_written[:] = (full % 2**64, full // 2**64)
    values = parse_smart_log(bytes(log))
    assert "host_write_bytes" not in values
    assert values["host_read_bytes"] == 0


def test_a_device_that_is_gone_has_no_log() -> None:
    with pytest.raises(ValueError, match="link is gone"):
        parse_smart_log(b"\xff" * 512)


@pytest.mark.parametrize(
    ("kelvin", "celsius"), [(0, None), (273, 0), (473, 200), (474, None), (0xFFFF, None)]
)
def test_a_temperature_that_can_not_be_is_none(kelvin: int, celsius: int | None) -> None:
    log = SmartLog()
    log.composite_temperature_k = log.sensors_k[1] = kelvin
    values = parse_smart_log(bytes(log))
    assert (values.get("temperature_c"), values.get("temperature_sensor_2_c")) == (celsius, celsius)


@pytest.mark.parametrize(("heavy_s", "told"), [(7200, 7200), (7201, None)])
def test_a_drive_throttles_no_longer_than_it_has_been_on(heavy_s: int, told: int | None) -> None:
    log = SmartLog()
    log.power_on_hours[0] = 1  # and a part of the second
    log.heavy_s = heavy_s
    assert parse_smart_log(bytes(log)).get("throttled_s") == told


@given(st.binary(min_size=512, max_size=512), st.booleans())
def test_any_512_bytes_are_a_log_another_page_or_a_device_that_is_gone(data: bytes, clear: bool) -> None:
    data = data[:7] + bytes(25) + data[32:] if clear else data
    try:
        values = parse_smart_log(data)
    except ValueError:
        assert any(data[7:32])
    else:
        assert not any(data[7:32])
        assert all(value >= 0 for name, value in values.items() if not name.endswith("_c"))


@pytest.mark.parametrize("length", [0, SMART_LOG_BYTES - 1, SMART_LOG_BYTES + 1])
def test_a_log_of_another_length_is_none(length: int) -> None:
    with pytest.raises(ValueError, match="512"):
        parse_smart_log(bytes(length))


@pytest.mark.parametrize(
    "data",
    [
        b"SMART Log for NVME device:nvme0 namespace-id:ffffffff\n" * 10,
        b"       0  1  2  3  4  5  6  7\n0000: 00 2f 01 64 0a 03 00 00\n" * 10,
        random.Random(1).randbytes(512),
        (1 << 90).to_bytes(16, "little") * 32,  # a page of counters, as C0h is one
    ],
    ids=["text", "hex dump", "random", "another page"],
)
def test_what_has_reserved_bytes_is_another_page(data: bytes) -> None:
    with pytest.raises(ValueError, match="bytes 7 to 31"):
        parse_smart_log(data[:512])
