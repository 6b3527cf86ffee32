"""The driver of the test of time to ready: it interrupts the drive, and opens it again where it has gone."""

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from msgspec.structs import replace

from openpts.device.guard.rules import quiet_refusals, refuse
from openpts.device.guard.usage import read_usage
from openpts.device.nvme.nvme_subsystem import NvmeSubsystem
from openpts.engine.no_steps import NoSteps
from openpts.errors import TargetError
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import Manifest
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver, Engine
from openpts.runner.events import DriveInterrupted
from openpts.runner.returning_drive import ReturningDrive, returning_device
from openpts.runner.script_runner import ScriptRunner
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.readiness import Interrupt, Interruption
from openpts.vocabulary.requests import DriverRequest, Script
from openpts_nvme.drivers.ready.kernel_drive import KernelDrive
from openpts_nvme.drivers.ready.measure import interrupted
from openpts_nvme.drivers.ready.ways import order_of

_BETWEEN_S: Final = 1.0
_BACK_WITHIN_S: Final = 30.0


class ReadyDriver(Driver):
    """Carries out Interrupt, and no steps."""

    depends_on_scale = False
    drive_stays = False

    def __init__(self, test: Procedure) -> None:
        super().__init__(test)
        self._found: list[Interruption] = []

    def opened(self, target: str, consent: Consent, run_id: str) -> AbstractContextManager[DeviceUnderTest]:
        """See the base; the drive can be opened again after it was away."""
        return returning_device(target, consent, run_id)

    def check(self, script: Script, device: DeviceUnderTest) -> None:
        """See the base; other namespaces of the drive are interrupted too: they must not be in use."""
        drive = device.target.device if isinstance(device, ReturningDrive) else None
        if drive is None or not isinstance(device, ReturningDrive):
            raise TargetError(f"{device.facts.name} is no drive: name one such as /dev/nvme0n1")
        request = next(script)
        assert isinstance(request, Interrupt)  # noqa: S101 it is that of such a test
        KernelDrive(device.target)  # which refuses what is no NVMe drive
        self._order, self._device = order_of(request), device
        usage = read_usage(device.roots)
        for other in NvmeSubsystem.of(drive).besides(drive):
            refuse(quiet_refusals(other, usage))

    def engine(self, of_device: Engine) -> Engine:
        """See the base: there are no steps."""
        del of_device
        return nullcontext(NoSteps("the test sends its own commands"))

    def answer(self, request: DriverRequest, runner: ScriptRunner) -> Interruption:
        """Interrupt the drive; the record has all that it came back from."""
        assert isinstance(request, Interrupt)  # noqa: S101 the script asks for nothing else
        runner.begin_clock()  # which no step does
        time.sleep(_BETWEEN_S)
        device = self._device
        with KernelDrive(device.target) as drive:
            found = interrupted(drive, lambda: self._order(drive, device.roots))
        if device.fault() is not None:
            device.open_again(_BACK_WITHIN_S)
        self._found.append(replace(found, path=device.facts.path))
        runner.writer.update_manifest(interruptions=self._found)
        runner.emit(DriveInterrupted(request.number, self._found[-1]))
        return self._found[-1]

    def unresumable(self, manifest: Manifest) -> str:
        """See the base."""
        del manifest
        return "it takes minutes: run the test again"
