"""Simulated drives in the Rust module: their engine, a host in virtual time, and what else they answer."""

from contextlib import suppress
from typing import Final

from openpts import _native
from openpts.engine.contract import EngineProgress, EngineStoppedError
from openpts.engine.options import CompletionWait, Demand, NativeOptions
from openpts.engine.program import ProgramQueue
from openpts.errors import EngineUnavailableError, PurgeError, PurgeImpossibleError, UsageError
from openpts.units import KIB, NS_PER_MS, NS_PER_US
from openpts.vocabulary.facts import SIMULATED_ENGINE, Fact, Facts, SimulationFacts, TargetFacts, TargetKind
from openpts.vocabulary.power import MOST_STATES, PowerSetting, PowerState, Transition
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, IoCount, Step, Stimulus
from openpts_sim.presets import Preset

_SOURCE = "openpts._native"
POWER_FAULTS: Final = tuple(_native.power_fault_names())
"""Faults that a simulated drive may have when its power goes."""


class SimulatedEngine(ProgramQueue):
    """Implements openpts.engine.contract.CapturingEngine on a simulated drive.

    All times are virtual: a step of a minute ends as soon as it is computed.
    """

    def __init__(
        self,
        drive: _native.SimulatedDrive,
        target: TargetFacts,
        demand: Demand,
        seed: int,
        options: NativeOptions,
    ) -> None:
        """Raises UsageError for an option that makes no sense in virtual time."""
        _refuse_what_only_real_hosts_have(options)
        self._drive = drive
        capture = options.capture
        try:
            self._host = drive.engine(
                tc=demand.tc,
                qd=demand.qd,
                block_size_bytes=demand.block_size_bytes,
                seed=seed,
                interval_ns=options.interval_ns,
                interval_histograms=options.interval_histograms,
                most_errors=options.most_errors,
                over_read_errors=options.over_read_errors,
                capture=None if capture is None else (capture.folder, capture.lba_bytes),
            )
        except _native.UnavailableError as error:
            raise EngineUnavailableError(str(error)) from error
        except ValueError as error:
            raise UsageError(str(error)) from error
        super().__init__(self._host, target, options.interval_ns)

    @property
    def facts(self) -> Facts:
        """Engine, build, and the drive that it computes."""
        build = _native.build_info()
        drive = self._drive
        return {
            "engine": Fact(SIMULATED_ENGINE, _SOURCE),
            "build": Fact(f"{build['version']} {build['profile']} {build['architecture']}", _SOURCE),
            "clock": Fact("virtual", "computed, not measured"),
            "latency": Fact("every simulated I/O, from submission to answer", _SOURCE),
            "sequential_streams": Fact("one for each thread", _SOURCE),
            **{
                f"geometry_{name}": Fact(f"{value:.10g}", f"model of preset {drive.name}")
                for name, value in sorted(drive.geometry.items())
            },
        }

    @property
    def cpus(self) -> tuple[int, ...]:
        """See the contract: its threads are simulated as well."""
        return ()

    def progress(self) -> EngineProgress:
        """See the contract; in virtual time nothing hangs."""
        return EngineProgress(*self._host.progress())


def _refuse_what_only_real_hosts_have(options: NativeOptions) -> None:
    if options.io_path is not None:
        raise UsageError(f"--io-path {options.io_path}: a simulated drive has no kernel I/O path")
    if options.cpus:
        raise UsageError("--cpus: a simulated host has no processors to pin to")
    if options.slow_io_ns is not None:
        raise UsageError("--outliers: a simulated host has no threads that could be late")
    if options.completion_wait is not CompletionWait.EACH:
        raise UsageError("--wait: a simulated host sees each completion when it happens")


_PAGE_BYTES: Final = 4 * KIB
_MARKS: Final = 64


class SimulatedDrive:
    """One drive of a preset, new from its maker.

    ``path`` is the text that names it.
    """

    def __init__(self, preset: Preset, *, path: str, capacity_bytes: int, scale: int, seed: int) -> None:
        """Raises UsageError where the preset makes no sense with that capacity and scale."""
        try:
            self._drive = _native.SimulatedDrive(
                preset, capacity_bytes=capacity_bytes, scale=scale, seed=seed
            )
        except ValueError as error:
            raise UsageError(f"{path}: {error}") from error
        drive = self._drive
        self.simulation = SimulationFacts(
            preset=preset.label,
            summary=preset.summary,
            model=preset.model,
            scale=drive.scale,
            simulated_bytes=drive.simulated_bytes,
            seed=seed,
            assumed=tuple(preset.assumed),
        )
        self.facts = TargetFacts(
            kind=TargetKind.SIMULATED,
            name=f"sim:{preset.name}",
            path=path,
            user_capacity_bytes=drive.capacity_bytes,
            sector_bytes=drive.sector_bytes,
            simulation=self.simulation,
        )

    def engine(self, demand: Demand, seed: int, options: NativeOptions) -> SimulatedEngine:
        """A host that runs programs on the drive. Raises UsageError for options that only real ones have."""
        return SimulatedEngine(self._drive, self.facts, demand, seed, options)

    def mark(self) -> int:
        """Write some pages all over the drive, and say how many hold data now.

        Raises PurgeError if the drive doesn't take them.
        """
        stimulus = Stimulus.of(AccessPattern.RANDOM, _PAGE_BYTES, 0, 1, 1, ActiveRange())
        engine = self.engine(Demand(1, 1, _PAGE_BYTES), self.simulation.seed, NativeOptions())
        engine.submit([Step.of(stimulus, IoCount(_MARKS * self.facts.scale))])
        try:
            while (sample := engine.poll(1.0)) is None:
                pass
        except EngineStoppedError as error:
            raise PurgeError(f"{self.facts.name} can't be marked before the purge: {error}") from error
        finally:
            engine.stop()
        if sample.state is not StepState.COMPLETE:
            reason = sample.failure.reason if sample.failure else sample.state
            raise PurgeError(f"{self.facts.name} can't be marked before the purge: {reason}")
        return self._drive.holds_data()

    def purge(self) -> int:
        """Forget all data; the nominal time that it took, in ns. Raises PurgeImpossibleError."""
        try:
            return self._drive.purge()
        except _native.UnavailableError as error:
            raise PurgeImpossibleError(f"the purge of {self.facts.name} failed: {error}") from error

    def jump_start(self) -> None:
        """Put the drive into the state that long random writing leaves. Raises UsageError if it has none."""
        try:
            self._drive.jump_start()
        except _native.UnavailableError as error:
            raise UsageError(f"{self.facts.name} has no steady state to start from: {error}") from error

    def smart(self) -> dict[str, int | float | bool | None]:
        """The drive's log: bytes, commands, pages, times, energy nominal; erases and superblocks its own."""
        return self._drive.smart()

    def placement(self) -> dict[str, int] | None:
        """Counters of its reclaim units, and how many placement handles it takes; None if it takes none."""
        return self._drive.placement()

    @property
    def has_flash(self) -> bool:
        """Whether it models flash at all, or only follows a script."""
        return bool(self._drive.geometry)

    def pages_with_data(self) -> int:
        """Pages that hold data, nominal."""
        return self._drive.holds_data()

    def power_states(self) -> tuple[PowerState, ...]:
        """What it declares; nothing of a drive with one state."""
        return tuple(
            PowerState(
                number,
                operational=operational,
                most_w=most_w,
                idle_w=idle_w,
                entry_ns=round(entry_us * NS_PER_US) or None,
                exit_ns=round(exit_us * NS_PER_US) or None,
            )
            for number, (most_w, idle_w, operational, entry_us, exit_us) in enumerate(
                self._drive.power_states()
            )
        )

    def power_setting(self) -> PowerSetting | None:
        """How its states are set; None of a drive with one state."""
        if (setting := self._drive.power_setting()) is None:
            return None
        state, autonomous, table = setting
        entries = enumerate(table)
        transitions = (Transition(origin, to, ms * NS_PER_MS) for origin, (to, ms) in entries if ms)
        return PowerSetting(state, autonomous, tuple(transitions))

    def set_power(self, setting: PowerSetting, *, command: bool) -> None:
        """Set the transitions, or with ``command`` enter the state. Raises UsageError if it has none such."""
        try:
            if command:
                self._drive.command_power_state(setting.state)
                return
            table = [(0, 0)] * MOST_STATES
            for one in setting.table:
                table[one.origin] = (one.to, one.after_ns // NS_PER_MS)
            self._drive.set_autonomous(setting.autonomous, table)
        except _native.UnavailableError as error:
            raise UsageError(f"{self.facts.name}: {error}") from error

    def write_cache(self) -> bool | None:
        """Whether the volatile write cache is on; None if there is none."""
        return self._drive.write_cache()

    def set_write_cache(self, enabled: bool) -> None:
        """Switch the volatile write cache, where there is one that can be switched."""
        if self._drive.write_cache() not in {None, enabled}:
            with suppress(_native.UnavailableError):  # reading it back shows that it did not change
                self._drive.set_write_cache(enabled)
