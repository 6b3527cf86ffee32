"""nvme-cli decodes the same bytes: each field that it prints is what the tables say, on drawn pages."""

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from openpts_drives.health.nvme_health import OCP_UUID
from openpts_nvme.logs.page import declared_logs, decode
from tests import ROOT
from tests.support.drawn_pages import drawn_page
from tests.support.encoded_pages import encode

_PAGES = 60
_MANUAL = ROOT / "packages/openpts_drives/docs/devices.md"
_SHIM = ROOT / "tests/support/nvme_pages.c"

pytestmark = pytest.mark.skipif(
    shutil.which("nvme") is None or shutil.which("cc") is None, reason="needs nvme-cli and a C compiler"
)

# what openpts calls a field: what nvme-cli calls it
SMART_EXTENDED = {
    "bad_user_blocks": "Bad user nand blocks - Raw",
    "bad_user_blocks_pct": "Bad user nand blocks - Normalized",
    "bad_system_blocks": "Bad system nand blocks - Raw",
    "bad_system_blocks_pct": "Bad system nand blocks - Normalized",
    "xor_recoveries": "XOR recovery count",
    "uncorrectable_read_errors": "Uncorrectable read error count",
    "soft_ecc_errors": "Soft ecc error count",
    "system_data_used_pct": "System data percent used",
    "refreshed_blocks": "Refresh counts",
    "user_data_erase_count_max": "Max User data erase counts",
    "user_data_erase_count_min": "Min User data erase counts",
    "thermal_throttling_events": "Number of Thermal throttling events",
    "thermal_throttling_status": "Current throttling status",
    "pcie_correctable_errors": "PCIe correctable error count",
    "incomplete_shutdowns": "Incomplete shutdowns",
    "free_blocks_pct": "Percent free blocks",
    "capacitor_health_pct": "Capacitor health",
    "unaligned_ios": "Unaligned I/O",
    "security_version_number": "Security Version Number",
    "total_namespace_utilization_blocks": "NUSE - Namespace utilization",
    "power_loss_protection_starts": "PLP start count",
    "endurance_estimate_bytes": "Endurance estimate",
    "dssd_errata_version": "Errata Version Field",
    "dssd_point_version": "Point Version Field",
    "dssd_minor_version": "Minor Version Field",
    "dssd_major_version": "Major Version Field",
    "pcie_link_retrainings": "PCIe Link Retraining Count",
}
SMART = {
    "available_spare_pct": "avail_spare",
    "available_spare_threshold_pct": "spare_thresh",
    "percentage_used_pct": "percent_used",
    "host_read_bytes": "data_units_read",
    "host_write_bytes": "data_units_written",
    "host_read_commands": "host_read_commands",
    "host_write_commands": "host_write_commands",
    "busy_s": "controller_busy_time",
    "power_cycles": "power_cycles",
    "power_on_hours": "power_on_hours",
    "unsafe_shutdowns": "unsafe_shutdowns",
    "media_errors": "media_errors",
    "error_log_entries": "num_err_log_entries",
    "warning_temperature_s": "warning_temp_time",
    "critical_temperature_s": "critical_comp_time",
    "thermal_management_1_transitions": "thm_temp1_trans_count",
    "thermal_management_2_transitions": "thm_temp2_trans_count",
    "thermal_management_1_s": "thm_temp1_total_time",
    "thermal_management_2_s": "thm_temp2_total_time",
}
LATENCY_MONITOR = {
    "active_bucket_timer_min": "Active Bucket Timer",
    "active_bucket_timer_threshold_min": "Active Bucket Timer Threshold",
    "active_threshold_a_ms": "Active Threshold A",
    "active_threshold_b_ms": "Active Threshold B",
    "active_threshold_c_ms": "Active Threshold C",
    "active_threshold_d_ms": "Active Threshold D",
    "active_latency_minimum_window_ms": "Active Lantency Minimum Window",
}
OPERATIONS = ("read", "write", "deallocate")
# nvme-cli 2.3 prints what is at a place; its words for these places were repaired in later releases, as were
# those of two counters of page C0h. It never prints the counter of reads, and half of two versions.
COUNTERS_2_3 = {"deallocate": "Write", "write": "Trim"}
REVERSED_2_3 = {"deallocate": "Read", "write": "Write", "read": "Trim"}
SWAPPED_2_3 = {
    "end_to_end_errors_detected": "End to end corrected errors",
    "end_to_end_errors_corrected": "End to end detected errors",
}
FDP_CONFIGURATION = {
    "reclaim_groups": "nrg",
    "reclaim_unit_handles": "nruh",
    "most_namespaces": "nnss",
    "reclaim_unit_bytes": "runs",
    "reclaim_unit_time_limit_s": "erutl",
}
# and the lower half of this one
CUT_2_3 = {"pcie_link_retrainings"}
HALVES_2_3 = {"dssd_point_version": 8, "dssd_minor_version": 8}

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def preload(tmp_path_factory) -> Path:
    """What answers nvme-cli's admin commands from files."""
    library = tmp_path_factory.mktemp("shim") / "pages.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, _SHIM], check=True, timeout=60)
    return library


@pytest.fixture
def environment(preload: Path, tmp_path) -> Mapping[str, str]:
    """nvme-cli in it is answered from the test's folder."""
    uuids = bytearray(4096)
    uuids[48:64] = OCP_UUID
    (tmp_path / "06-17").write_bytes(uuids)
    return os.environ | {"LD_PRELOAD": str(preload), "NVME_PAGES": str(tmp_path)}


@pytest.fixture
def cli(environment: Mapping[str, str], tmp_path) -> Cli:
    """Decodes bytes of a page: (name, bytes, words) to what nvme-cli prints as JSON."""

    def decoded(name: str, data: bytes, *words: str) -> Any:
        (tmp_path / f"02-{declared_logs()[name].id:02X}").write_bytes(data)
        command = ["nvme", *words, "/dev/null", "-o", "json"]
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=20, check=True
        )
        return json.loads(ended.stdout)

    return decoded


def test_the_lines_of_the_manual_print_what_the_drive_has(environment, tmp_path) -> None:
    lines = re.findall(r"^    (nvme .*)$", _MANUAL.read_text(), re.MULTILINE)
    assert len(lines) == 5
    for name in ("smart", "smart-extended", "latency-monitor", "fdp-statistics", "unsupported-requirements"):
        log, draw = declared_logs()[name], random.Random(name)
        version = 1 if name == "latency-monitor" else None  # the one that nvme-cli 2.3 knows
        (tmp_path / f"02-{log.id:02X}").write_bytes(encode(log, drawn_page(log, draw, version), version))
    for line in lines:
        typed = line.replace("/dev/nvme0", "/dev/null")
        subprocess.run(["bash", "-c", typed], env=environment, cwd=tmp_path, timeout=20, check=True)
    assert (tmp_path / "c5.bin").read_bytes() == (tmp_path / "02-C5").read_bytes()


def pages(name: str, version: int | None = None) -> Any:
    """Drawn pages: their bytes, and what openpts makes of them."""
    log, draw = declared_logs()[name], random.Random(name)
    for _ in range(_PAGES):
        data = encode(log, drawn_page(log, draw, version), version)
        yield data, decode(log, data).values


def same(value: int, printed: Any, width: int) -> bool:
    """Whether nvme-cli, which prints some of its numbers as signed ones, prints this value."""
    return value % (1 << width) == int(printed) % (1 << width)


def raw_value(name: str, field_name: str, value: Any) -> int:
    """The number in the page for a value."""
    field = next(one for one in declared_logs()[name].fields if one.name == field_name)
    return int(field.none or 0) if value is None else (value - field.plus) // field.times


def check(
    name: str, names: Mapping[str, str], values: Mapping[str, Any], printed: Mapping[str, Any], *, raw: bool
) -> None:
    widths = {one.name: 8 * one.width for one in declared_logs()[name].fields} | HALVES_2_3
    for own, theirs in names.items():
        value = raw_value(name, own, values[own]) if raw or values[own] is None else values[own]
        width = min(widths[own], 32) if own in CUT_2_3 else widths[own]
        assert same(value, printed[theirs], width), own


def test_smart_extended(cli) -> None:
    for data, values in pages("smart-extended"):
        printed = cli("smart-extended", data, "ocp", "smart-add-log")
        check("smart-extended", SMART_EXTENDED | SWAPPED_2_3, values, printed, raw=True)
        for own, theirs in {"written": "written", "read": "read"}.items():
            halves = printed[f"Physical media units {theirs}"]
            assert values[f"physical_media_{own}_bytes"] == halves["hi"] << 64 | halves["lo"]
        assert printed["Log page version"] == 6
        assert printed["NVMe Errata Version"] == ord(values["nvme_base_errata_version"] or "\0")


def test_smart(cli) -> None:
    for data, values in pages("smart"):
        printed = cli("smart", data, "smart-log")
        check("smart", SMART, values, printed, raw=True)
        kelvins = [printed.get(f"temperature_sensor_{sensor}", 0) for sensor in range(1, 9)]
        assert values["temperature_sensor_c"] == [kelvin - 273 if kelvin else None for kelvin in kelvins]
        assert (values["temperature_c"] if values["temperature_c"] is not None else -273) == printed[
            "temperature"
        ] - 273
        flags = ["spare", "temperature", "reliability", "read_only", "volatile_backup", "persistent_memory"]
        bits = sum(values[f"warns_of_{flag}"] << place for place, flag in enumerate(flags))
        assert bits == printed["critical_warning"]


def test_latency_monitor(cli) -> None:
    for data, values in pages("latency-monitor", version=1):
        printed = cli("latency-monitor", data, "ocp", "latency-monitor-log")
        check("latency-monitor", LATENCY_MONITOR, values, printed, raw=False)
        for kind in ("active", "static"):
            for bucket in range(4):
                _check_bucket(kind, bucket, values, printed)
            units = sum(
                values[f"{kind}_{operation}_stamp_is_of_host"][bucket] << 3 * bucket + place
                for place, operation in enumerate(OPERATIONS)
                for bucket in range(4)
            )
            assert units == printed[f"{kind.title()} Latency Stamp Units"]


def _check_bucket(kind: str, bucket: int, values: Mapping[str, Any], printed: Mapping[str, Any]) -> None:
    title = kind.title()
    for own, theirs in COUNTERS_2_3.items():
        printed_count = printed[f"{title} Bucket Counter: Bucket {bucket}"][theirs]
        assert same(values[f"{kind}_{own}s"][bucket], printed_count, 32)
    for own, theirs in REVERSED_2_3.items():
        latencies = printed[f"{title} Measured Latency: Bucket {3 - bucket}"]
        assert (values[f"{kind}_{own}_latency_ms"][bucket] or 0) == latencies[theirs]


def test_stamps_of_the_latency_monitor(cli) -> None:
    log, draw = declared_logs()["latency-monitor"], random.Random(0)
    for _ in range(_PAGES):
        drawn = drawn_page(log, draw, 1)
        moments = {}
        for kind in ("active", "static"):
            for operation in OPERATIONS:
                moments[kind, operation] = [draw.randrange(1 << 41) for _ in range(4)]
                drawn[f"{kind}_{operation}_stamp"] = [
                    {"ms": ms, "may_have_stopped": False, "origin": 0} for ms in moments[kind, operation]
                ]
        printed = cli("latency-monitor", encode(log, drawn, 1), "ocp", "latency-monitor-log")
        for (kind, operation), stamps in moments.items():
            for bucket, ms in enumerate(stamps):
                stamps_2_3 = printed[f"{kind.title()} Latency Time Stamp: Bucket {3 - bucket}"]
                moment = datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
                assert stamps_2_3[REVERSED_2_3[operation]] == f"{moment}.{ms % 1000:03d} GMT"


def test_placement(cli) -> None:
    for data, values in pages("fdp-statistics"):
        printed = cli("fdp-statistics", data, "fdp", "stats", "-e", "1")
        assert {int(printed[name]) for name in ("hbmw", "mbmw", "mbe")} == set(values.values())
        assert int(printed["mbe"]) == values["media_erased_bytes"]
    for data, values in pages("fdp-handle-usage"):
        printed = cli("fdp-handle-usage", data, "fdp", "usage", "-e", "1")
        assert [entry["use"] for entry in values["handles"]] == [each["ruha"] for each in printed["ruhus"]]
    for data, values in pages("fdp-configurations"):
        printed = cli("fdp-configurations", data, "fdp", "configs", "-e", "1")
        for entry, theirs in zip(values["configurations"], printed["configs"], strict=True):
            for own, name in FDP_CONFIGURATION.items():
                width = 64 if own == "reclaim_unit_bytes" else 32
                assert same(entry[own] or 0, theirs[name], width), own
    for data, values in pages("fdp-events"):
        printed = cli("fdp-events", data, "fdp", "events", "-e", "1")
        for entry, theirs in zip(values["events"], printed["events"], strict=True):
            assert (entry["type"], entry["placement_identifier"]) == (theirs["type"], theirs["pid"])
            assert same(entry["namespace"], theirs["nsid"], 32)
            assert entry["stamp"] is None or same(entry["stamp"]["ms"], theirs["timestamp"], 48)
