"""A simulated drive as the device under test."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.purge.methods import Progress
from openpts.device.targets.free_space import SpaceNeed
from openpts.device.write_cache import DISABLED, ENABLED, NO_CACHE
from openpts.engine.contract import CapturingEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.errors import PurgeError, PurgeImpossibleError, UsageError
from openpts.ownership import RunOwner, new_run_id
from openpts.runner.healing import Healing
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import MB, format_capacity
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import (
    SIMULATED_PURGE,
    SIMULATED_SOURCE,
    Fact,
    Facts,
    HealthReading,
    PurgeReport,
    SimulationFacts,
    TargetFacts,
    TargetKind,
    WriteCacheReport,
)
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import ActiveRange, Step
from openpts.vocabulary.trimmed_reads import Promise, TrimmedReads
from openpts.vocabulary.verdict import Deviation
from openpts_drives.health.health import simulated_health
from openpts_host.memory import available_memory_bytes
from openpts_sim.presets import (
    SHIPPED,
    Preset,
    ScaleConcern,
    Severity,
    default_scale,
    load_preset,
    scale_concerns,
    size_concerns,
)
from openpts_sim.simulated_engine import POWER_FAULTS, SimulatedDrive
from openpts_sim.simulated_target import (
    DEFAULT_SEED,
    DriveHistory,
    SimulatedTarget,
    at_scale,
    parse_simulated_target,
    simulated_facts,
)

# A drive rounds its capacity to what it can divide, and at a scale to more.
_SAME_CAPACITY: Final = 0.01
_CLAIMS: Final = {
    "sequential_write_mb_per_s": ("sequential_write_bytes_per_s", MB),
    "sequential_read_mb_per_s": ("sequential_read_bytes_per_s", MB),
    "random_write_iops": ("random_write_iops", 1),
    "random_read_iops": ("random_read_iops", 1),
}
"""What a plan calls a figure of a data sheet, with its key in a preset's ``[rated]`` and the unit in that."""
_WORDS: Final = {True: ENABLED, False: DISABLED, None: NO_CACHE}


class SimulatedDevice(Struct, frozen=True):
    """Implements openpts.runner.device_under_test.DeviceUnderTest: nothing that exists is touched."""

    drive: SimulatedDrive
    preset: Preset
    owner: RunOwner
    power_faults: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, target: SimulatedTarget, run_id: str | None = None) -> Self:
        """Make the drive, and wear it in if it shall be.

        Raises UsageError if there is no such preset, or none of that size, scale and state.
        """
        preset = load_preset(target.preset, target.parameters)
        capacity_bytes, scale = size_and_scale(target, preset)
        seed = DEFAULT_SEED if target.seed is None else target.seed
        whole = replace(target, capacity_bytes=capacity_bytes, scale=scale, seed=seed)
        check_faults(target)
        drive = _new_drive(preset, str(whole), capacity_bytes, scale, seed)
        if target.state is DriveHistory.WORN_IN:
            drive.jump_start()
        owner = RunOwner.this_process(run_id or new_run_id(), str(whole), (), SystemRoots())
        return cls(drive, preset, owner, target.faults)

    @property
    def facts(self) -> TargetFacts:
        return self.drive.facts

    @property
    def target(self) -> None:
        """None: nothing that exists is open."""

    @property
    def healed(self) -> tuple[Healing, ...]:
        """Nothing to put back: a simulation keeps no state between runs."""
        return ()

    @property
    def inputs(self) -> Mapping[str, bytes]:
        """File of the preset, unless the preset ships with openpts."""
        return {} if self.preset.place == SHIPPED else {"preset.toml": self.preset.text.encode()}

    def identity(self) -> Facts:
        return {
            **simulated_facts(self.facts, self.drive.simulation),
            **_rated_facts(self.preset, self.facts.user_capacity_bytes),
        }

    def deviations(self, steps: Sequence[Step]) -> tuple[Deviation, ...]:
        """Ledger entries: no physical device, and a shape changed by the scale."""
        return simulated_deviations(self.preset, self.facts, str(self.drive.simulation), steps)

    def space_needs(self, written_bytes: int) -> tuple[SpaceNeed, ...]:  # noqa: ARG002 however many
        """No space: a simulated drive keeps no data."""
        return ()

    def notes(self, step: Step) -> tuple[str, ...]:
        notes = [f"SIMULATED, {self.drive.simulation}: not a measurement of a drive"]
        reads = any(stimulus.operations.read for stimulus in step.stimuli)
        if reads and not self.drive.pages_with_data():
            notes.append("the drive is new: reads of what was never written do not reach its flash")
        return (*notes, *(concern.message for concern in self._concerns([step])))

    def _concerns(self, steps: Sequence[Step]) -> tuple[ScaleConcern, ...]:
        return scale_concerns(self.preset, self.facts.user_capacity_bytes, self.facts.scale, steps)

    @contextmanager
    def engine(
        self,
        demand: Demand,
        seed: int,
        options: NativeOptions,
        *,
        near: bool,  # noqa: ARG002 no processor is near a drive that is nowhere
        first_thread: int = 0,  # noqa: ARG002 nor does any thread of it run
    ) -> Iterator[CapturingEngine]:
        engine = self.drive.engine(demand, seed, options)
        try:
            yield engine
        finally:
            engine.stop()

    def trimmed_reads(self, active_range: ActiveRange, seed: int) -> TrimmedReads:  # noqa: ARG002 it has none
        """See the protocol."""
        reason = "a simulated drive keeps no data"
        return TrimmedReads(Promise.UNKNOWN, reason, reason=reason)

    def check_purge(self, choice: PurgeChoice) -> None:
        """Raise PurgeError for a named method: a simulated drive has one purge, without a name."""
        if choice.methods:
            raise PurgeError(
                f"{self.facts.name} is a simulated drive, which {choice} can't purge: remove --purge"
            )

    def purge(
        self,
        choice: PurgeChoice,
        progress: Progress,  # noqa: ARG002 it takes no time of ours
    ) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        """Data written before must be gone, and nothing else may be left."""
        self.check_purge(choice)
        marked = self.drive.mark()
        started_at = datetime.now(UTC)
        duration_ns = self.drive.purge()
        if left := self.drive.pages_with_data():
            raise PurgeImpossibleError(
                f"the purge of {self.facts.name} ended without an error, but {left:,} of {marked:,} pages "
                "still hold data: this drive can't be purged"
            )
        report = PurgeReport(
            ran=True,
            method=SIMULATED_PURGE,
            detail="all pages without data afterwards; the time is that of the model",
            started_at=started_at.isoformat(timespec="seconds"),
            duration_ns=duration_ns,
            samples=marked,
            changed_samples=marked,
        )
        return report, ()

    def write_cache(self, required_enabled: bool) -> WriteCacheReport:
        self.drive.set_write_cache(required_enabled)
        return self.write_cache_now(required_enabled)

    def write_cache_now(self, required_enabled: bool) -> WriteCacheReport:
        return WriteCacheReport(
            required=ENABLED if required_enabled else DISABLED,
            actual=_WORDS[self.drive.write_cache()],
            source=SIMULATED_SOURCE,
        )

    def health(self) -> HealthReading:
        return simulated_health(
            self.drive.smart(),
            has_flash=self.drive.has_flash,
            limits_c=self.preset.limits_c,
            placement=self.drive.placement(),
        )

    def fault(self) -> str | None:
        return None

    def put_back(self) -> str | None:
        return None


@contextmanager
def opened(text: str, run_id: str | None) -> Iterator[SimulatedDevice]:
    """The device under test of the scheme: nothing is there to be closed."""
    yield SimulatedDevice.of(parse_simulated_target(text), run_id)


def unopened(text: str) -> UnopenedTarget:
    """The target of the scheme as it can be known without making the drive."""
    target = parse_simulated_target(text)
    preset = load_preset(target.preset, target.parameters)
    capacity_bytes, scale = size_and_scale(target, preset)
    simulation = SimulationFacts(
        preset=preset.name,
        summary=preset.summary,
        model=preset.model,
        scale=scale,
        simulated_bytes=capacity_bytes // scale,
        seed=DEFAULT_SEED if target.seed is None else target.seed,
        assumed=tuple(preset.assumed),
    )
    name = f"sim:{preset.name}"
    facts = TargetFacts(
        TargetKind.SIMULATED, name, str(target), capacity_bytes, preset.sector_bytes, simulation
    )
    not_one = partial(simulated_deviations, preset, facts, str(simulation))
    return UnopenedTarget(facts, not_one=not_one)


def usual_class(text: str) -> tuple[DriveClass, str] | None:
    """The class that the preset of the name has, and the preset; None where it has none."""
    preset = load_preset(parse_simulated_target(text).preset)
    return None if preset.drive_class is None else (preset.drive_class, f"the preset {preset.label}")


def check_faults(target: SimulatedTarget) -> None:
    """Raise UsageError for a fault that no simulated drive has."""
    for name, _ in target.faults:
        if name not in POWER_FAULTS:
            raise UsageError(f"invalid faults={name}: use some of {', '.join(POWER_FAULTS)}")


def simulated_deviations(
    preset: Preset, facts: TargetFacts, simulation: str, steps: Sequence[Step]
) -> tuple[Deviation, ...]:
    """The entries of a run of these steps on a simulated drive. Raises UsageError at an impossible scale."""
    concerns = scale_concerns(preset, facts.user_capacity_bytes, facts.scale, steps)
    for concern in concerns:
        if concern.severity is Severity.REFUSE:
            such_as = f"; for example {at_scale(facts.path, concern.scale)}" if concern.scale else ""
            raise UsageError(f"{facts.path}: {concern.message}{such_as}")
    return (
        Deviation(
            rule_id="PTS-GEN-05",
            clause="1.1, 6 (2)",
            required="block I/O to the device itself",
            used=f"I/O to a simulated drive in virtual time: {simulation}",
            effect="nothing is measured: all figures are those of a model",
        ),
        *(
            Deviation(
                rule_id="PTS-GEN-05",
                clause="1.1, 6 (2)",
                required="a scale that leaves the figures as they are",
                used=f"scale 1:{facts.scale}, which bears on: {concern.subject}",
                effect=concern.message,
            )
            for concern in concerns
        ),
    )


def _rated_facts(preset: Preset, capacity_bytes: int) -> Facts:
    """What the data sheet of such a drive says, under the names of claims.

    Nothing of a drive of another capacity: cache, spare space and dies come with it, and so do claims.
    """
    source = f"rated by the preset {preset.name}"
    is_rated = abs(capacity_bytes / preset.capacity_bytes - 1) < _SAME_CAPACITY
    if not is_rated:
        source += f" for {format_capacity(preset.capacity_bytes)}, not for {format_capacity(capacity_bytes)}"
    return {
        f"rated_{claim}": Fact(f"{preset.rated[name] / unit:.12g}" if is_rated else None, source)
        for claim, (name, unit) in _CLAIMS.items()
        if name in preset.rated
    }


def check_preset(preset: Preset) -> None:
    """Make a drive of the preset in its own size. Raises UsageError, with the place of what makes no sense.

    Only the drive itself knows all of its parameters; what plans with them comes after this.
    """
    SimulatedDrive(
        preset,
        path=preset.name if preset.place == SHIPPED else preset.place,
        capacity_bytes=preset.capacity_bytes,
        scale=default_scale(preset, preset.capacity_bytes),
        seed=DEFAULT_SEED,
    )


def _new_drive(preset: Preset, path: str, capacity_bytes: int, scale: int, seed: int) -> SimulatedDrive:
    """The kernel promises more memory than there is, so that is asked for before it is taken.

    How small a drive may be, only the drive itself can tell; what would do, the planner.
    """
    check_preset(preset)
    concerns = size_concerns(preset, capacity_bytes, scale, available_memory_bytes(SystemRoots()))
    if too_large := [concern.message for concern in concerns if concern.subject in {"pages", "memory"}]:
        raise UsageError(f"{path}: {'; '.join(too_large)}")
    try:
        return SimulatedDrive(preset, path=path, capacity_bytes=capacity_bytes, scale=scale, seed=seed)
    except UsageError as error:
        if not concerns:
            raise
        raise UsageError(f"{error}; {concerns[0].message}") from error


def size_and_scale(target: SimulatedTarget, preset: Preset) -> tuple[int, int]:
    """Nominal capacity in bytes and scale: the operator's, otherwise those of the preset."""
    capacity_bytes = target.capacity_bytes or preset.capacity_bytes
    return capacity_bytes, target.scale or default_scale(preset, capacity_bytes)
