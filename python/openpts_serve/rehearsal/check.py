"""Holds a simulated drive against what is published about its class, and against theory."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from openpts.engine.next_sample import next_sample
from openpts.engine.options import Demand, NativeOptions
from openpts.engine.simulated import SimulatedDrive
from openpts.errors import UsageError
from openpts.simulation.figures import Figure, Io, JumpStart, Preparation, Unit, figures_of
from openpts.simulation.presets import Preset
from openpts.units import MB, MIB, NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.sample import Sample

# Simulated and theoretical write amplification are the same within this.
THEORY_TOLERANCE_PCT: Final = 0.5
_NS_PER_MINUTE: Final = 60 * NS_PER_S


class Amplification(Struct, frozen=True):
    """Write amplification of uniform random writes, simulated and by theory.

    What a drive keeps empty, or fills only half, helps no collection: less than the nominal over-provisioning
    takes part, and ``theory`` is that of the effective one. ``nominal_theory`` is the bare formula.
    """

    over_provisioning: float
    effective_over_provisioning: float
    write_amplification: float
    theory: float
    nominal_theory: float

    @property
    def deviation_pct(self) -> float:
        """How far the simulation is above theory of the effective over-provisioning."""
        return 100 * (self.write_amplification / self.theory - 1)

    @property
    def holds(self) -> bool:
        """Whether they are the same."""
        return abs(self.deviation_pct) <= THEORY_TOLERANCE_PCT


class Checked(Struct, frozen=True):
    """A published figure and that of the model."""

    figure: Figure
    model: float

    @property
    def deviation_pct(self) -> float:
        """How far the model is above the published figure."""
        return self.figure.deviation_pct(self.model)

    @property
    def holds(self) -> bool:
        """Whether the model is as near as claimed."""
        return self.figure.holds(self.model)


def check_amplification(preset: Preset, over_provisioning: float, seed: int) -> Amplification:
    """Write amplification of a preset's collection at that share of spare, against theory.

    Raises UsageError where the preset has no such theory.
    """
    try:
        simulated, effective, theory, nominal_theory = preset.write_amplification(
            over_provisioning=over_provisioning, seed=seed
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    return Amplification(over_provisioning, effective, simulated, theory, nominal_theory)


def check_figures(preset: Preset, seed: int) -> Iterator[Checked]:
    """Every published figure of a preset, in the order of its file.

    Raises UsageError if the figures make no sense, RunFailedError if the drive fails on the way.
    """
    for figure in figures_of(preset):
        yield check_figure(preset, figure, seed)


def check_figure(preset: Preset, figure: Figure, seed: int) -> Checked:
    """One published figure, on new drives."""
    model = _measured(preset, figure, figure.prepare, seed)
    if figure.reference is not None:
        model *= 100 / _measured(preset, figure, figure.reference, seed)
    return Checked(figure, model)


def _measured(preset: Preset, figure: Figure, preparation: Preparation, seed: int) -> float:
    drive = SimulatedDrive(
        preset,
        path=f"sim:{preset.name}",
        capacity_bytes=figure.capacity_bytes or preset.capacity_bytes,
        scale=figure.scale,
        seed=seed,
    )
    elements = (*preparation, figure.measure)
    steps = [element for element in elements if isinstance(element, Io)]
    demand = Demand(
        max(step.tc for step in steps),
        max(step.qd for step in steps),
        max(step.block_size_bytes for step in steps),
    )
    engine = drive.engine(demand, seed, NativeOptions())
    for element in preparation:
        if isinstance(element, JumpStart):
            drive.jump_start()
        else:
            engine.submit([element.step(figure.scale)])
            next_sample(engine, figure.name)
    before = drive.nand_pages()
    engine.submit([figure.measure.step(figure.scale)])
    sample = next_sample(engine, figure.name)
    if figure.unit is Unit.HOST_SHARE:
        host_pages, all_pages = (now - then for now, then in zip(drive.nand_pages(), before, strict=True))
        return 100 * host_pages / all_pages
    return _quantity(figure.unit, sample)


def _quantity(unit: Unit, sample: Sample) -> float:
    match unit:
        case Unit.IOPS:
            return sample.iops
        case Unit.MB_PER_S | Unit.SPEED_SHARE:
            return sample.bandwidth_bytes_per_s / MB
        case Unit.MIB_PER_S:
            return sample.bandwidth_bytes_per_s / MIB
        case Unit.MEAN_LATENCY_US:
            return (sample.mean_latency_ns or 0.0) / NS_PER_US
        case Unit.MAX_LATENCY_MS:
            return (sample.max_latency_ns or 0) / NS_PER_MS
        case Unit.MINUTES:
            return sample.elapsed_ns / _NS_PER_MINUTE
        case Unit.HOST_SHARE:
            raise TypeError("not a figure of a sample")
