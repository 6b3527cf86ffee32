"""The driver of the test of zones: it writes each zone in sequence, and leaves the engine idle."""

from typing import ClassVar

from openpts.errors import TargetError
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import Manifest
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.script_runner import ScriptRunner
from openpts.vocabulary.requests import DriverRequest, Script
from openpts.vocabulary.zones import MeasureZones, ZonesMeasured
from openpts_nvme.zones.measure import ZonedDrive


class ZoneDriver(Driver):
    """Carries out MeasureZones, and no steps."""

    depends_on_scale = False
    writes_zones: ClassVar[bool] = True

    def __init__(self, test: Procedure) -> None:
        super().__init__(test)
        self._device: PhysicalDevice | None = None

    def check(self, script: Script, device: DeviceUnderTest) -> None:
        """Raise TargetError for a drive without zones."""
        del script
        drive = device.target.device if isinstance(device, PhysicalDevice) else None
        if drive is None or drive.is_partition or drive.zones_model is None:
            raise TargetError(f"{device.facts.name} has no zones: `openpts run` lists tests for such drives")
        assert isinstance(device, PhysicalDevice)  # noqa: S101 it has a drive
        self._device = device

    def answer(self, request: DriverRequest, runner: ScriptRunner) -> ZonesMeasured:
        """Measure, and put what was found into the record."""
        assert isinstance(request, MeasureZones)  # noqa: S101 the script asks for nothing else
        assert self._device is not None  # noqa: S101 checked before
        runner.write_down()
        runner.begin_clock()  # which no step does
        found = ZonedDrive(self._device.target, request).measure()
        runner.writer.update_manifest(zones=found)
        return found

    def unresumable(self, manifest: Manifest) -> str:
        """See the base."""
        del manifest
        return "it takes minutes: run the test again"
