"""The steps of a run as a table: selected and arranged by their stimuli, summarized in figures.

A row is a complete step with one stimulus: its keys are functions of the stimulus, its figures are metrics of
what was measured. Columns, cells, measures and JSON come of the same metrics.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import ios_needed
from openpts.analysis.rounds import RoundsMean
from openpts.analysis.uncertainty import blocks_of, of_rounds, of_short_elements
from openpts.record.reader import StepRecord
from openpts.units import MB, NS_PER_MS, format_latency_ms
from openpts.vocabulary.sample import CpuShares, Sample, StepState
from openpts.vocabulary.stimulus import SteadyFigure, Stimulus
from openpts.vocabulary.uncertainty import Uncertainty
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, column_series, grid
from openpts_pages.measure import NOT_MEASURED, Measure
from openpts_pages.model import Axis, Cell, Column, Figure, Series, Table

LINE_COLORS: Final = (2, 3, 1, 6, 4, 5)

M_contra = TypeVar("M_contra", contravariant=True)  # a metric of whatever has figures is one of samples too
T = TypeVar("T")
S = TypeVar("S")
K = TypeVar("K")
R = TypeVar("R", bound="Sortable")
C = TypeVar("C", bound=Hashable)

Row = tuple[Stimulus, T]
"""What a step applied, and what was measured of it."""
Key = Callable[[Stimulus], S]
"""What steps are arranged by."""


class Sortable(Protocol):
    """What rows are sorted by: numbers, texts, or tuples of these."""

    def __lt__(self, other: Any, /) -> bool:
        """Whether it comes before another."""


class HasFigures(Protocol):
    """Counts, rates and response times: a sample, an interval, a minute, or ``Figures``."""

    @property
    def ios(self) -> int:
        """I/Os completed."""

    @property
    def iops(self) -> float:
        """I/Os completed per second."""

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Throughput."""

    @property
    def mean_latency_ns(self) -> float | None:
        """Average response time; None without an I/O."""

    @property
    def max_latency_ns(self) -> int | None:
        """Maximum response time; None without an I/O."""


class HasCpu(Protocol):
    """Processor use: a sample, a minute, or several samples summed up."""

    @property
    def cpu(self) -> CpuShares | None:
        """Shares of the host's processors; None where not every part has them."""


class HasResponseTimes(HasFigures, Protocol):
    """Figures with the distribution of the response times."""

    def percentile_ns(self, percentile: float) -> int | None:
        """A percentile of the response time; None where there are too few I/Os to state it."""


class Metric(Struct, Generic[M_contra], frozen=True):
    """A figure: how it is found, and how tables, plots and JSON show it.

    ``of`` gives it in ``1 / per`` of the unit, None where it was not measured, for the reason ``absent``.
    ``key`` is its name in JSON, ``label`` its column's, ``axis`` that of an axis where it is another;
    ``statistic`` says what it is of a Round. With ``decimals`` of None it is a response time,
    shown in ms with three significant digits.
    """

    key: str
    label: str
    unit: str
    of: Callable[[M_contra], float | None]
    per: int = 1
    decimals: int | None = 1
    absent: str = NOT_MEASURED
    axis: str = ""
    statistic: str = "average"

    @property
    def axis_title(self) -> str:
        """Title of an axis of it."""
        return self.axis or self.label

    def value(self, measured: M_contra | None) -> float | None:
        """The figure in its unit; None where it was not measured."""
        found = None if measured is None else self.of(measured)
        return found if found is None or self.per == 1 else found / self.per

    def cell(self, measured: M_contra | None) -> Cell:
        """The figure in a table, or why there is none."""
        if measured is None or (found := self.of(measured)) is None:
            return cells.missing(self.absent)
        if self.decimals is None:
            return cells.latency(found)
        if isinstance(found, int) and self.per == 1:
            return cells.count(found)
        return cells.number(found / self.per if self.per != 1 else found, self.decimals)

    def text(self, value: float) -> str:
        """A value in the unit, without it."""
        if self.decimals is None:
            return ("-" if value < 0 else "") + format_latency_ms(abs(value) * NS_PER_MS)
        return cells.fixed(value, self.decimals)

    def shown(self, value: float | None, note: str = "") -> Cell:
        """A value in the unit, such as a mean of several."""
        return cells.missing(self.absent) if value is None else Cell(self.text(value), value, note)

    def of_rounds(self, rounds: Iterable[Mapping[K, M_contra]], point: K) -> tuple[float, ...]:
        """Values of a test point in rounds 1, 2, ...; empty if it was never measured, 0 without an I/O."""
        return tuple(self.value(measured[point]) or 0.0 for measured in rounds if point in measured)

    def column(self, measured_in: Callable[[T], M_contra | None]) -> Col[T]:
        """A column of a table whose rows hold what was measured."""
        return Col(self.label, lambda row: self.cell(measured_in(row)))

    def measure(
        self, key: str, label: str, *, decimals: int | None = None, **facts: Any
    ) -> Measure[M_contra]:
        """A measure of the run under another name; ``facts`` are further ones of ``Measure``.

        A response time has the text of its cell unless ``decimals`` are given. Of rounds the uncertainty
        comes by itself.
        """
        facts.setdefault("uncertainty", self.mean_uncertainty)
        digits = self.decimals if decimals is None else decimals
        if digits is None:
            return Measure(key, label, self.unit, self.cell, **facts)
        return Measure(key, label, self.unit, self.of, per=self.per, decimals=digits, **facts)

    def uncertainty(self, rounds: Sequence[Sample]) -> Uncertainty:
        """Uncertainty of the mean of some rounds' values, in the unit."""
        return of_rounds(blocks_of(rounds, self.value))

    def mean_uncertainty(self, results: object) -> Uncertainty | None:
        """Uncertainty of a mean of rounds, with elements and state of the short form; None for others."""
        if not isinstance(results, RoundsMean):
            return None
        if results.state is None:
            return self.uncertainty(results.samples)
        return of_short_elements(blocks_of(results.samples, self.value), results.state)


IOS: Final = Metric[HasFigures]("ios", "I/Os", "", lambda one: one.ios)
IOPS: Final = Metric[HasFigures]("iops", "IOPS", "IOPS", lambda one: one.iops)
THROUGHPUT: Final = Metric[HasFigures](
    "mb_per_s", "MB/s", "MB/s", lambda one: one.bandwidth_bytes_per_s, per=MB, axis="Throughput (MB/s)"
)
MEAN: Final = Metric[HasFigures](
    "mean_ms", "Mean (ms)", "ms", lambda one: one.mean_latency_ns, NS_PER_MS, None, "no I/O timed"
)
LONGEST: Final = Metric[HasFigures](
    "longest_ms", "Longest (ms)", "ms", lambda one: one.max_latency_ns, NS_PER_MS, None, "no I/O timed"
)

ART: Final = replace(MEAN, key="art_ms", label="ART (ms)", axis="Average response time (ms)")
MRT: Final = replace(
    LONGEST, key="mrt_ms", label="MRT (ms)", axis="Maximum response time (ms)", statistic="maximum"
)
"""Average and maximum response time under the specification's names."""

METRICS: Final = {
    SteadyFigure.IOPS: IOPS,
    SteadyFigure.THROUGHPUT: THROUGHPUT,
    SteadyFigure.MEAN_LATENCY: ART,
}
"""What steady state is judged by."""

CPU_SYS: Final = Metric[HasCpu](
    "cpu_sys_pct",
    "CPU Sys (%)",
    "%",
    lambda one: None if one.cpu is None else one.cpu.sys_pct,
    decimals=2,
    absent="not recorded",
)
CPU_IOWAIT: Final = replace(
    CPU_SYS,
    key="cpu_iowait_pct",
    label="CPU IO Wait (%)",
    of=lambda one: None if one.cpu is None else one.cpu.iowait_pct,
)


def percentile(pct: float) -> Metric[HasResponseTimes]:
    """A percentile of the response time, which needs enough I/Os."""
    return Metric(
        f"p{pct:.10g}_ms".replace(".", "_"),
        f"{pct:.10g} % (ms)",
        "ms",
        lambda one: one.percentile_ns(pct),
        NS_PER_MS,
        None,
        f"below {ios_needed(pct):,} I/Os",
    )


def response_times(pcts: Iterable[float]) -> tuple[Metric[HasResponseTimes], ...]:
    """Mean, percentiles and longest."""
    return (MEAN, *map(percentile, pcts), LONGEST)


def columns_of(metrics: Iterable[Metric[T]]) -> list[Col[T]]:
    """A column for each metric of a table whose rows are what was measured."""
    return [Col(metric.label, metric.cell) for metric in metrics]


def values_json(measured: T | None, metrics: Iterable[Metric[T]]) -> dict[str, float | None]:
    """Each metric under its key, JSON-ready."""
    return {metric.key: metric.value(measured) for metric in metrics}


def rows_json(
    rows: Iterable[Row[T]], keys: Mapping[str, Key[Any]], metrics: Sequence[Metric[T]]
) -> list[dict[str, Any]]:
    """Keys and metrics of each row, JSON-ready."""
    return [
        {name: key(stimulus) for name, key in keys.items()} | values_json(measured, metrics)
        for stimulus, measured in rows
    ]


def direction(stimulus: Stimulus) -> str:
    """Read or write, as the head of a column has it."""
    return "Read" if stimulus.read_pct else "Write"


def order(stimulus: Stimulus) -> str:
    """Random or sequential, as JSON has it."""
    return "random" if stimulus.random_pct else "sequential"


def select(
    steps: Iterable[StepRecord], where: Callable[[Stimulus], bool] = lambda _stimulus: True
) -> list[Row[Sample]]:
    """Steps that enter a result, in their order: complete, of one stimulus for which ``where`` holds."""
    samples = (step.sample for step in steps if step.sample.state is StepState.COMPLETE)
    applied = ((sample.step.stimulus, sample) for sample in samples)
    return [(one, sample) for one, sample in applied if one is not None and where(one)]


class Pivot(Struct, Generic[R, C, T], frozen=True):
    """What was measured, by row and column; rows in rising order, of several in one place the last."""

    by_row: Mapping[R, Mapping[C, T]]

    @property
    def columns(self) -> set[C]:
        """The keys of all columns that hold anything."""
        return {column for places in self.by_row.values() for column in places}

    def at(self, row: R, column: C) -> T | None:
        """What was measured in this place."""
        return self.by_row.get(row, {}).get(column)

    def table(
        self, table_id: str, title: str, head: Col[R], columns: Mapping[str, C], metric: Metric[T]
    ) -> Table:
        """A metric in all places; a place without one says so. ``columns`` are the keys by their heads."""
        return grid(
            table_id,
            title,
            head,
            [(Column(label), key) for label, key in columns.items()],
            self.by_row,
            cell=lambda row, column: metric.cell(self.at(row, column)),
        )


def pivot(rows: Iterable[Row[T]], row: Key[R], column: Key[C]) -> Pivot[R, C, T]:
    """Rows of the steps by two of their keys."""
    found: dict[R, dict[C, T]] = {}
    for stimulus, measured in rows:
        found.setdefault(row(stimulus), {})[column(stimulus)] = measured
    return Pivot({key: found[key] for key in sorted(found)})


def summarize(
    rows: Iterable[tuple[K, T]], key: Callable[[K], R], figure: Callable[[T], S]
) -> dict[R, tuple[S, ...]]:
    """The figures of all rows with the same key, in the order of the rows; keys in rising order."""
    found: dict[R, tuple[S, ...]] = {}
    for applied, measured in rows:
        found[key(applied)] = (*found.get(key(applied), ()), figure(measured))
    return {each: found[each] for each in sorted(found)}


def transpose(
    table_id: str,
    title: str,
    rows: Iterable[Col[T]],
    things: Iterable[tuple[str, T | None]],
    *,
    head: Col[str],
    absent: str = NOT_MEASURED,
    note: str = "",
) -> Table:
    """A row for each figure, a column for each thing by its head; ``absent`` where it is None."""
    figures = {row.label: row.cell for row in rows}
    columns = [(Column(label), thing) for label, thing in things]

    def cell(row: str, thing: T | None) -> Cell:
        return cells.missing(absent) if thing is None else figures[row](thing)

    return grid(table_id, title, head, columns, figures, cell=cell, note=note)


def line_series(shown: Table) -> tuple[Series, ...]:
    """A line for each column of a table, in the colors that lines have beside one another."""
    return column_series(shown, color_of=lambda n, _column: LINE_COLORS[n % len(LINE_COLORS)])


def lines_over(
    shown: Table,
    name: PlotName,
    x: Axis,
    unit: str,
    rows: str,
    *,
    logarithmic: bool = False,
    part: str = "plot",
) -> Figure:
    """A line for each column of a table in ``unit``; ``rows`` says what its rows are."""

    def y(values: Sequence[float]) -> Axis:
        return ticks.log_axis(unit, values) if logarithmic else ticks.linear_axis(unit, 0, max(values))

    plot = Plot(
        x=x,
        y=y,
        series=line_series(shown),
        alt=f"{{rows}} {rows}, from {{low}} to {{high}} {unit}.",
        decimals=1,
        height_px=260,
        part=part,
    )
    return plot.over(name, shown)
