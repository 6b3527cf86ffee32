"""Minutes of a continuous stimulus: the record that WSAT, HIR, XSR, CBW and DIRTH plot over time.

PTS 10.2 step 2.2.2, 11.2 step 3.1, 12.2 step 2.3, 13.2 step 3.2.1. The specification's minute is
``conditions.minute_ns``, shorter at a time scale.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from math import fsum
from operator import itemgetter
from typing import Any, Final, NamedTuple

from msgspec.structs import astuple

from openpts.analysis.latency import LatencyDistribution, ios_needed, response_times
from openpts.vocabulary.sample import NOTHING, CpuShares, Measured, OperationSample, Sample

TAIL_PERCENTILE = 99.999

# Intervals are whole in one minute or another, so that a row may lack one: a rest is shorter than that.
_WHOLE = 0.9
_OPERATIONS: Final = ("read", "write", "trim", "flush", "fsync")


class Minute(Measured, frozen=True, kw_only=True, dict=True):
    """What happened in one minute of elapsed time, with every figure that a step has: ``iops``, ...

    ``number`` counts from 1, also minutes with nothing measured. ``start_ns`` and ``end_ns`` are those of
    its first and last interval, from the first step's start. ``elapsed_ns`` is the time measured in it,
    without gaps between steps: rates are per that. ``written_before_bytes`` were written in the minutes
    before it. ``cpu`` is the mean over its time, None if any part of it has none. Histograms are there where
    those of the intervals were read.
    """

    number: int
    start_ns: int
    end_ns: int
    written_before_bytes: int = 0

    @property
    def written_bytes(self) -> int:
        """Bytes written from the start of the stimulus to the end of this minute."""
        return self.written_before_bytes + self.write.bytes

    @cached_property
    def tail_ns(self) -> int | None:
        """The 99.999 % response time; None unless the minute has the 100,000 I/Os that five nines need."""
        enough = self.ios >= ios_needed(TAIL_PERCENTILE)
        if not enough or not all(operation.histogram for operation in self.transfers if operation.ios):
            return None
        return response_times([self]).percentile_ns(TAIL_PERCENTILE)


class MeasuredInterval(NamedTuple):
    """The shortest that was measured of a stimulus: an interval, or a step without intervals.

    ``start_ns`` counts from the start of the first step. ``rest`` is what a step has beyond its last whole
    interval: the answers to what was outstanding at its end.
    """

    start_ns: int
    measured: Measured
    rest: bool = False

    @property
    def end_ns(self) -> int:
        """The end of the piece on the clock of ``start_ns``."""
        return self.start_ns + self.measured.elapsed_ns

    @property
    def middle_ns(self) -> int:
        """The moment that decides to which minute it belongs."""
        return self.start_ns + self.measured.elapsed_ns // 2


def pieces_of(samples: Sequence[Sample]) -> tuple[MeasuredInterval, ...]:
    """The intervals of consecutive steps on one time axis that begins with the first step.

    A step that has no intervals, or an idle one, is one piece as a whole.
    """
    return tuple(
        piece
        for start_ns, sample in zip(starts_ns(samples), samples, strict=True)
        for piece in _of(sample, start_ns)
    )


def pieces_between(samples: Sequence[Sample], first_ns: int, last_ns: int) -> tuple[MeasuredInterval, ...]:
    """The pieces of ``pieces_of`` whose middles lie between two moments of its time axis."""
    return tuple(
        piece
        for start_ns, sample in zip(starts_ns(samples), samples, strict=True)
        if start_ns <= last_ns and first_ns <= start_ns + sample.elapsed_ns + sample.interval_ns
        for piece in _of(sample, start_ns)
        if first_ns <= piece.middle_ns <= last_ns
    )


def starts_ns(samples: Sequence[Sample]) -> tuple[int, ...]:
    """When each of consecutive steps began, by the engine's clock, from the start of the first one.

    A step may be followed by answers to its last I/Os: lengths and gaps do not add up to these times.
    """
    return tuple(sample.started_ns - samples[0].started_ns for sample in samples)


def minutes_of(samples: Sequence[Sample], minute_ns: int) -> tuple[Minute, ...]:
    """Rows per minute of elapsed time, from the intervals of consecutive steps.

    Each interval counts as a whole in the minute in which its middle lies, so that the sums over all rows are
    exactly those of the samples. The rest of a step belongs to the minute of the interval before it: it is
    too short for a rate of its own. A minute in which no interval lies has no row; where intervals are longer
    than a minute, rows are as long as they are.
    """
    rows: list[Minute] = []
    written_bytes = 0
    for index, group in groupby(_by_minute(pieces_of(samples), minute_ns), key=itemgetter(0)):
        row = _merged(index + 1, [piece for _, piece in group], written_bytes)
        written_bytes = row.written_bytes
        rows.append(row)
    return tuple(rows)


def whole_minutes(minutes: Sequence[Minute], minute_ns: int) -> Sequence[Minute]:
    """The rows without a last one that is shorter than a minute: what it shows is no minute's extreme.

    A single row is all there is, and stays.
    """
    short = len(minutes) > 1 and minutes[-1].elapsed_ns < _WHOLE * minute_ns
    return minutes[:-1] if short else minutes


def _by_minute(pieces: Sequence[MeasuredInterval], minute_ns: int) -> Iterator[tuple[int, MeasuredInterval]]:
    index = 0
    for piece in pieces:
        if not piece.rest:
            index = piece.middle_ns // minute_ns
        yield index, piece


def _of(sample: Sample, start_ns: int) -> Iterator[MeasuredInterval]:
    if not sample.intervals:
        yield MeasuredInterval(start_ns, sample)
    for interval in sample.intervals:
        rest = interval.index > 0 and interval.elapsed_ns < sample.interval_ns
        yield MeasuredInterval(start_ns + interval.index * sample.interval_ns, interval, rest)


def _merged(number: int, pieces: Sequence[MeasuredInterval], written_before_bytes: int) -> Minute:
    return Minute(
        number=number,
        start_ns=pieces[0].start_ns,
        end_ns=pieces[-1].end_ns,
        written_before_bytes=written_before_bytes,
        **sum_parts([piece.measured for piece in pieces], histograms=True),
    )


def sum_parts(parts: Sequence[Measured], *, histograms: bool = False) -> dict[str, Any]:
    """Fields of a ``Measured`` that has counted and timed all parts together.

    Its response times have no distribution unless ``histograms`` are merged, which takes long.
    """
    return {
        "elapsed_ns": sum(part.elapsed_ns for part in parts),
        "cpu": mean_cpu(parts),
        **{name: _sum([getattr(part, name) for part in parts], histograms) for name in _OPERATIONS},
    }


def _sum(parts: Sequence[OperationSample], merged: bool) -> OperationSample:
    busy = [part for part in parts if part.ios]
    if len(busy) < 2:
        return busy[0] if busy else NOTHING
    ios, moved, sums_ns, least_ns, most_ns, histograms = zip(*map(astuple, busy), strict=True)
    return OperationSample(
        ios=sum(ios),
        bytes=sum(moved),
        latency_sum_ns=sum(sums_ns),
        latency_min_ns=min((least for least in least_ns if least is not None), default=None),
        latency_max_ns=max((most for most in most_ns if most is not None), default=None),
        histogram=LatencyDistribution.merged(histograms).encode() if merged and all(histograms) else b"",
    )


def mean_cpu(parts: Sequence[Measured]) -> CpuShares | None:
    """Processor use of parts together, each weighed by its time; None if any of them has none."""
    elapsed_ns = sum(part.elapsed_ns for part in parts)
    known = [(part.cpu, part.elapsed_ns) for part in parts if part.cpu is not None]
    if len(known) < len(parts) or not elapsed_ns:
        return None

    def mean(of: str) -> float:
        return fsum(float(getattr(cpu, of)) * length_ns for cpu, length_ns in known) / elapsed_ns

    return CpuShares(
        user_pct=mean("user_pct"),
        sys_pct=mean("sys_pct"),
        iowait_pct=mean("iowait_pct"),
        process_ns=sum(cpu.process_ns for cpu, _ in known),
    )
