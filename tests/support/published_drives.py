"""Drives whose figures somebody has published: read from tests/data/drives, put back into a drive's words.

NVMe drives are packed into the binary pages that they were decoded from; ATA and SCSI drives into the JSON
that smartctl prints for them. Both layouts are written down a second time, here and in smart_log.py.
"""

import struct
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests import DATA
from tests.support.smart_log import SmartLog

DRIVES: Final = DATA / "drives"
_SIGNED_32: Final = 2**32

# our names, and those of the layout
_WIDE_COUNTERS: Final = {
    "data_units_read": "data_units_read",
    "data_units_written": "data_units_written",
    "host_read_commands": "host_reads",
    "host_write_commands": "host_writes",
    "controller_busy_min": "busy_minutes",
    "power_cycles": "power_cycles",
    "power_on_hours": "power_on_hours",
    "unsafe_shutdowns": "unsafe_shutdowns",
    "media_errors": "media_errors",
    "error_log_entries": "error_log_entries",
}
_COUNTERS: Final = {
    "warning_temperature_min": "warning_minutes",
    "critical_temperature_min": "critical_minutes",
    "thermal_1_transitions": "light_transitions",
    "thermal_2_transitions": "heavy_transitions",
    "thermal_1_s": "light_s",
    "thermal_2_s": "heavy_s",
}
_PAGE_NAMES: Final = {
    1: "General Statistics",
    4: "General Errors Statistics",
    5: "Temperature Statistics",
    7: "Solid State Device Statistics",
}


@dataclass(frozen=True, slots=True)
class PublishedDrive:
    """``identity`` and ``smart`` are what the tool of ``source`` printed, under names of ours."""

    name: str
    source: Mapping[str, str]
    identity: Mapping[str, Any]
    smart: Mapping[str, Any]


def published(kind: str) -> list[PublishedDrive]:
    """The drives of a folder: ``nvme``, ``ata`` or ``scsi``."""
    files = sorted((DRIVES / kind).glob("*.toml"))
    return [PublishedDrive(file.stem, **tomllib.loads(file.read_text())) for file in files]


def captured(name: str) -> str:
    """What smartctl printed for a device of the lab."""
    return (DRIVES / "captured" / f"{name}.json").read_text()


def smart_page(drive: PublishedDrive) -> bytes:
    """Log page 02h as the drive must have sent it."""
    log, told = SmartLog(), drive.smart
    log.critical_warning = told["critical_warning"]
    log.composite_temperature_k = told["temperature_c"] + 273
    log.available_spare = told["available_spare_pct"]
    log.available_spare_threshold = told["available_spare_threshold_pct"]
    log.percentage_used = told["percentage_used_pct"]
    for name, attribute in _WIDE_COUNTERS.items():
        getattr(log, attribute)[:] = (int(told[name]) % 2**64, int(told[name]) // 2**64)
    for name, attribute in _COUNTERS.items():
        # tools print some of these as signed numbers
        setattr(log, attribute, told.get(name, 0) % _SIGNED_32)
    for sensor, celsius in enumerate(told.get("sensors_c", ())):
        log.sensors_k[sensor] = celsius + 273
    return bytes(log)


def identify_page(drive: PublishedDrive) -> bytes:
    """Identify Controller, as far as its fields were published."""
    page = bytearray(4096)
    told = drive.identity
    vendor = told.get("pci_vendor", 0)
    struct.pack_into("<HH", page, 0, vendor, told.get("pci_subsystem_vendor", vendor))
    page[4:24] = b"SERIAL OF OURS".ljust(20)
    page[24:64] = told["model"].encode().ljust(40)
    page[64:72] = told.get("firmware", "").encode().ljust(8)
    page[73:76] = told.get("ieee_oui", 0).to_bytes(3, "little")
    struct.pack_into("<H", page, 78, told.get("controller_id", 0))
    major, minor, patch = ([int(part) for part in told.get("version", "0").split(".")] + [0, 0])[:3]
    struct.pack_into("<I", page, 80, major << 16 | minor << 8 | patch)
    struct.pack_into("<H", page, 256, told.get("oacs", 0))
    limits = (told[name] + 273 if name in told else 0 for name in ("warning_limit_c", "critical_limit_c"))
    struct.pack_into("<HH", page, 266, *limits)
    page[280:296] = told.get("total_capacity_bytes", 0).to_bytes(16, "little")
    struct.pack_into("<I", page, 516, told.get("namespaces", 0))
    struct.pack_into("<H", page, 520, told.get("oncs", 0))
    states = told.get("power_states", [[0.0, 0, 0]])
    page[263] = len(states) - 1
    for number, (watts, entry_us, exit_us) in enumerate(states):
        # below half a watt drives use the finer scale; states of them do no I/O
        idle = watts < 0.5
        power = round(watts * (10000 if idle else 100))
        struct.pack_into("<HxBII", page, 2048 + 32 * number, power, 3 if idle else 0, entry_us, exit_us)
    return bytes(page)


def smartctl_json_of_ata(drive: PublishedDrive) -> dict[str, Any]:
    """smartctl 7's JSON for what its text output told."""
    told, identity = drive.smart, drive.identity
    table = [_attribute(*row) for row in told["attributes"]]
    raw = {row["id"]: row["raw"]["string"] for row in table}
    tree = _envelope(drive, "ATA") | {
        "firmware_version": identity["firmware"],
        "in_smartctl_database": identity["in_smartctl_database"],
        "smart_status": {"passed": True},
        "ata_smart_attributes": {"revision": 1, "table": table},
        "power_on_time": {"hours": _leading_number(raw[9])},
    }
    if 12 in raw:
        tree["power_cycle_count"] = _leading_number(raw[12])
    if "family" in identity:
        tree["model_family"] = identity["family"]
    temperature = told.get("sct_temperature_c", raw.get(194, raw.get(190)))
    if temperature is not None:
        tree["temperature"] = {"current": _leading_number(str(temperature))}
    if "statistics" in told:
        tree["ata_device_statistics"] = {"pages": _pages(told["statistics"])}
    return tree


def smartctl_json_of_scsi(drive: PublishedDrive) -> dict[str, Any]:
    """The same for a SCSI drive."""
    told = drive.smart
    hours, minutes = told["power_on"]
    tree = _envelope(drive, "SCSI") | {
        "smart_status": {"passed": told["passed"]},
        "temperature": {"current": told["temperature_c"], "drive_trip": told["drive_trip_c"]},
        "power_on_time": {"hours": hours, "minutes": minutes},
        "scsi_grown_defect_list": told["grown_defects"],
    }
    if "percentage_used_pct" in told:
        tree["scsi_percentage_used_endurance_indicator"] = told["percentage_used_pct"]
    if "uncorrected" in told:
        tree["scsi_error_counter_log"] = {
            kind: {"total_uncorrected_errors": count} for kind, count in told["uncorrected"].items()
        }
    return tree


def _envelope(drive: PublishedDrive, protocol: str) -> dict[str, Any]:
    return {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "device": {"name": "/dev/sda", "protocol": protocol},
        "model_name": drive.identity["model"],
        "user_capacity": {"bytes": drive.identity["capacity_bytes"]},
        "logical_block_size": drive.identity["logical_block_bytes"],
    }


def _attribute(number: int, name: str, value: int, raw: str) -> dict[str, Any]:
    return {"id": number, "name": name, "value": value, "raw": {"string": raw}}


def _leading_number(text: str) -> int:
    digits = len(text) - len(text.lstrip("0123456789"))
    return int(text[:digits])


def _pages(rows: list[tuple[int, int, str, int]]) -> list[dict[str, Any]]:
    flags = {"value": 192, "string": "V--- ", "valid": True, "normalized": False}
    return [
        {
            "number": page,
            "name": _PAGE_NAMES[page],
            "table": [
                {"offset": offset, "name": name, "value": value, "flags": flags}
                for at, offset, name, value in rows
                if at == page
            ],
        }
        for page in sorted({row[0] for row in rows})
    ]
