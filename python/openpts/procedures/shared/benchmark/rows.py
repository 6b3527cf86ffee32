"""Rows of benchmarks as steps: the test file, the pause, the warm-up, the passes and those that are added.

A test file is a span at the start of the active range. It is written in sequence before the rows that read
it: what was never written is answered without the flash. Laying it again in the same place makes the old one
invalid, as deleting it would (LSI-PROC-03).
"""

import dataclasses
from collections.abc import Generator
from typing import Final

from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.procedures.kit.benchmark_profile import BenchmarkProfile, ProfileRow
from openpts.procedures.shared.benchmark.conditions import PreconditionedConditions, ProfileTestConditions
from openpts.procedures.shared.benchmark.results import passes_of, passes_to_add
from openpts.units import KIB, NS_PER_S, block_size_kib
from openpts.vocabulary.requests import Answer, Apply, Request, samples_in
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, OperationWeights, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf
from openpts.vocabulary.workload import simple_workload

LONGEST_NS: Final = 60 * NS_PER_S
"""A pass, a warm-up or a pause of a row, at the most, unless the operator sets another limit."""
_LAY_BLOCK_BYTES: Final = 128 * KIB
_LAY_QD: Final = 32


def range_of(
    conditions: ProfileTestConditions, span_bytes: int | None, capacity_bytes: int, share_pct: float = 100
) -> ActiveRange:
    """Where a row's accesses go; a test file is no larger than a share of the active range."""
    whole = conditions.active_range
    if span_bytes is None:
        return whole
    most_pct = (whole.end_pct - whole.start_pct) * share_pct / 100
    return ActiveRange(
        whole.start_pct, whole.start_pct + min(most_pct, 100 * span_bytes / max(1, capacity_bytes))
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
    pause = (Step(None, Duration(pause_ns)),) if pause_ns and after_another else ()
    warm_up = (Step(stimulus, Duration(warm_up_ns)),) if warm_up_ns else ()
    length = Duration(min(row.pass_ns, conditions.longest_pass_ns))
    stop = length if row.pass_bytes is None else FirstOf((length, ByteAmount(row.pass_bytes)))
    return (*pause, *warm_up, *((Step(stimulus, stop),) * row.passes))


# SOL-STAT-02, 03, 05, 06
def apply_row(
    row: ProfileRow, conditions: ProfileTestConditions, apply: Apply
) -> Generator[Request, Answer, None]:
    """Carry out a row; where a limit of the RSE is asked for, go on with passes until it is met.

    Two more at a time, as the Solidigm guide has it, until there are as many as a set may need.
    """
    adds = conditions.until_rse_pct > 0
    samples = samples_in((yield dataclasses.replace(apply, until_alike=adds)))
    while adds and (missing := passes_to_add(row, passes_of(row, samples), conditions.set_rule)):
        more = dataclasses.replace(apply, steps=(apply.steps[-1],) * missing, until_alike=True)
        samples += samples_in((yield more))


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
    amount_bytes = round((where.end_pct - where.start_pct) / 100 * capacity_bytes)
    return (Step(stimulus, ByteAmount(max(1, amount_bytes))),)


def sequential_writes(conditions: PreconditionedConditions) -> Stimulus:
    """The sequential conditioning of the active range."""
    size_bytes = conditions.precondition_block_size_bytes
    return conditions.stimulus(
        simple_workload("conditioning", AccessPattern.SEQUENTIAL, size_bytes, 0),
        tc=conditions.precondition_tc,
        qd=conditions.precondition_qd,
    )


def possible_rows(benchmark: BenchmarkProfile, sector_bytes: int) -> tuple[BenchmarkProfile, tuple[str, ...]]:
    """The benchmark without sizes that are no multiple of the sector, and in words what was left out.

    Other sizes of a mix keep their weights. Raises UsageError where no row is left.
    """
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
