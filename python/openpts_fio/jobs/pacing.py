"""When a job issues its I/Os: rates, think time, and how many are outstanding."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from openpts.fields.fio_values import TRIM
from openpts.units import NS_PER_US
from openpts.vocabulary.stimulus import Batches, Capped, CapUnit, ClosedLoop, Pacing, Poisson, ThinkTime
from openpts_fio.jobs.directions import Direction
from openpts_fio.jobs.job import Job

_ONE_BY_ONE: Final = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "sg"})
_QUEUED: Final = frozenset({"libaio", "io_uring", "io_uring_cmd", "posixaio", "linuxaio"})
_QUEUES_TRIMS: Final = frozenset({"io_uring_cmd"})
_MOST_CARDS: Final = 10_000


def queue_depth(job: Job, directions: Sequence[Direction]) -> int:
    """What each thread keeps outstanding with that ioengine. Raises JobError."""
    engine, depth = job.text("ioengine", "psync"), job.number("iodepth", 1)
    if engine not in _QUEUED | _ONE_BY_ONE:
        raise job.error("ioengine", "is no engine that does I/O on a block device as openpts does")
    if depth < 1:
        raise job.error("iodepth", "is below 1")
    if depth > 1 and engine in _ONE_BY_ONE:
        job.note("iodepth", f"is 1 with ioengine={engine}, as in fio")
        return 1
    if depth > 1 and engine not in _QUEUES_TRIMS and any(one.operation == TRIM for one in directions):
        job.note("iodepth", f"is 1 for trims with ioengine={engine}, as in fio")
        return 1
    return depth


class PacingRates(Struct, frozen=True):
    """The pacing of all directions together, or of each: fio's rates hold per direction.

    ``weights``: what share of the I/Os each has, where the rates of both decide it.
    """

    together: Pacing | None
    apart: tuple[Pacing, ...] = ()
    weights: tuple[int, ...] = ()


def paces_of(job: Job, directions: Sequence[Direction], depth: int, threads: int) -> PacingRates:
    """The pacing of ``threads`` threads. Raises JobError."""
    rates = _rates(job, directions, threads)
    think_ns, blocks = job.time_ns("thinktime", NS_PER_US), job.number("thinktime_blocks", 1)
    if think_ns:
        if any(rate is not None for rate in rates):
            raise job.error("thinktime", "with a rate, which fio catches up with after each rest")
        if blocks < 1:
            raise job.error("thinktime_blocks", "is below 1")
        if depth > blocks and job.text("thinktime_blocks_type", "complete") == "complete":
            raise job.error(
                "thinktime_blocks",
                f"is below iodepth, {depth}: what fio then issues before a rest depends on the drive; "
                "use thinktime_blocks_type=issue",
            )
        return PacingRates(ThinkTime(think_ns) if blocks == depth == 1 else Batches(blocks, think_ns))
    given = [rate for rate in rates if rate is not None]
    if not given:
        return PacingRates(ClosedLoop())
    apart = tuple(_pacing(job, rate, one) for rate, one in zip(rates, directions, strict=True))
    if len(apart) == 1:
        return PacingRates(apart[0])
    return _one_pace(job, directions, given) or PacingRates(None, apart)


def _one_pace(job: Job, directions: Sequence[Direction], rates: Sequence[Capped]) -> PacingRates | None:
    """One cap for a mix that is alike in all directions: its weights are the rates."""
    alike = len({one.where_and_how_much for one in directions}) == 1
    in_sequence = any(one.random_pct < 100 for one in directions)
    if len(rates) < len(directions) or not alike or in_sequence or _is_poisson(job):
        return None
    if sum(_weights(directions, rates)) > _MOST_CARDS:
        return None
    return PacingRates(
        Capped(sum(rate.per_s for rate in rates), rates[0].unit), weights=_weights(directions, rates)
    )


def _weights(directions: Sequence[Direction], rates: Sequence[Capped]) -> tuple[int, ...]:
    """Weights of the job's own mix where the rates agree with it to the unit, or else those of the rates."""
    (first, second), (one, other) = (rate.per_s for rate in rates), (each.weight for each in directions)
    if abs(first * other - second * one) <= max(one, other):
        return one, other
    common = math.gcd(int(first), int(second))
    return int(first) // common, int(second) // common


def _rates(job: Job, directions: Sequence[Direction], threads: int) -> list[Capped | None]:
    """The cap of each direction, all threads together; None without one."""
    named = {CapUnit.IOS: job.numbers("rate_iops"), CapUnit.BYTES: job.numbers("rate")}
    if all(any(rates.values()) for rates in named.values()):
        raise job.error("rate_iops", "beside rate: fio takes one of them")
    return [_cap(one, named, threads) for one in directions]


def _cap(direction: Direction, rates: Mapping[CapUnit, Mapping[str, int]], threads: int) -> Capped | None:
    """fio counts IOPS of several sizes in units of the smallest, which makes them bytes."""
    per_s, bytes_per_s = (rates[unit].get(direction.operation, 0) * threads for unit in CapUnit)
    if per_s and len(direction.block_sizes) > 1:
        return Capped(float(per_s * direction.smallest_bytes), CapUnit.BYTES)
    if per_s:
        return Capped(float(per_s), CapUnit.IOS)
    return Capped(float(bytes_per_s), CapUnit.BYTES) if bytes_per_s else None


def _is_poisson(job: Job) -> bool:
    process = job.text("rate_process", "linear")
    if process not in {"linear", "poisson"}:
        raise job.error("rate_process", "is neither linear nor poisson")
    return process == "poisson"


def _pacing(job: Job, rate: Capped | None, direction: Direction) -> Pacing:
    if rate is None:
        return ClosedLoop()
    if not _is_poisson(job):
        return rate
    if len(direction.block_sizes) > 1:
        raise job.error("rate_process", "with several sizes: fio draws arrivals for the smallest")
    job.note("rate_process", "latency counts from the planned moment, and not from the submission")
    per_s = rate.per_s if rate.unit is CapUnit.IOS else rate.per_s / direction.smallest_bytes
    return Poisson(per_s)
