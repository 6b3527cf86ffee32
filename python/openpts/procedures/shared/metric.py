"""The figures of rounds, as reports write them: those that steady state is judged by, and the slowest I/O."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from openpts.analysis.rounds import CompleteRound
from openpts.pages import cells
from openpts.pages.model import Cell
from openpts.units import NS_PER_MS, format_latency_ms
from openpts.vocabulary.sample import Measured
from openpts.vocabulary.stop import SteadyFigure
from openpts.vocabulary.verdict import UNITS, RoundPoint, figure_of


@dataclass(frozen=True, slots=True)
class Metric:
    """``of`` what was measured, in ``unit``: IOPS, MB/s or ms. ``decimals`` is None for latencies.

    ``statistic`` is what it is of a Round: its average, or its maximum.
    """

    of: Callable[[Measured], float]
    unit: str
    axis_title: str
    decimals: int | None
    statistic: str = "average"

    @property
    def is_latency(self) -> bool:
        """Whether it is a response time, whose axes are logarithmic."""
        return self.decimals is None

    def by_round(self, rounds: Sequence[CompleteRound], point: RoundPoint) -> tuple[float, ...]:
        """The figure of a test point in rounds 1, 2, ...; empty if the point was never measured."""
        return tuple(self.of(samples[point]) for samples in rounds if point in samples)

    def text(self, value: float) -> str:
        """The value without its unit."""
        if self.decimals is None:
            sign = "-" if value < 0 else ""
            return sign + format_latency_ms(abs(value) * NS_PER_MS)
        return cells.fixed(value, self.decimals)

    def cell(self, value: float, *, note: str = "") -> Cell:
        """The value in a table."""
        return Cell(self.text(value), value, note)


def _metric(figure: SteadyFigure, axis_title: str, decimals: int | None) -> Metric:
    return Metric(partial(figure_of, figure), UNITS[figure], axis_title, decimals)


METRICS: Final = {
    SteadyFigure.IOPS: _metric(SteadyFigure.IOPS, "IOPS", 1),
    SteadyFigure.THROUGHPUT: _metric(SteadyFigure.THROUGHPUT, "Throughput (MB/s)", 1),
    SteadyFigure.MEAN_LATENCY: _metric(SteadyFigure.MEAN_LATENCY, "Average response time (ms)", None),
}
IOPS: Final = METRICS[SteadyFigure.IOPS]
MAX_LATENCY: Final = Metric(
    lambda measured: (measured.max_latency_ns or 0) / NS_PER_MS,
    "ms",
    "Maximum response time (ms)",
    None,
    "maximum",
)
