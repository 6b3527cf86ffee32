"""A simulated drive: what can be asked of it apart from I/O, with errors of ours."""

from contextlib import suppress
from typing import Final

from openpts import _native
from openpts.engine.contract import EngineStoppedError
from openpts.engine.options import Demand, NativeOptions
from openpts.engine.simulated import SimulatedEngine
from openpts.errors import PurgeError, PurgeImpossibleError, UsageError
from openpts.simulation.presets import Preset
from openpts.units import KIB
from openpts.vocabulary.facts import SimulationFacts, TargetFacts, TargetKind
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import IoCount

_PAGE_BYTES: Final = 4 * KIB
_MARKS: Final = 64


class SimulatedDrive:
    """One drive of a preset, new from its maker.

    ``path`` is the text that names it.
    """

    def __init__(
        self,
        preset: Preset,
        *,
        path: str,
        capacity_bytes: int,
        scale: int,
        seed: int,
    ) -> None:
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
        engine.submit([Step(stimulus, IoCount(_MARKS * self.facts.scale))])
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
        """Its own log. Bytes, commands, pages, times, energy are nominal; erases and superblocks its own."""
        return self._drive.smart()

    @property
    def has_flash(self) -> bool:
        """Whether it models flash at all, or only follows a script."""
        return bool(self._drive.geometry)

    def pages_with_data(self) -> int:
        """Pages that hold data, nominal."""
        return self._drive.holds_data()

    def write_cache(self) -> bool | None:
        """Whether the volatile write cache is on; None if there is none."""
        return self._drive.write_cache()

    def set_write_cache(self, enabled: bool) -> None:
        """Switch the volatile write cache, where there is one that can be switched."""
        if self._drive.write_cache() not in {None, enabled}:
            with suppress(_native.UnavailableError):  # reading it back shows that it did not change
                self._drive.set_write_cache(enabled)
