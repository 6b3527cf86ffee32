"""Health of a SCSI or SAS drive, as smartctl reads it: SPC's and SBC's log pages.

And of an NVMe drive behind a bridge that shows it as a SCSI disk, such as a USB enclosure's: the kernel knows
no NVMe drive there and its ioctl reaches none; smartctl knows the bridges' own ways to it.
"""

from typing import Final

from openpts_drives.health.ata_health import plausible_temperature_c
from openpts_drives.health.nvme_health import SMART_LOG_FIELDS
from openpts_drives.health.smartctl import Reported, SmartctlAnswer

# before it, smartctl's JSON had the length of the list in bytes under this name
_COUNTS_DEFECTS_SINCE: Final = (7, 4)
_MINUTES_PER_HOUR: Final = 60
_LARGEST_PERCENTAGE: Final = 255


def scsi_health(answer: SmartctlAnswer) -> Reported:
    """Values under the names of vocabulary.health."""
    reported = Reported()
    reported.add("temperature_c", _temperature_c(answer))
    reported.add("warning_limit_c", _reference_temperature_c(answer))
    hours = answer.number("power_on_time", "hours")
    if hours is not None:
        minutes = answer.number("power_on_time", "minutes") or 0
        reported.add("power_on_hours", hours + minutes / _MINUTES_PER_HOUR)
    used = answer.number("scsi_percentage_used_endurance_indicator")
    if used is not None and 0 <= used <= _LARGEST_PERCENTAGE:
        reported.add("percentage_used_pct", used)
    defects = answer.number("scsi_grown_defect_list")
    if defects is not None and (defects == 0 or answer.version >= _COUNTS_DEFECTS_SINCE):
        reported.add("grown_defects", defects)
    reported.add("media_errors", _uncorrected(answer))
    return reported


def _temperature_c(answer: SmartctlAnswer) -> float | None:
    """The Temperature log's; drives with an Environmental Reporting log may have it only there."""
    places = (("temperature", "current"), ("scsi_environmental_reports", "temperature_1", "current"))
    return _first_plausible_c(answer, places)


def _reference_temperature_c(answer: SmartctlAnswer) -> float | None:
    """SPC's reference temperature: up to it the device works without harm."""
    return _first_plausible_c(answer, (("temperature", "drive_trip"), ("scsi_temperature", "drive_trip")))


def _first_plausible_c(answer: SmartctlAnswer, places: tuple[tuple[str, ...], ...]) -> float | None:
    found = (plausible_temperature_c(answer.number(*place)) for place in places)
    return next((told_c for told_c in found if told_c is not None), None)


def _uncorrected(answer: SmartctlAnswer) -> float | None:
    """Errors that reading, writing and verifying could not correct."""
    kinds = ("read", "write", "verify")
    counts = [answer.number("scsi_error_counter_log", kind, "total_uncorrected_errors") for kind in kinds]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


_NVME_LOG: Final = "nvme_smart_health_information_log"
# a counter at this value is saturated
_SATURATED: Final = float(2**64 - 1)


def bridged_nvme_health(answer: SmartctlAnswer) -> Reported:
    """Values under the names of vocabulary.health."""
    reported = Reported()
    for name, (_, _, factor, word) in SMART_LOG_FIELDS.items():
        value = answer.number(_NVME_LOG, word)
        if value is not None and 0 <= value < _SATURATED:
            reported.add(name, value * factor)
    reported.add("temperature_c", plausible_temperature_c(answer.number(_NVME_LOG, "temperature")))
    return reported
