"""The figure of a benchmark's row from its passes: what the tool would show, and how far they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from openpts.analysis.run_comparison import Quality, RunSet, SetRule
from openpts.units import MB, NS_PER_MS, NS_PER_US
from openpts.vocabulary.sample import Measured, Sample, StepState
from openpts_practice.benchmark_rows.benchmark_profile import FigureUnit, ProfileRow, Statistic


@dataclass(frozen=True, slots=True)
class RowFigure:
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


@dataclass(frozen=True, slots=True)
class Score:
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
