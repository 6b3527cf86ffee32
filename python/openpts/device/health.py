"""The device's own log of its health, under the names of vocabulary.health; nothing is guessed."""

from collections.abc import Mapping
from typing import Final

from openpts.device.block_device import DeviceKind
from openpts.device.nvme_admin import NvmeCommandError, identify_controller, read_smart_log
from openpts.device.nvme_smart import parse_smart_log
from openpts.device.open_target import OpenTarget
from openpts.vocabulary.health import HealthReading

NVME_LOG: Final = "NVMe log page 02h"
SIMULATED_LOG: Final = "the simulated drive's own log"
_MODEL_PAGE_BYTES: Final = 4096  # what all models of simulated drives map

# the names of a simulated drive's log, where they are others
_SIMULATED_NAMES: Final = {
    "host_reads": "host_read_commands",
    "host_writes": "host_write_commands",
    "percentage_used": "percentage_used_pct",
}
_SIMULATED_AS_THEY_ARE: Final = (
    "temperature_c",
    "available_spare_pct",
    "read_only",
    "host_read_bytes",
    "host_write_bytes",
    "erases",
    "erase_count_mean",
    "erase_count_max",
    "bad_superblocks",
    "media_errors",
    "throttle_events",
    "warning_temperature_s",
    "critical_temperature_s",
    "busy_s",
    "energy_j",
)


def read_health(target: OpenTarget) -> HealthReading:
    """Read the log of a drive that is open; never raises: the source says why there are no values."""
    device = target.device
    if device is None:
        return HealthReading("a file has no log of its health")
    if device.kind is not DeviceKind.NVME:
        return HealthReading(f"openpts reads no health log of this kind of device ({device.kind})")
    try:
        log = parse_smart_log(read_smart_log(target.fd))
        return HealthReading(NVME_LOG, log | identify_controller(target.fd).temperature_limits_c)
    except NvmeCommandError as error:
        return HealthReading(f"{NVME_LOG} can't be read: {error}")


def simulated_health(
    log: Mapping[str, float | None], *, has_flash: bool, limits_c: Mapping[str, float]
) -> HealthReading:
    """The log of a simulated drive; one that follows a script has no flash, so nothing is written to it.

    ``limits_c`` are the preset's ``warning_c`` and ``critical_c``, as far as it has them.
    """
    values = {
        _SIMULATED_NAMES.get(name, name): float(value)
        for name in (*_SIMULATED_AS_THEY_ARE, *_SIMULATED_NAMES)
        if (value := log.get(name)) is not None
    }
    values |= {
        f"{name.removesuffix('_c')}_limit_c": float(limits_c[name])
        for name in ("warning_c", "critical_c")
        if name in limits_c
    }
    pages = log.get("nand_pages_total")
    if has_flash and pages is not None:
        values["nand_write_bytes"] = float(pages) * _MODEL_PAGE_BYTES
    return HealthReading(SIMULATED_LOG, values)
