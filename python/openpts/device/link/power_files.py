"""Where it is set what may save power on the way to a drive: the link, the drive itself, what it hangs on."""

from pathlib import Path

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.identity.interface import hardware_folder, nvme_controller_folder
from openpts.device.link.pcie import pci_functions


def link_state_files(device: BlockDevice) -> tuple[Path, ...]:
    """The switches of the states that save power on the drive's own PCIe link (Linux 5.5)."""
    functions = pci_functions(hardware_folder(device))
    return tuple(sorted((functions[0] / "link").glob("*_aspm"))) if functions else ()


def apst_file(device: BlockDevice) -> Path | None:
    """Where the latency is set that the controller may take to wake by itself."""
    controller = nvme_controller_folder(device) if device.kind is DeviceKind.NVME else None
    return None if controller is None else controller / "power/pm_qos_latency_tolerance_us"


def pci_power_control(device: BlockDevice) -> Path | None:
    """Whether the PCI function above the drive may be suspended."""
    functions = pci_functions(hardware_folder(device))
    return functions[0] / "power/control" if functions else None


def scsi_power_control(device: BlockDevice) -> Path | None:
    """Whether a SATA or SAS disk may be suspended."""
    path = device.folder / "device/power/control"
    return path.resolve() if device.kind in {DeviceKind.ATA, DeviceKind.SCSI} and path.exists() else None


def usb_power_control(device: BlockDevice) -> Path | None:
    """Whether the USB device that the drive hangs on may be suspended."""
    for folder in device.folder.parents:
        if (folder / "bMaxPower").exists() and (folder / "power/control").exists():
            return folder / "power/control"
    return None


def sata_power_file(device: BlockDevice) -> Path | None:
    """Where the power management of a SATA link is set."""
    for folder in device.folder.parents:
        for path in sorted(folder.glob("scsi_host/host*/link_power_management_policy")):
            return path
    return None
