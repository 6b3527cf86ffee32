"""What trims take, and what they do to the reads and writes beside them."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import Figures
from openpts.procedures.kit.steps import Pivot, Row, pivot, select
from openpts.record.reader import Run
from openpts.units import GIB, MIB, NS_PER_MS, format_block_size
from openpts.vocabulary.sample import Phase, Sample, StepState
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.trimmed_reads import TrimLimits, TrimmedReads
from openpts_pages import cells
from openpts_practice.trim import AFTER, BEFORE, BESIDE, TrimConditions

FACTOR_LIMIT: Final = 2.0
"""Trims stall what takes so many times as long beside them, at the judged percentile."""
STALL_NS: Final = 10 * NS_PER_MS
"""A longest response time up to this is no stall, however short it is without trims."""
RATE_LIMIT: Final = 0.95
"""What comes at a fixed rate must complete at so much of what it does without trims."""
JUDGED_PCTS: Final = (99.9, 99.0, 90.0)
"""The percentile judged is the first one that there are enough I/Os for."""
PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


def size_name(size_bytes: int) -> str:
    """A size of trims, which may be large: ``4 KiB``, ``2 GiB``."""
    for unit, unit_bytes in (("GiB", GIB), ("MiB", MIB)):
        if size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes} {unit}"
    return format_block_size(size_bytes)


class Effect(Enum):
    """What trims do to an operation beside them."""

    STALLED = "stalled by trims"
    CLEAN = "clean"
    UNDECIDED = "no verdict"


class Concurrent(Struct, frozen=True):
    """An operation without trims, beside them, and without them again."""

    before: Figures
    beside: Figures
    after: Figures

    @property
    def alone(self) -> tuple[Figures, Figures]:
        """The loads without trims: before, and after."""
        return self.before, self.after

    def slowest_alone_ns(self, pct: float, pick: Callable[[Iterable[float]], float] = max) -> float:
        """A percentile in the slower load without trims; with ``min``, in the faster."""
        return pick(load.percentile_ns(pct) or 0 for load in self.alone)

    @property
    def longest_alone_ns(self) -> int:
        """The longest response time without trims."""
        return max(load.max_latency_ns or 0 for load in self.alone)

    @property
    def judged_pct(self) -> float | None:
        """The percentile judged; None where there are too few I/Os for any."""
        loads = (*self.alone, self.beside)
        supported = (pct for pct in JUDGED_PCTS if all(one.percentile_ns(pct) is not None for one in loads))
        return next(supported, None)

    def factor(self, pct: float) -> float | None:
        """Response time beside trims over that of the slower load without; None without one of them."""
        loads = (*self.alone, self.beside)
        if any(load.percentile_ns(pct) is None for load in loads):
            return None
        return _ratio(self.beside.percentile_ns(pct), self.slowest_alone_ns(pct))

    @property
    def rate_share(self) -> float | None:
        """Rate beside trims over the lower rate without."""
        return _ratio(self.beside.iops, min(load.iops for load in self.alone))

    def broken(self, *, against_faster: bool = False) -> tuple[str, ...]:
        """Parts of the rule that are broken: ``percentile``, ``longest`` and ``rate``.

        Loads are held against the slower one without trims, or against the faster one.
        """
        time, rate = (min, max) if against_faster else (max, min)
        pct, longest_ns = self.judged_pct, self.beside.max_latency_ns or 0
        found_ns = 0 if pct is None else self.beside.percentile_ns(pct) or 0
        alone_ns = 0 if pct is None else self.slowest_alone_ns(pct, time)
        longest_alone_ns = time(load.max_latency_ns or 0 for load in self.alone)
        parts = {
            "percentile": alone_ns > 0 and found_ns >= FACTOR_LIMIT * alone_ns,
            "longest": longest_ns > max(STALL_NS, FACTOR_LIMIT * longest_alone_ns),
            "rate": self.beside.iops < RATE_LIMIT * rate(load.iops for load in self.alone),
        }
        return tuple(name for name, is_broken in parts.items() if is_broken)

    @property
    def effect(self) -> Effect:
        """By the rule of the test."""
        if self.broken():
            return Effect.STALLED
        is_doubtful = self.judged_pct is None or self.broken(against_faster=True)
        return Effect.UNDECIDED if is_doubtful else Effect.CLEAN


def _ratio(above: float | None, below: float) -> float | None:
    return above / below if above is not None and below else None


class TrimRun(Struct, frozen=True):
    """What was measured; what was not is empty or None.

    ``points`` are steps that trim. ``beside`` has reads and writes by name. ``trims`` are those beside reads
    and writes: their stimulus, and what became of them.
    """

    run: Run
    asked: TrimConditions
    points: list[Row[Figures]]
    beside: dict[str, Concurrent]
    trims: Row[Figures] | None
    trimmed: TrimmedReads | None

    @property
    def by_size(self) -> Pivot[int, int, Figures]:
        """Points by size and number outstanding."""
        return pivot(self.points, size_of, toio_of)

    @property
    def limits(self) -> TrimLimits:
        """Limits of the device, as far as they are known."""
        return TrimLimits() if self.trimmed is None else self.trimmed.limits

    @property
    def trims_text(self) -> str:
        """What was beside reads and writes: ``trims of 32 MiB, 10.0/s``."""
        if self.trims is None:
            return "trims"
        stimulus, figures = self.trims
        return f"trims of {size_name(stimulus.block_size_bytes)}, {cells.fixed(figures.iops, 1)}/s"


def size_of(stimulus: Stimulus) -> int:
    """Size of the trims of a point."""
    return stimulus.block_size_bytes


def toio_of(stimulus: Stimulus) -> int:
    """Number of trims outstanding at a point."""
    return stimulus.toio


def trim_run(run: Run) -> TrimRun:
    """The results, from the samples in the record."""
    loads = {
        number: [step.sample for step in run.phase(Phase.LOAD, number=number) if _is_whole_load(step.sample)]
        for number in (BEFORE, BESIDE, AFTER)
    }
    trims = [
        (stream.stimulus, _figures(sample, "trim"))
        for sample in loads[BESIDE]
        for stream in sample.step.streams
        if stream.stimulus.operations.trim
    ]
    points = select(run.phase(Phase.SWEEP), lambda stimulus: bool(stimulus.operations.trim))
    return TrimRun(
        run=run,
        asked=run.conditions(TrimConditions),
        points=[(stimulus, _figures(sample, "trim")) for stimulus, sample in points if sample.trim.ios],
        beside={
            f"{name}s": Concurrent(*(_figures(samples[-1], name) for samples in loads.values()))
            for name in ("read", "write")
            if all(loads.values())
        },
        trims=trims[-1] if trims else None,
        trimmed=run.manifest.trimmed,
    )


def _is_whole_load(sample: Sample) -> bool:
    return len(sample.step.streams) > 1 and sample.state is StepState.COMPLETE


def _figures(sample: Sample, operation: str) -> Figures:
    return Figures.of([sample.operations[operation]], sample.elapsed_ns)
