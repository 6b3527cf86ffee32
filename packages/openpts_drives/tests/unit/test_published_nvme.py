"""Figures that another tool read in real drives and published, put into pages by a layout written down here.

The pages themselves were not published, so this says nothing of the layout: test_nvme_smart.py and
test_nvme_identify.py do. It says that no figure of a drive that exists is left out or misunderstood, and it
holds our bytes against those that the other tool had rounded by itself.
"""

import re
from decimal import Decimal

import pytest

from openpts.device.nvme_admin import parse_identify_controller
from openpts_drives.health.nvme_health import parse_smart_log
from tests.support.published_drives import identify_page, published, smart_page

DRIVES = published("nvme")
BY_NAME = {drive.name: drive for drive in DRIVES}
UNITS = {"MB": 6, "GB": 9, "TB": 12}

each_drive = pytest.mark.parametrize("drive", DRIVES, ids=lambda drive: drive.name)


def test_there_are_models_enough() -> None:
    assert len({drive.identity["model"] for drive in DRIVES}) >= 20
    assert len({drive.identity["vendor"] for drive in DRIVES}) >= 3


@each_drive
def test_the_log_says_what_the_other_tool_read_in_it(drive) -> None:
    values = parse_smart_log(smart_page(drive))
    told = drive.smart
    as_told = (
        "critical_warning temperature_c available_spare_pct available_spare_threshold_pct "
        "percentage_used_pct host_read_commands host_write_commands power_cycles power_on_hours "
        "unsafe_shutdowns media_errors error_log_entries"
    )
    assert {name: values[name] for name in as_told.split()} == {name: told[name] for name in as_told.split()}
    assert values["busy_s"] == told["controller_busy_min"] * 60
    sensors = [values[name] for name in sorted(values) if name.startswith("temperature_sensor")]
    assert sensors == told.get("sensors_c", [])
    assert values["warning_temperature_s"] == 60 * told.get("warning_temperature_min", 0)
    assert values["critical_temperature_s"] == 60 * told.get("critical_temperature_min", 0)
    assert values["throttle_events"] == told.get("thermal_2_transitions", 0)


@each_drive
def test_bytes_are_those_that_the_other_tool_rounded(drive) -> None:
    values = parse_smart_log(smart_page(drive))
    for name, units in (("host_read_bytes", "data_units_read"), ("host_write_bytes", "data_units_written")):
        if (text := drive.smart.get(f"{units}_told")) is not None:
            least, most = _bounds(text)
            assert least <= values[name] < most


def _bounds(text: str) -> tuple[float, float]:
    """Three digits, the rest cut off: the numbers that are written like this."""
    match = re.fullmatch(r"([\d.]+) (\w+)", text)
    number, scale = Decimal(match[1]), 10 ** UNITS[match[2]]
    last_digit = Decimal(1).scaleb(number.as_tuple().exponent)  # type: ignore[arg-type]
    return float(number * scale), float((number + last_digit) * scale)


@each_drive
def test_the_controller_says_who_it_is(drive) -> None:
    controller = parse_identify_controller(identify_page(drive))
    told = drive.identity
    vendor = told.get("pci_vendor", 0)
    assert controller.sn == "SERIAL OF OURS"
    assert (controller.vid, controller.ssvid) == (vendor, told.get("pci_subsystem_vendor", vendor))
    assert (controller.cntlid, controller.nn, controller.tnvmcap) == (
        told.get("controller_id", 0),
        told.get("namespaces", 0),
        told.get("total_capacity_bytes", 0),
    )
    assert (controller.version, controller.oacs, controller.oncs) == (
        told.get("version"),
        told.get("oacs", 0),
        told.get("oncs", 0),
    )
    limits = {name: told[name] for name in ("warning_limit_c", "critical_limit_c") if name in told}
    assert controller.temperature_limits_c == limits


def test_a_time_of_throttling_longer_than_the_drive_has_lived_is_left_out() -> None:
    # 3,109,964,708 s in 3,114 hours: another tool printed it as a negative number
    drive = BY_NAME["micron-2200s-512gb"]
    values = parse_smart_log(smart_page(drive))
    assert "throttled_s" not in values
    assert values["throttle_events"] == 20
    assert parse_smart_log(smart_page(BY_NAME["samsung-970-evo"]))["throttled_s"] == 0


def test_a_threshold_of_0_is_a_number_like_others() -> None:
    values = parse_smart_log(smart_page(BY_NAME["intel-optane-ssdpe21k375ga"]))
    assert (values["available_spare_pct"], values["available_spare_threshold_pct"]) == (100, 0)
    assert values["critical_warning"] == 0
