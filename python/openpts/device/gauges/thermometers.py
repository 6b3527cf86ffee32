"""Where the kernel shows the temperatures that a drive tells."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.identity.interface import nvme_controller_folder
from openpts.system_files import read_text

_INPUT: Final = re.compile(r"temp(\d+)_input")
_SENSOR: Final = re.compile(r"Sensor (\d+)")
# the driver makes its folder below the controller, older kernels below the PCI function
_PLACES: Final = ("hwmon*", "hwmon/hwmon*", "device/hwmon/hwmon*")


@dataclass(frozen=True, slots=True)
class Thermometers:
    """Files with millidegrees Celsius, by the name of the value; ``source`` says why there are none.

    ``otherwise`` is the source of the temperature where no file has it.
    """

    source: str
    files: dict[str, Path] = field(default_factory=dict)
    otherwise: str | None = None


def thermometers(device: BlockDevice) -> Thermometers:
    """The temperatures of a drive that can be read while it works.

    Only NVMe drives: of others the driver asks by a command for which the drive must first finish all that it
    was given, and a temperature each second would be in every response time.
    """
    if device.kind is not DeviceKind.NVME:
        return Thermometers(f"not sampled: asking this kind of device ({device.kind}) disturbs its I/O")
    controller = nvme_controller_folder(device)
    if controller is None:
        return Thermometers(f"{device.place('device')} leads to no controller")
    for place in _PLACES:
        for folder in sorted(controller.glob(place)):
            if files := _files(folder):
                return Thermometers(str(folder), files)
    return Thermometers(f"{controller} has no hwmon: the kernel was built without")


def _files(folder: Path) -> dict[str, Path]:
    found = {}
    for path in sorted(folder.glob("temp*_input")):
        match = _INPUT.fullmatch(path.name)
        if match is None:
            continue
        label = read_text(folder / f"temp{match[1]}_label") or ""
        if match[1] == "1":
            found["temperature_c"] = path
        elif sensor := _SENSOR.fullmatch(label):
            found[f"temperature_sensor_{sensor[1]}_c"] = path
    return found
