"""The SMART / Health Information log of an NVMe controller, byte by byte.

NVM Express Base Specification, "SMART / Health Information (Log Page Identifier 02h)".
"""

from typing import Final

SMART_LOG_BYTES: Final = 512
GONE: Final = "all its bytes are FFh, which is how a device answers whose link is gone"

# One data unit is a thousand units of 512 bytes, rounded up.
_DATA_UNIT_BYTES: Final = 512_000
_KELVIN_AT_0_C: Final = 273
_S_PER_MINUTE: Final = 60
_S_PER_HOUR: Final = 3600
# above this no flash works: what says so is no temperature
_HOTTEST_K: Final = _KELVIN_AT_0_C + 200
# a counter at its maximum, or at that of its lower half, is saturated
_COUNTERS_BYTES: Final = 16
_FULL: Final = 2**64 - 1
_SENSORS: Final = 8

# name: first byte, bytes, factor to the unit in the name
_FIELDS: Final = {
    "critical_warning": (0, 1, 1),
    "available_spare_pct": (3, 1, 1),
    "available_spare_threshold_pct": (4, 1, 1),
    "percentage_used_pct": (5, 1, 1),
    "host_read_bytes": (32, 16, _DATA_UNIT_BYTES),
    "host_write_bytes": (48, 16, _DATA_UNIT_BYTES),
    "host_read_commands": (64, 16, 1),
    "host_write_commands": (80, 16, 1),
    "busy_s": (96, 16, _S_PER_MINUTE),
    "power_cycles": (112, 16, 1),
    "power_on_hours": (128, 16, 1),
    "unsafe_shutdowns": (144, 16, 1),
    "media_errors": (160, 16, 1),
    "error_log_entries": (176, 16, 1),
    "warning_temperature_s": (192, 4, _S_PER_MINUTE),
    "critical_temperature_s": (196, 4, _S_PER_MINUTE),
}
_COMPOSITE_TEMPERATURE_AT: Final = 1
_SENSORS_AT: Final = 200
# transitions into, and seconds in, the light and the heavy thermal management state
_TRANSITIONS_AT: Final = (216, 220)
_THROTTLED_S_AT: Final = (224, 228)


def parse_smart_log(data: bytes) -> dict[str, float]:
    """The log's 512 bytes under the names of vocabulary.health.

    Left out is what says nothing: sensors that aren't fitted, temperatures that can't be, counters that are
    full, and a time of throttling that is longer than the drive has been on. Raises ValueError if there are
    not as many bytes, or if none of them is reported.
    """
    if len(data) != SMART_LOG_BYTES:
        raise ValueError(f"a SMART log has {SMART_LOG_BYTES} bytes, not {len(data)}")
    if data == b"\xff" * SMART_LOG_BYTES:
        raise ValueError(GONE)
    values = {
        name: float(told * factor)
        for name, (start, length, factor) in _FIELDS.items()
        if (told := _integer(data, start, length)) < _FULL or length < _COUNTERS_BYTES
    }
    return values | _temperatures(data) | _throttling(data, values.get("power_on_hours"))


def _temperatures(data: bytes) -> dict[str, float]:
    starts = {"temperature_c": _COMPOSITE_TEMPERATURE_AT} | {
        f"temperature_sensor_{sensor + 1}_c": _SENSORS_AT + 2 * sensor for sensor in range(_SENSORS)
    }
    return {
        name: float(kelvin - _KELVIN_AT_0_C)
        for name, start in starts.items()
        if 0 < (kelvin := _integer(data, start, 2)) <= _HOTTEST_K
    }


def _throttling(data: bytes, power_on_hours: float | None) -> dict[str, float]:
    values = {"throttle_events": float(sum(_integer(data, start, 4) for start in _TRANSITIONS_AT))}
    throttled_s = float(sum(_integer(data, start, 4) for start in _THROTTLED_S_AT))
    # the hour that has begun is not counted yet; some drives put rubbish here
    if power_on_hours is not None and throttled_s <= (power_on_hours + 1) * _S_PER_HOUR:
        values["throttled_s"] = throttled_s
    return values


def _integer(data: bytes, start: int, length: int) -> int:
    return int.from_bytes(data[start : start + length], "little")
