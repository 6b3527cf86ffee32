"""Log pages beyond NVMe's own that tell what was written to the flash.

OCP Datacenter NVMe SSD Specification, "SMART / Health Information Extended (Log Identifier C0h)", and page
CAh of Intel's and Solidigm's drives, whose items are described in their product specifications.
"""

from collections.abc import Mapping
from typing import Final

from openpts.device.health.nvme_smart import GONE
from openpts.device.nvme.nvme_identify import NvmeController

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
_OCP_UUID: Final = bytes.fromhex("c194d55be0944794a21d29998f56be6f")
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

    A page that a drive does not have is an entry in its error log: only those are asked that are likely to
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
        uuid = uuid_list[start : start + len(_OCP_UUID)]
        if not any(uuid):
            return 0
        if uuid == _OCP_UUID:
            return index
    return 0


def parse_vendor_log(page: int, data: bytes, standard: Mapping[str, float]) -> dict[str, float]:
    """Values of OCP_PAGE or INTEL_PAGE beside those of NVMe's own log, ``standard``.

    Raises ValueError if the page is not what its specification says.
    """
    if len(data) != VENDOR_LOG_BYTES:
        raise ValueError(f"log page {page:02X}h has {VENDOR_LOG_BYTES} bytes, not {len(data)}")
    if data == b"\xff" * VENDOR_LOG_BYTES:
        raise ValueError(GONE)
    return _parse_ocp(data) if page == OCP_PAGE else _parse_intel(data, standard)


def _parse_ocp(data: bytes) -> dict[str, float]:
    if data[_OCP_GUID_AT:] != _OCP_GUID:
        raise ValueError("it is not the page that OCP describes: its GUID is another one")
    told = {
        name: int.from_bytes(data[start : start + length], "little")
        for name, (start, length) in _OCP_FIELDS.items()
    }
    full = {name: 2 ** (8 * length) - 1 for name, (_, length) in _OCP_FIELDS.items()}
    return {name: float(value) for name, value in told.items() if value < full[name]}


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
