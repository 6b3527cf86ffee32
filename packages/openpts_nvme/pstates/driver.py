"""The driver of the test of power states: sets them on the drive, keeps processors awake, puts all back."""

import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from msgspec.structs import replace

from openpts.device.block_device import DeviceKind
from openpts.errors import TargetError
from openpts.journal import Journal
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import Manifest
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.replay import Interruption
from openpts.runner.script_runner import ScriptRunner
from openpts.system_files import SystemRoots
from openpts.vocabulary.power import PowerMode, PowerSetting, PowerStatesSet, SetPowerStates
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.requests import DriverRequest
from openpts_drives.nvme import NvmePowerStates
from openpts_host.advice.machine import SHALLOW_US
from openpts_host.setting_file import HostSettingError, held_open
from openpts_sim.simulated_device import SimulatedDevice
from openpts_sim.simulated_engine import SimulatedDrive

_NOT_SETTABLE: Final = "only NVMe drives declare and take power states"


class _OfSimulated:
    """The states of a simulated drive, which lives no longer than its run."""

    def __init__(self, drive: SimulatedDrive) -> None:
        self._drive = drive
        found = drive.power_setting()
        self._table = () if found is None else found.table

    def set(self, request: SetPowerStates) -> PowerStatesSet:
        states, refused = self._drive.power_states(), ""
        if not states:
            refused = "the preset has no power states"
        elif request.mode is PowerMode.COMMANDED:
            self._drive.set_power(PowerSetting(request.state, autonomous=False), command=True)
        else:
            autonomous = request.mode is PowerMode.AUTONOMOUS
            self._drive.set_power(PowerSetting(0, autonomous, self._table), command=False)
        return PowerStatesSet(
            request.mode, request.state, "the preset", states, self._drive.power_setting(), refused
        )


def _control_of(device: DeviceUnderTest) -> _OfSimulated | NvmePowerStates | None:
    if isinstance(device, SimulatedDevice):
        return _OfSimulated(device.drive)
    if isinstance(device, PhysicalDevice):
        block = device.target.device
        if block is not None and block.kind is DeviceKind.NVME:
            return NvmePowerStates.of(device.target, Journal.of_machine())
    return None


class PowerStatesDriver(Driver):
    """Carries out SetPowerStates; the steps are those of any test."""

    def __init__(self, test: Procedure) -> None:
        super().__init__(test)
        self._sets: list[PowerStatesSet] = []
        self._processors = ""
        self._control: _OfSimulated | NvmePowerStates | None = None

    @contextmanager
    def opened(self, target: str, consent: Consent, run_id: str) -> Iterator[DeviceUnderTest]:
        """See the base; processors stay out of their own states, and the drive's are put back at the end."""
        with super().opened(target, consent, run_id) as device, ExitStack() as held:
            self._control = _control_of(device)
            self._processors = "a simulated host has none"
            if device.facts.simulation is None:
                self._processors = _kept_awake(held)
            try:
                yield device
            except BaseException:
                with suppress(TargetError):
                    self._put_back()
                raise
            self._put_back()

    def _put_back(self) -> None:
        """Leave the drive as it was found; a simulated one ends with its run. Raises TargetError."""
        if isinstance(self._control, NvmePowerStates):
            self._control.put_back()

    def answer(self, request: DriverRequest, runner: ScriptRunner) -> PowerStatesSet:
        """Set the states; the record has each setting once."""
        assert isinstance(request, SetPowerStates)  # noqa: S101 the script of the test asks for nothing else
        done = PowerStatesSet(request.mode, request.state, "", refused=_NOT_SETTABLE)
        if self._control is not None:
            done = self._control.set(request)
        done = replace(done, processors=self._processors)
        if done not in self._sets:
            self._sets.append(done)
            runner.writer.update_manifest(power_states=self._sets)
        return done

    def recorded(self, request: DriverRequest, manifest: Manifest) -> tuple[PowerStatesSet, ...]:
        """See the base."""
        assert isinstance(request, SetPowerStates)  # noqa: S101 as above
        return tuple(
            one for one in manifest.power_states if (one.mode, one.state) == (request.mode, request.state)
        )

    def bring_back(self, before: Manifest, cut: Interruption, runner: ScriptRunner) -> None:
        """See the base: the drive is set as the script has asked last."""
        self._sets = list(before.power_states)
        asked = [one.request for one in cut.kept if isinstance(one.request, SetPowerStates)]
        if asked:
            self.answer(asked[-1], runner)


def _kept_awake(held: ExitStack) -> str:
    """Keep processors out of states that take longer to leave; the text says whether it can be."""
    path = SystemRoots().dev / "cpu_dma_latency"
    try:
        held.enter_context(held_open(path, struct.pack("=i", SHALLOW_US)))
    except HostSettingError as error:
        return f"not kept awake: {path}: {error}"
    return f"kept to states that take {SHALLOW_US} us to leave at most ({path})"
