"""The other namespaces of a controller: what is sent to the controller as a whole concerns them too."""

import re
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind

# nvme0n2, and not nvme0c1n2, which is one path to it
_NAMESPACE: Final = re.compile(r"nvme[0-9]+n[0-9]+")


def sibling_namespaces(device: BlockDevice) -> tuple[BlockDevice, ...]:
    """Namespaces that share the controller (with multipath the subsystem), sorted; none for other drives."""
    if device.kind is not DeviceKind.NVME:
        return ()
    whole = device.whole
    beside = sorted(whole.folder.parent.glob("nvme*"))
    return tuple(
        BlockDevice(folder, device.roots)
        for folder in beside
        if folder != whole.folder and _NAMESPACE.fullmatch(folder.name) and (folder / "size").exists()
    )
