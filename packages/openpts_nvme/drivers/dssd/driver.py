"""The driver of the test of OCP's specification: it asks the drive, and keeps each answer."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from openpts.engine.contract import NoSteps
from openpts.errors import RunFailedError, TargetError, UsageError, failing_as
from openpts.record.manifest import Manifest
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver, Engine
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.script_runner import ScriptRunner
from openpts.system_files import printable
from openpts.vocabulary.requests import DriverRequest, Script
from openpts_nvme.drivers.dssd.acts import RUN
from openpts_nvme.drivers.dssd.ask import Asker, measured
from openpts_nvme.drivers.dssd.kernel_door import KernelDoor
from openpts_nvme.drivers.dssd.resets import firmware
from openpts_nvme.dssd.answers import Answers, keep
from openpts_nvme.dssd.judge import asked_sources
from openpts_nvme.dssd.plan import ASK, ASK_AGAIN, FIRMWARE, Look
from openpts_sim.simulated_target import names_simulated


class OcpDriver(Driver):
    """Carries out Look, and no steps. An act that the drive ends early leaves its figures unmeasured."""

    depends_on_scale = False
    drive_stays = False

    def refuse_name(self, target: str) -> None:
        """See the base."""
        if names_simulated(target):
            raise UsageError(
                f"{printable(target)} is a simulated drive without admin commands: name the node of "
                "an NVMe drive"
            )

    def check(self, script: Script, device: DeviceUnderTest) -> None:
        """See the base."""
        if not isinstance(device, PhysicalDevice):
            raise TargetError("a simulated drive has no admin commands: name the node of an NVMe drive")
        self._asker = Asker(KernelDoor(device.target))
        self._answers: Answers = {}
        paths = [request.image for request in script if isinstance(request, Look) and request.image]
        with failing_as(UsageError, f"can't read the image {' '.join(paths)}"):
            self._image = Path(paths[0]).read_bytes() if paths else b""

    def engine(self, of_device: Engine) -> Engine:
        """See the base: there are no steps."""
        del of_device
        engine: AbstractContextManager[NoSteps] = nullcontext(NoSteps("the test sends its own commands"))
        return engine

    def answer(self, request: DriverRequest, runner: ScriptRunner) -> None:
        """See the base. Raises RunFailedError if the drive is gone."""
        assert isinstance(request, Look)  # noqa: S101 the script asks for nothing else
        runner.begin_clock()  # which no step does
        runner.check_device()
        try:
            read_sources(self._asker, self._answers, request.what, self._image)
        except OSError as error:
            raise RunFailedError(f"can't continue with {request.what}: {error}") from error
        finally:
            keep(runner.writer.folder, self._answers)

    def recorded(self, request: DriverRequest, manifest: Manifest) -> tuple[None, ...]:
        """See the base: the answers are in a file beside the record."""
        del request, manifest
        return (None,)

    def unresumable(self, manifest: Manifest) -> str:
        """See the base."""
        del manifest
        return "asking again takes minutes, and counters have gone on"


def read_sources(asker: Asker, answers: Answers, what: str, image: bytes = b"") -> None:
    """One part of the script on a drive, its answers added to those before."""
    if what == ASK:
        answers.update(asker.all_of(asked_sources()))
    elif what == ASK_AGAIN:
        asker.again(asked_sources(), answers)
    elif what == FIRMWARE.name:
        firmware(asker, answers, image)
    else:
        RUN[what](asker, answers)
    measured(answers, "slowest_admin_command_s", asker.slowest_s)
