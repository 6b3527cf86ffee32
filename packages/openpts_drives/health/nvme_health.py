"""Health of an NVMe drive: the SMART log byte by byte, and log pages with what was written to the flash.

NVM Express Base Specification, "SMART / Health Information (Log Page Identifier 02h)". OCP Datacenter NVMe
SSD Specification, "SMART / Health Information Extended (Log Identifier C0h)", and page CAh of Intel's and
Solidigm's drives, whose items are described in their product specifications.
"""

from collections.abc import Mapping
from typing import Final

from openpts.device.nvme_admin import (
    SMART_LOG_BYTES,
    NvmeController,
    handle_status,
    identify_namespace,
    namespace_id,
    read_log,
)

_GONE: Final = "all its bytes are FFh, which is how a device answers whose link is gone"

# One data unit is a thousand units of 512 bytes, rounded up.
_DATA_UNIT_BYTES: Final = 512_000
_KELVIN_AT_0_C: Final = 273
_S_PER_MINUTE: Final = 60
_S_PER_HOUR: Final = 3600
# above this no flash works: what says so is no temperature
_HOTTEST_K: Final = _KELVIN_AT_0_C + 200
# a counter at its maximum, or at that of its lower half, is saturated
_COUNTERS_BYTES: Final = 16
_RESERVED: Final = slice(7, 32)
_FULL: Final = 2**64 - 1
_SENSORS: Final = 8

# name: first byte, bytes, factor to the unit in the name, smartctl's name
SMART_LOG_FIELDS: Final = {
    "critical_warning": (0, 1, 1, "critical_warning"),
    "available_spare_pct": (3, 1, 1, "available_spare"),
    "available_spare_threshold_pct": (4, 1, 1, "available_spare_threshold"),
    "percentage_used_pct": (5, 1, 1, "percentage_used"),
    "host_read_bytes": (32, 16, _DATA_UNIT_BYTES, "data_units_read"),
    "host_write_bytes": (48, 16, _DATA_UNIT_BYTES, "data_units_written"),
    "host_read_commands": (64, 16, 1, "host_reads"),
    "host_write_commands": (80, 16, 1, "host_writes"),
    "busy_s": (96, 16, _S_PER_MINUTE, "controller_busy_time"),
    "power_cycles": (112, 16, 1, "power_cycles"),
    "power_on_hours": (128, 16, 1, "power_on_hours"),
    "unsafe_shutdowns": (144, 16, 1, "unsafe_shutdowns"),
    "media_errors": (160, 16, 1, "media_errors"),
    "error_log_entries": (176, 16, 1, "num_err_log_entries"),
    "warning_temperature_s": (192, 4, _S_PER_MINUTE, "warning_temp_time"),
    "critical_temperature_s": (196, 4, _S_PER_MINUTE, "critical_comp_time"),
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
    not as many bytes, if none of them is reported, or if some are set that have always been reserved:
    it is another page, or text.
    """
    if len(data) != SMART_LOG_BYTES:
        raise ValueError(f"a SMART log has {SMART_LOG_BYTES} bytes, not {len(data)}")
    if data == b"\xff" * SMART_LOG_BYTES:
        raise ValueError(_GONE)
    if any(data[_RESERVED]):
        raise ValueError("bytes 7 to 31, which are reserved, are not 0: it is not a SMART log")
    values = {
        name: float(reported * factor)
        for name, (start, length, factor, _) in SMART_LOG_FIELDS.items()
        if (reported := _integer(data, start, length)) < _FULL or length < _COUNTERS_BYTES
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


OCP_PAGE: Final = 0xC0
INTEL_PAGE: Final = 0xCA
VENDOR_LOG_BYTES: Final = 512

_INTEL_VENDORS: Final = frozenset({0x8086, 0x025E})
# PCI vendors with drives for data centers that follow OCP: KIOXIA and Toshiba, Micron, Samsung, SanDisk and
# WDC, Seagate, SK hynix, Solidigm, DapuStor, ScaleFlux
_OCP_VENDORS: Final = frozenset(
    {0x1E0F, 0x1179, 0x1344, 0x144D, 0x15B7, 0x1B96, 0x1BB1, 0x1C5C, 0x025E, 0x1E3B, 0x1CC4}
)

_OCP_GUID_AT: Final = 496
# AFD514C9-7C6F-4F9C-A4F2-BFEA2810AFC5, least significant byte first
_OCP_GUID: Final = bytes.fromhex("c5af1028eabff2a49c4f6f7cc914d5af")
# C194D55B-E094-4794-A21D-29998F56BE6F, whose entry of the UUID list stands for OCP's pages
OCP_UUID: Final = bytes.fromhex("c194d55be0944794a21d29998f56be6f")
_UUID_ENTRY_BYTES: Final = 32
_UUID_AT: Final = 16
# name: first byte, bytes
_OCP_FIELDS: Final = {
    "nand_write_bytes": (0, 16),
    "nand_read_bytes": (16, 16),
    "bad_user_blocks": (32, 6),
    "bad_system_blocks": (40, 6),
    "drive_throttle_events": (96, 1),
    "throttle_level": (97, 1),
}

_INTEL_ITEM_BYTES: Final = 12
_INTEL_RAW: Final = slice(5, 11)
_INTEL_NAND_WRITES: Final = 0xF4
_INTEL_HOST_WRITES: Final = 0xF5
_INTEL_UNIT_BYTES: Final = 32 * 2**20
# both counters are read at different moments, and one is rounded
_MOST_APART: Final = 0.02


def vendor_log_page(controller: NvmeController) -> int | None:
    """The page to ask this controller for; None where nothing says that it has one.

    A page that a drive does not have is an entry in its error log: only those are queried that are likely to
    have it. OCP demands namespace management, which drives for laptops lack.
    """
    if controller.vid in _OCP_VENDORS and controller.manages_namespaces:
        return OCP_PAGE
    return INTEL_PAGE if controller.vid in _INTEL_VENDORS else None


def ocp_uuid_index(uuid_list: bytes) -> int:
    """Index of OCP in the UUID list; 0, for no particular vendor, if it is not in it.

    Entries are numbered from 1; the first that is empty ends the list.
    """
    for index in range(1, len(uuid_list) // _UUID_ENTRY_BYTES):
        start = index * _UUID_ENTRY_BYTES + _UUID_AT
        uuid = uuid_list[start : start + len(OCP_UUID)]
        if not any(uuid):
            return 0
        if uuid == OCP_UUID:
            return index
    return 0


def parse_vendor_log(page: int, data: bytes, standard: Mapping[str, float]) -> dict[str, float]:
    """Values of OCP_PAGE or INTEL_PAGE beside those of NVMe's own log, ``standard``.

    Raises ValueError if the page is not what its specification says.
    """
    if len(data) != VENDOR_LOG_BYTES:
        raise ValueError(f"log page {page:02X}h has {VENDOR_LOG_BYTES} bytes, not {len(data)}")
    if data == b"\xff" * VENDOR_LOG_BYTES:
        raise ValueError(_GONE)
    return _parse_ocp(data) if page == OCP_PAGE else _parse_intel(data, standard)


def _parse_ocp(data: bytes) -> dict[str, float]:
    if data[_OCP_GUID_AT:] != _OCP_GUID:
        raise ValueError("it is not the page that OCP describes: its GUID is another one")
    return {
        name: float(value)
        for name, (start, length) in _OCP_FIELDS.items()
        if (value := _integer(data, start, length)) < 2 ** (8 * length) - 1
    }


def _parse_intel(data: bytes, standard: Mapping[str, float]) -> dict[str, float]:
    """What was written to flash, if the same page's count of host writes is that of the standard log."""
    items = {
        data[start]: int.from_bytes(data[start : start + _INTEL_ITEM_BYTES][_INTEL_RAW], "little")
        for start in range(0, VENDOR_LOG_BYTES - _INTEL_ITEM_BYTES + 1, _INTEL_ITEM_BYTES)
    }
    nand, host = items.get(_INTEL_NAND_WRITES), items.get(_INTEL_HOST_WRITES)
    known = standard.get("host_write_bytes")
    if nand is None or host is None or known is None:
        raise ValueError("it has no counts of what was written")
    if abs(host * _INTEL_UNIT_BYTES - known) > _INTEL_UNIT_BYTES + _MOST_APART * known:
        raise ValueError("its count of host writes is not that of log page 02h, so its unit is unknown")
    unit = float(_INTEL_UNIT_BYTES)
    return {"nand_write_bytes": nand * unit, "nand_write_unit_bytes": unit}


PLACEMENT_LOG: Final = 0x22
_LOG_BYTES: Final = 64
# name: first byte of 16
_COUNTERS: Final = {
    "placement_host_write_bytes": 0,
    "placement_media_write_bytes": 16,
    "placement_erased_bytes": 32,
}
_COUNTER_BYTES: Final = 16
_ENDURANCE_GROUP_AT: Final = 102
_HANDLE_COUNT_AT: Final = 14


def placement_health(fd: int, controller: NvmeController) -> dict[str, float]:
    """Values under the names of vocabulary.health; none of a drive without it. Raises NvmeCommandError."""
    if not controller.has_flexible_placement:
        return {}
    nsid = namespace_id(fd)
    if not (group := _integer(identify_namespace(fd, nsid), _ENDURANCE_GROUP_AT, 2)):
        return {}
    statistics = read_log(fd, PLACEMENT_LOG, _LOG_BYTES, endurance_group=group)
    values = {name: float(_integer(statistics, at, _COUNTER_BYTES)) for name, at in _COUNTERS.items()}
    return values | {"placement_handles": float(_integer(handle_status(fd, nsid), _HANDLE_COUNT_AT, 2))}
