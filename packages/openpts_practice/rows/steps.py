"""Rows of benchmarks as steps, and their figures: test file, pause, warm-up, passes, those that are added.

A test file is a span at the start of the active range. It is written in sequence before the rows that read
it: what was never written is answered without the flash. Laying it again in the same place makes the old one
invalid, as deleting it would (LSI-PROC-03).
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.run_comparison import Quality, RunSet, SetRule
from openpts.errors import UsageError
from openpts.units import KIB, MB, MIB, NS_PER_MS, NS_PER_US, block_size_kib, format_capacity
from openpts.vocabulary.requests import Apply, Script, samples_in
from openpts.vocabulary.sample import Measured, Sample, StepState
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    Duration,
    FirstOf,
    OperationWeights,
    Step,
    Stimulus,
)
from openpts.vocabulary.workload import simple_workload
from openpts_practice.rows import BenchmarkProfile, FigureUnit, ProfileRow, Statistic
from openpts_practice.rows.conditions import PreconditionedConditions, ProfileTestConditions, free_space_words


class RowFigure(Struct, frozen=True):
    """A row in a unit: what its passes measured, of which the tool shows a statistic."""

    unit: FigureUnit
    statistic: Statistic
    passes: RunSet

    @property
    def shown(self) -> float:
        """What the tool would show. The best response time is the lowest."""
        match self.statistic:
            case Statistic.BEST:
                return self.passes.low if self.unit.is_time else self.passes.high
            case Statistic.MEAN:
                return fmean(self.passes.values)
            case Statistic.MEDIAN:
                return self.passes.median

    @property
    def discarded(self) -> bool:
        """Whether the passes lie too far apart for a figure, and there are as many as a set may need."""
        return self.passes.quality is Quality.DISCARDED


def passes_of(row: ProfileRow, samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """The complete passes among the steps of a row, without the idle time and the warm-up before them."""
    busy = [sample for sample in samples if not sample.step.is_idle]
    passes = busy[1:] if row.warm_up_ns else busy
    return tuple(sample for sample in passes if sample.state is StepState.COMPLETE)


def row_figure(
    passes: Sequence[Measured], unit: FigureUnit, statistic: Statistic, rule: SetRule
) -> RowFigure | None:
    """The figure of a row in a unit; None if no pass had an I/O."""
    values = tuple(value for one in passes if (value := _figure(one, unit)) is not None)
    return RowFigure(unit, statistic, RunSet(values, unit.better, rule)) if values else None


def passes_to_add(row: ProfileRow, passes: Sequence[Measured], rule: SetRule) -> int:
    """Passes that a row lacks to be accepted in all of its units; 0 for one that is, or is discarded."""
    figures = [row_figure(passes, unit, row.statistic, rule) for unit in row.units]
    return max((figure.passes.to_add for figure in figures if figure is not None), default=0)


def _figure(measured: Measured, unit: FigureUnit) -> float | None:
    latency_ns = measured.mean_latency_ns
    if latency_ns is None:
        return None
    match unit:
        case FigureUnit.MB_PER_S:
            return measured.bandwidth_bytes_per_s / MB
        case FigureUnit.IOPS:
            return measured.iops
        case FigureUnit.MICROSECONDS:
            return latency_ns / NS_PER_US
        case FigureUnit.MILLISECONDS:
            return latency_ns / NS_PER_MS


class Score(Struct, frozen=True):
    """The score of AS SSD: points per MB/s, by the formula that reviews of the tool give."""

    read: float
    write: float
    total: float


AS_SSD_ROWS = ("Seq", "4K", "4K-64Thrd")
"""The rows that the score of AS SSD is made of."""


def as_ssd_score(read_mb_per_s: Mapping[str, float], write_mb_per_s: Mapping[str, float]) -> Score | None:
    """The score from the MB/s of its rows by name; None unless all of them are there."""
    if any(row not in of for row in AS_SSD_ROWS for of in (read_mb_per_s, write_mb_per_s)):
        return None
    seq_r, rnd_r, deep_r = (read_mb_per_s[row] for row in AS_SSD_ROWS)
    seq_w, rnd_w, deep_w = (write_mb_per_s[row] for row in AS_SSD_ROWS)
    return Score(
        read=0.1 * seq_r + rnd_r + deep_r,
        write=0.1 * seq_w + rnd_w + deep_w,
        total=0.15 * seq_w + 0.1 * seq_r + 2 * rnd_r + rnd_w + deep_w + 1.5 * deep_r,
    )


def loss_pct(fresh: float, used: float) -> float | None:
    """What is lost against the fresh figure, in per cent of it; None where that is 0."""
    return 100 * (fresh - used) / fresh if fresh else None


C = TypeVar("C", bound=ProfileTestConditions)

_LAY_BLOCK_BYTES: Final = 128 * KIB
_LAY_QD: Final = 32
_ALIGNMENT_BYTES: Final = MIB


class _ByteRange(Struct, frozen=True):
    """From ``start`` to before ``end`` of the device, in bytes."""

    start: int
    end: int

    def in_pct(self, conditions: ProfileTestConditions, capacity_bytes: int) -> ActiveRange:
        """The same in per cent of the last LBA, to the sector: halves of a sector are rounded down."""
        sector, last = conditions.sector_bytes, capacity_bytes // conditions.sector_bytes - 1
        first_pct, last_pct = (
            100 * lba / last for lba in (self.start // sector + 0.5, self.end // sector - 0.5)
        )
        return ActiveRange(first_pct, min(100.0, last_pct))


# LSI-PROC-02, SOL-BMK-04
def _pieces(conditions: ProfileTestConditions, capacity_bytes: int) -> list[tuple[_ByteRange, _ByteRange]]:
    """What conditioning writes, each piece with the free place behind it. Raises UsageError."""
    free = conditions.leave_free
    assert free is not None  # noqa: S101 asked for only where something is left free
    start, end = conditions.active_range.bytes_of(capacity_bytes, conditions.sector_bytes)
    place_bytes = free.place_bytes or round((end - start) * free.place_pct / 100)
    period_bytes = (end - start) // free.places
    if not MIB <= place_bytes <= period_bytes - MIB:
        raise UsageError(
            f"--leave-free: {free_space_words(free)} of {format_capacity(end - start)}: each place, and what "
            "is written before it, has 1 MiB at least"
        )
    found = []
    for place in range(free.places):
        # what is accessed in sequence begins where drives map their pages
        first = _aligned(start + place * period_bytes)
        after = end if place == free.places - 1 else _aligned(start + (place + 1) * period_bytes)
        filled = _aligned(after - place_bytes)
        found.append((_ByteRange(first, filled), _ByteRange(filled, after)))
    return found


def _aligned(offset_bytes: int) -> int:
    return -(-offset_bytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES


def range_of(
    conditions: ProfileTestConditions, span_bytes: int | None, capacity_bytes: int, share_pct: float = 100
) -> ActiveRange:
    """Where a row's accesses go: all that conditioning writes, or a test file at the start of the free space.

    Without that, a test file is at the start of the active range. It is no larger than a share of the range,
    nor than a free place.
    """
    whole = conditions.active_range
    width_pct = (whole.end_pct - whole.start_pct) * share_pct / 100
    if conditions.leave_free is not None:
        pieces = _pieces(conditions, capacity_bytes)
        if span_bytes is None:
            return _ByteRange(pieces[0][0].start, pieces[-1][0].end).in_pct(conditions, capacity_bytes)
        free = pieces[0][1]
        most_bytes = min(free.end - free.start, round(width_pct * capacity_bytes / 100))
        end = free.start + min(span_bytes, most_bytes)
        return _ByteRange(free.start, end).in_pct(conditions, capacity_bytes)
    if span_bytes is None:
        return whole
    return ActiveRange(
        whole.start_pct, whole.start_pct + min(width_pct, 100 * span_bytes / max(1, capacity_bytes))
    )


def row_stimulus(
    row: ProfileRow, conditions: ProfileTestConditions, capacity_bytes: int, share_pct: float = 100
) -> Stimulus:
    """What a row issues."""
    return Stimulus(
        random_pct=row.random_pct,
        block_sizes=row.block_sizes,
        operations=OperationWeights(read=row.read_pct, write=100 - row.read_pct),
        tc=row.tc,
        qd=row.qd,
        active_range=range_of(conditions, row.span_bytes, capacity_bytes, share_pct),
        data=conditions.data if row.data is None else row.data,
    )


def row_steps(
    row: ProfileRow,
    conditions: ProfileTestConditions,
    capacity_bytes: int,
    *,
    after_another: bool,
    share_pct: float = 100,
) -> tuple[Step, ...]:
    """The pause after another row, the warm-up if there is one, the passes."""
    stimulus = row_stimulus(row, conditions, capacity_bytes, share_pct)
    pause_ns = min(row.pause_ns, conditions.longest_pause_ns)
    warm_up_ns = min(row.warm_up_ns, conditions.longest_pass_ns)
    pause = (Step.of(None, Duration(pause_ns)),) if pause_ns and after_another else ()
    warm_up = (Step.of(stimulus, Duration(warm_up_ns)),) if warm_up_ns else ()
    length = Duration(min(row.pass_ns, conditions.longest_pass_ns))
    stop = length if row.pass_bytes is None else FirstOf((length, ByteAmount(row.pass_bytes)))
    return (*pause, *warm_up, *((Step.of(stimulus, stop),) * row.passes))


# SOL-STAT-02, 03, 05, 06
def apply_row(row: ProfileRow, conditions: ProfileTestConditions, apply: Apply) -> Script:
    """Carry out a row; where a limit of the RSE is asked for, continue with passes until it is met.

    Two more at a time, as the Solidigm guide has it, until there are as many as a set may need.
    """
    adds = conditions.until_rse_pct > 0
    samples = samples_in((yield replace(apply, until_alike=adds)))
    while adds and (missing := passes_to_add(row, passes_of(row, samples), conditions.set_rule)):
        more = replace(apply, steps=(apply.steps[-1],) * missing, until_alike=True)
        samples += samples_in((yield more))


def apply_rows(
    benchmark: BenchmarkProfile, conditions: ProfileTestConditions, capacity_bytes: int, apply: Apply
) -> Script:
    """The rows of a benchmark in its order, each as ``apply`` has it, numbered from there on."""
    for position, row in enumerate(benchmark.rows):
        steps = row_steps(row, conditions, capacity_bytes, after_another=position > 0)
        yield from apply_row(row, conditions, replace(apply, number=apply.number + position, steps=steps))


def file_steps(
    benchmark: BenchmarkProfile,
    conditions: ProfileTestConditions,
    capacity_bytes: int,
    share_pct: float = 100,
) -> tuple[Step, ...]:
    """The test file of a benchmark, the largest that a row has, written once; nothing where none has one."""
    rows = [row for row in benchmark.rows if row.span_bytes is not None]
    if not rows:
        return ()
    largest = max(rows, key=lambda row: row.span_bytes or 0)
    data = conditions.data if largest.data is None else largest.data
    where = range_of(conditions, largest.span_bytes, capacity_bytes, share_pct)
    stimulus = replace(
        Stimulus.of(AccessPattern.SEQUENTIAL, _LAY_BLOCK_BYTES, 0, 1, _LAY_QD, where), data=data
    )
    start, end = where.bytes_of(capacity_bytes, conditions.sector_bytes)
    return (Step.of(stimulus, ByteAmount(end - start)),)


def sequential_writes(conditions: PreconditionedConditions) -> Stimulus:
    """The sequential conditioning of the active range."""
    size_bytes = conditions.precondition_block_size_bytes
    return conditions.stimulus(
        simple_workload("conditioning", AccessPattern.SEQUENTIAL, size_bytes, 0),
        tc=conditions.precondition_tc,
        qd=conditions.precondition_qd,
    )


def conditioning_steps(
    conditions: ProfileTestConditions, stimulus: Stimulus, passes: float, capacity_bytes: int
) -> tuple[Step, ...]:
    """So many times the user capacity, or of it what is not left free, piece by piece in each pass."""
    if conditions.leave_free is None:
        amount_bytes = round(passes * capacity_bytes)
        return (Step.of(stimulus, ByteAmount(amount_bytes)),) if amount_bytes else ()
    steps = []
    for number in range(math.ceil(passes)):
        share = min(1.0, passes - number)
        for piece, _ in _pieces(conditions, capacity_bytes):
            written = replace(stimulus, active_range=piece.in_pct(conditions, capacity_bytes))
            steps.append(Step.of(written, ByteAmount(max(1, round(share * (piece.end - piece.start))))))
    return tuple(steps)


def without_impossible_rows(conditions: C, sector_bytes: int) -> C:
    """The conditions without sizes that are no multiple of the sector; what was left out is kept as text.

    Other sizes of a mix keep their weights. Raises UsageError where no row of a benchmark is left.
    """
    possible = [_possible_rows(benchmark, sector_bytes) for benchmark in conditions.benchmarks]
    return replace(
        conditions,
        benchmarks=tuple(benchmark for benchmark, _ in possible),
        impossible=tuple(text for _, texts in possible for text in texts),
        sector_bytes=sector_bytes,
    )


def _possible_rows(
    benchmark: BenchmarkProfile, sector_bytes: int
) -> tuple[BenchmarkProfile, tuple[str, ...]]:
    rows: list[ProfileRow] = []
    impossible: list[str] = []
    for row in benchmark.rows:
        left = tuple(size for size in row.block_sizes if size.block_size_bytes % sector_bytes == 0)
        if left:
            rows.append(replace(row, block_sizes=left))
        if left != row.block_sizes:
            sizes = [size.block_size_bytes for size in row.block_sizes if size not in left]
            impossible.append(f"{benchmark.title}, {row.title}: {', '.join(map(block_size_kib, sizes))} KiB")
    if not rows:
        raise UsageError(f"no row of {benchmark.title} is possible on sectors of {sector_bytes:,} bytes")
    return replace(benchmark, rows=tuple(rows)), tuple(impossible)
