"""What an NVMe drive counts of flexible data placement: bytes of its endurance group, and handles.

NVM Express Base Specification, "FDP Statistics (Log Page Identifier 22h)", "Identify Namespace" (ENDGID) and
"I/O Management Receive", "Reclaim Unit Handle Status".
"""

from typing import Final

from openpts.device.nvme.nvme_admin import handle_status, identify_namespace, namespace_id, read_log
from openpts.device.nvme.nvme_identify import NvmeController

PLACEMENT_LOG: Final = 0x22
_LOG_BYTES: Final = 64
# name: first byte of 16
_COUNTERS: Final = {
    "placement_host_write_bytes": 0,
    "placement_media_write_bytes": 16,
    "placement_erased_bytes": 32,
}
_COUNTER_BYTES: Final = 16
_ENDURANCE_GROUP: Final = slice(102, 104)
_HANDLE_COUNT: Final = slice(14, 16)


def placement_health(fd: int, controller: NvmeController) -> dict[str, float]:
    """Values under the names of vocabulary.health; none of a drive without it. Raises NvmeCommandError."""
    if not controller.has_flexible_placement:
        return {}
    nsid = namespace_id(fd)
    group = int.from_bytes(identify_namespace(fd, nsid)[_ENDURANCE_GROUP], "little")
    if not group:
        return {}
    statistics = read_log(fd, PLACEMENT_LOG, _LOG_BYTES, endurance_group=group)
    values = {name: float(_integer(statistics, at)) for name, at in _COUNTERS.items()}
    values["placement_handles"] = float(int.from_bytes(handle_status(fd, nsid)[_HANDLE_COUNT], "little"))
    return values


def _integer(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + _COUNTER_BYTES], "little")
