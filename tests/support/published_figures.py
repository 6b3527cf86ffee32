"""Published figures of a preset: how each comes about on the simulated drive, and how near it must come.

They stand in the preset's file as ``[[figures]]``. Each is complete in itself: a new drive is brought into
a state by ``prepare``, ``measure`` is done once, and one quantity of it is held against ``published``::

    [[figures]]
    name = "RND 4 KiB 0/100 in steady state"
    source = "title and place of the document"
    published = 190_000
    unit = "IOPS"
    tolerance_pct = 5
    capacity_bytes = 32_000_000_000
    scale = 8
    prepare = [{ do = "jump-start" }]
    measure = { block_kib = 4, tc = 4, qd = 64, seconds = 0.5 }

Seconds are those of the simulated drive: they don't change with the scale. With ``reference``, another
preparation, the figure is the share of what the same measurement gives after that one, in per cent.
"""

import math
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from docs.simulated_curves import nand_pages
from openpts.engine.options import Demand, NativeOptions
from openpts.units import KIB, MB, MIB, NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    DriveFills,
    Duration,
    RandomData,
    ReducibleData,
    Step,
    Stimulus,
    StopRule,
    ZeroData,
)
from openpts_sim.presets import Preset
from openpts_sim.simulated_engine import SimulatedDrive
from tests.support.next_sample import next_sample

Positive = Annotated[float, Meta(gt=0)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Count = Annotated[int, Meta(ge=1, le=4096)]


class Unit(StrEnum):
    """What is compared, by the unit in which it is published."""

    IOPS = "IOPS"
    MB_PER_S = "MB/s"
    MIB_PER_S = "MiB/s"
    MEAN_LATENCY_US = "us, mean"
    MAX_LATENCY_MS = "ms, longest"
    MINUTES = "min"
    SPEED_SHARE = "% of the speed"
    HOST_SHARE = "% of NAND writes"


class Direction(StrEnum):
    """On which side of a published figure the model is claimed to be, where no more is claimed."""

    ABOVE = "above"
    BELOW = "below"


class Io(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="io"):
    """I/O until a time has passed or so many times the user capacity was transferred: one of the two."""

    block_kib: Positive
    pattern: Literal["random", "sequential"] = "random"
    read_pct: Annotated[int, Meta(ge=0, le=100)] = 0
    tc: Count = 1
    qd: Count = 32
    range_pct: tuple[Percent, Percent] = (0, 100)
    entropy_pct: Percent = 100
    seconds: Positive | None = None
    fills: Positive | None = None

    @property
    def block_size_bytes(self) -> int:
        """The transfer size."""
        return round(self.block_kib * KIB)

    def step(self, scale: int) -> Step:
        """The step on a drive of that scale."""
        stimulus = Stimulus.of(
            AccessPattern(self.pattern),
            self.block_size_bytes,
            self.read_pct,
            self.tc,
            self.qd,
            ActiveRange(*self.range_pct),
        )
        data = (
            RandomData()
            if self.entropy_pct == 100
            else ReducibleData(self.entropy_pct)
            if self.entropy_pct
            else ZeroData()
        )
        return Step.of(msgspec.structs.replace(stimulus, data=data), self._stop(scale))

    def _stop(self, scale: int) -> StopRule:
        if self.seconds is None:
            assert self.fills is not None
            return DriveFills(self.fills)
        return Duration(round(self.seconds * scale * NS_PER_S))


class Idle(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="idle"):
    """Nothing for this long."""

    seconds: Positive

    def step(self, scale: int) -> Step:
        """The step on a drive of that scale."""
        return Step.of(None, Duration(round(self.seconds * scale * NS_PER_S)))


class JumpStart(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="jump-start"):
    """The state that long random writing over the whole drive leaves."""


Preparation = tuple[Io | Idle | JumpStart, ...]


class Figure(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A published figure. ``source`` names the document and the place in it.

    Exactly one of ``tolerance_pct``, ``factor`` and ``direction`` says what is claimed: how near the model
    comes in per cent, that it is right to a factor, or on which side it is.
    """

    name: str
    source: str
    published: Positive
    unit: Unit
    measure: Io
    prepare: Preparation = ()
    reference: Preparation | None = None
    tolerance_pct: Positive | None = None
    factor: Annotated[float, Meta(gt=1)] | None = None
    direction: Direction | None = None
    capacity_bytes: Annotated[int, Meta(ge=1)] | None = None
    scale: Annotated[int, Meta(ge=1)] = 1
    note: str = ""

    def __post_init__(self) -> None:
        """What the types can't say."""
        if sum(claim is not None for claim in (self.tolerance_pct, self.factor, self.direction)) != 1:
            raise ValueError("give exactly one of tolerance_pct, factor and direction")
        steps = [self.measure, *self.prepare, *(self.reference or ())]
        if any((step.seconds is None) == (step.fills is None) for step in steps if isinstance(step, Io)):
            raise ValueError("give I/O either seconds or fills")
        if (self.unit is Unit.SPEED_SHARE) != (self.reference is not None):
            raise ValueError(f"a reference goes with {Unit.SPEED_SHARE.value!r}, and only with it")

    @property
    def claim(self) -> str:
        """What is claimed, as a table prints it."""
        if self.tolerance_pct is not None:
            return f"within {self.tolerance_pct:g} %"
        if self.factor is not None:
            return f"within a factor of {self.factor:g}"
        return f"{self.direction} only"

    def holds(self, model: float) -> bool:
        """Whether the model's figure is as near as claimed."""
        if self.tolerance_pct is not None:
            return abs(self.deviation_pct(model)) <= self.tolerance_pct
        if self.factor is not None:
            return model > 0 and abs(math.log(model / self.published)) <= math.log(self.factor)
        return model > self.published if self.direction is Direction.ABOVE else model < self.published

    def deviation_pct(self, model: float) -> float:
        """How far the model is above the published figure."""
        return 100 * (model / self.published - 1)


def figures_of(preset: Preset) -> tuple[Figure, ...]:
    """The published figures of a preset."""
    return msgspec.convert(preset.figures(), tuple[Figure, ...])


def model_of(preset: Preset, figure: Figure, seed: int) -> float:
    """What the model gives for a published figure, on new drives."""
    model = _measured(preset, figure, figure.prepare, seed)
    if figure.reference is not None:
        model *= 100 / _measured(preset, figure, figure.reference, seed)
    return model


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
    before = nand_pages(drive)
    engine.submit([figure.measure.step(figure.scale)])
    sample = next_sample(engine, figure.name)
    if figure.unit is Unit.HOST_SHARE:
        host_pages, all_pages = (now - then for now, then in zip(nand_pages(drive), before, strict=True))
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
            return sample.elapsed_ns / (60 * NS_PER_S)
        case Unit.HOST_SHARE:
            raise TypeError("not a figure of a sample")
