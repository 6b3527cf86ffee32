"""The figures on which steady state is judged, as reports write them."""

from dataclasses import dataclass
from typing import Final

from openpts.report import cells
from openpts.report.model import Cell
from openpts.units import NS_PER_MS, format_latency_ms
from openpts.vocabulary.stop import SteadyFigure
from openpts.vocabulary.verdict import UNITS


@dataclass(frozen=True, slots=True)
class Metric:
    """How a figure is named on axes and how its values are written: ``decimals``, or None for latencies."""

    figure: SteadyFigure
    axis_title: str
    decimals: int | None

    @property
    def unit(self) -> str:
        """IOPS, MB/s or ms."""
        return UNITS[self.figure]

    def text(self, value: float) -> str:
        """The value without its unit."""
        if self.decimals is None:
            sign = "-" if value < 0 else ""
            return sign + format_latency_ms(abs(value) * NS_PER_MS)
        return cells.fixed(value, self.decimals)

    def cell(self, value: float, *, note: str = "") -> Cell:
        """The value in a table."""
        return Cell(self.text(value), value, note)


METRICS: Final = {
    SteadyFigure.IOPS: Metric(SteadyFigure.IOPS, "IOPS", 1),
    SteadyFigure.THROUGHPUT: Metric(SteadyFigure.THROUGHPUT, "Throughput (MB/s)", 1),
    SteadyFigure.MEAN_LATENCY: Metric(SteadyFigure.MEAN_LATENCY, "Average response time (ms)", None),
}
IOPS: Final = METRICS[SteadyFigure.IOPS]
