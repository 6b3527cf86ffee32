"""The largest write that a power cut leaves whole or not there at all."""

from typing import Final

from msgspec import Struct

from openpts.device.block_device import DeviceKind
from openpts.device.nvme.nvme_admin import NvmeCommandError, identify_controller, identify_namespace
from openpts.device.nvme.nvme_identify import NvmeNamespace
from openpts.device.targets.open_target import OpenTarget

_OWN_UNITS: Final = 1 << 1  # NSFEAT: NAWUPF is the namespace's own


class PowerFailUnit(Struct, frozen=True):
    """``each_sector``: of a longer write each logical block is old or new; otherwise nothing is promised."""

    bytes: int
    source: str
    each_sector: bool


def power_fail_unit(target: OpenTarget) -> PowerFailUnit:
    """What the drive reports: of NVMe NAWUPF or AWUPF, of others the logical block; never raises."""
    sector_bytes, device = target.facts.sector_bytes, target.device
    block = PowerFailUnit(sector_bytes, "logical block", each_sector=True)
    if device is None or device.kind is not DeviceKind.NVME:
        return block
    try:
        controller = identify_controller(target.fd)
        namespace = NvmeNamespace.parse(identify_namespace(target.fd, device.whole.integer("nsid") or 1))
    except (OSError, ValueError, NvmeCommandError) as error:
        return PowerFailUnit(sector_bytes, f"logical block; identify failed: {error}", each_sector=False)
    own = bool(namespace.nsfeat & _OWN_UNITS)
    blocks, name = (namespace.nawupf, "NAWUPF") if own else (controller.awupf, "AWUPF")
    # writes are aligned to their length: they cross no boundary that is no smaller and begins at 0
    if own and namespace.nabspf:
        blocks = 0 if namespace.nabo else min(blocks, namespace.nabspf)
    return PowerFailUnit((blocks + 1) * sector_bytes, f"{name} {blocks}", each_sector=False)
