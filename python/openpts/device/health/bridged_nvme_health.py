"""Health of an NVMe drive behind a bridge that shows it as a SCSI disk, such as a USB enclosure's.

The kernel knows no NVMe drive there and its ioctl reaches none; smartctl knows the bridges' own ways to it.
"""

from typing import Final

from openpts.device.health.ata_health import plausible_temperature_c
from openpts.device.health.conflicting_values import Told
from openpts.device.health.smartctl import SmartctlAnswer

_LOG: Final = "nvme_smart_health_information_log"
_DATA_UNIT_BYTES: Final = 512_000
_S_PER_MINUTE: Final = 60
# a counter at this value is saturated
_FULL: Final = float(2**64 - 1)
# smartctl's names: ours, and the factor to the unit in them
_FIELDS: Final = {
    "critical_warning": ("critical_warning", 1),
    "available_spare": ("available_spare_pct", 1),
    "available_spare_threshold": ("available_spare_threshold_pct", 1),
    "percentage_used": ("percentage_used_pct", 1),
    "data_units_read": ("host_read_bytes", _DATA_UNIT_BYTES),
    "data_units_written": ("host_write_bytes", _DATA_UNIT_BYTES),
    "host_reads": ("host_read_commands", 1),
    "host_writes": ("host_write_commands", 1),
    "controller_busy_time": ("busy_s", _S_PER_MINUTE),
    "power_cycles": ("power_cycles", 1),
    "power_on_hours": ("power_on_hours", 1),
    "unsafe_shutdowns": ("unsafe_shutdowns", 1),
    "media_errors": ("media_errors", 1),
    "num_err_log_entries": ("error_log_entries", 1),
    "warning_temp_time": ("warning_temperature_s", _S_PER_MINUTE),
    "critical_comp_time": ("critical_temperature_s", _S_PER_MINUTE),
}


def bridged_nvme_health(answer: SmartctlAnswer) -> Told:
    """Values under the names of vocabulary.health."""
    told = Told()
    for theirs, (name, factor) in _FIELDS.items():
        value = answer.number(_LOG, theirs)
        if value is not None and 0 <= value < _FULL:
            told.add(name, value * factor)
    told.add("temperature_c", plausible_temperature_c(answer.number(_LOG, "temperature")))
    return told
