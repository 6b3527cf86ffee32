"""What the reports of IOPS, throughput and latency have in common (PTS 7.3, 8.3, 9.3)."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit import header
from openpts.procedures.kit.steps import IOPS, METRICS, HasFigures, Metric
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.units import MB, block_size_kib, format_block_size, format_duration
from openpts.vocabulary.bandwidth import PCIE_LANE_BYTES_PER_S, serial_bytes_per_s
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages import cells, ticks
from openpts_pages.kit import Plot, PlotName, page, rows_table, values_of
from openpts_pages.measure import Measured, Subject
from openpts_pages.model import Axis, Band, Cell, Page, PlotRule, Series, Table, Verdict
from openpts_pages.texts import fact_text
from openpts_pts.shared.rounds.matrix_pages import mix
from openpts_pts.shared.rounds.results import RoundTestResults
from openpts_pts.shared.window_page import Window, height_over_rounds, round_columns, window_band

_PCIE: Final = re.compile(r"Gen (\d) x(\d+)")
_SERIAL: Final = re.compile(r"^(?:SATA|SAS|SATA behind SAS), (\d+(?:\.\d+)?) Gb")
# SATA and SAS up to 12 Gbit/s send ten bits for eight.
_MOST_SERIAL_GBIT_PER_S: Final = 12
_LIMIT_SHOWN_UP_TO: Final = 2.5  # x the highest value: beyond that a line would press the values flat


class InterfaceLimit(Struct, frozen=True):
    """``name`` of the link and what it carries at most, in MB/s of 10^6 bytes, before packet overhead."""

    name: str
    mb_per_s: float


def interface_limit(manifest: Manifest) -> InterfaceLimit | None:
    """The slowest link that the record names on the way to the drive; None where it names none."""
    interface = fact_text(manifest.dut, "interface", "")
    if serial := _SERIAL.match(interface):
        gbit_per_s = float(serial[1])
        if gbit_per_s > _MOST_SERIAL_GBIT_PER_S:
            return None
        return InterfaceLimit(serial[0].removesuffix(" Gb") + " Gbit/s", serial_bytes_per_s(gbit_per_s) / MB)
    if "PCIe" not in interface:
        return None
    # "Gen 4 x4 of Gen 5 x4, behind the bridge ... at Gen 3 x4": what the drive could do is no link in use
    in_use = re.sub(r" of Gen \d x\d+", "", fact_text(manifest.dut, "pcie", ""))
    links = [(int(generation), int(lanes)) for generation, lanes in _PCIE.findall(in_use)]
    known = [
        InterfaceLimit(f"PCIe Gen {generation} x{lanes}", lanes * PCIE_LANE_BYTES_PER_S[generation] / MB)
        for generation, lanes in links
        if generation in PCIE_LANE_BYTES_PER_S
    ]
    return min(known, key=lambda limit: limit.mb_per_s, default=None)


def point_name(point: RoundPoint) -> str:
    """A test point in a sentence: ``RND 4 KiB 0/100``."""
    return f"{_size_name(point)} {mix(point.read_pct)}"


def _size_name(point: RoundPoint) -> str:
    return f"{point.access_pattern.short} {format_block_size(point.block_size_bytes)}"


class RoundReport(Struct, frozen=True):
    """A run of a test of rounds, or a cycle of it: header rows, sentences, and pages on steady state."""

    run: Run
    results: RoundTestResults

    @property
    def sentence(self) -> Verdict:
        """Whether steady state was reached, for the test as a whole."""
        results = self.results
        names = ", ".join(map(point_name, results.conditions.tracking))
        if results.steady:
            return Verdict(
                f"Steady State reached in Round {results.window.rounds[-1]} for all tracking variables "
                f"({names}): range and slope rules of 2.1.24 hold in Rounds {results.window.label}.",
                "pass",
            )
        if results.window.is_full:
            return Verdict(
                f"Steady State not reached within {len(results.rounds)} Rounds; "
                f"the last five Rounds ({results.window.label}) are shown.",
                "fail",
            )
        return Verdict(
            f"Steady State can't be judged: n/a ({results.reason()}). Results are those of the completed "
            "rounds.",
            "fail",
        )

    def short_form(self, measures: Sequence[Measured]) -> tuple[Verdict, ...]:
        """What the short form knows less of: key values not as well as requested, and all other cells."""
        within_pct = self.results.conditions.within_pct
        if within_pct is None or all(cell.state is None for cell in self.results.cells.values()):
            return ()
        shares_pct = {
            one.label: 100 * one.uncertainty.expanded / one.cell.value
            for one in measures
            if one.cell.value and one.uncertainty and one.uncertainty.expanded
        }
        others = (
            "Short form: cells of neither key values nor tracking variables are of elements of "
            f"{format_duration(self.results.conditions.minute_ns)}, too short for many loads, and have no "
            "interval."
        )
        return (
            *(
                Verdict(f"{label}: known within {pct:.2g} % at 95 %, and {within_pct:g} % were asked for.")
                for label, pct in shares_pct.items()
                if pct > within_pct
            ),
            Verdict(others),
        )

    def subject(self, name: str) -> Subject:
        """What a measure is of, with the state of the window."""
        return Subject(name, steady=self.results.state(), state=self.results.not_steady)

    @property
    def demand(self) -> str:
        """The header's fields TOIO - TC/QD."""
        return header.demand_text(*self.results.conditions.demand)

    @property
    def head_line(self) -> str:
        """The conditions above the secondary tables (Plot 7-5)."""
        (tc, qd), label = self.results.conditions.demand, self.results.window.label
        more = f"Rounds {label.replace(' ', '')}"
        return header.head_line(self.run, Phase.ROUND, demand=f"T{tc}/Q{qd}", more=more)

    def setup_rows(self, loop: str, *, first: str = "", cycle: int = 1) -> header.Rows:
        """The ten set-up rows of a header whose second preconditioning is the test's own ``loop``.

        ``first`` is what preconditioning wrote, by default in the block size of the conditions.
        """
        conditions = self.results.conditions
        tc, qd = conditions.precondition_tc or conditions.tc, conditions.precondition_qd or conditions.qd
        first = first or f"SEQ {format_block_size(conditions.precondition_block_size_bytes)}"
        written = header.precondition_amount(self.run, cycle)
        return header.setup_rows(
            self.run,
            (f"{first} W", header.demand_text(tc, qd), written),
            (loop, self.demand, self.results.judged_rounds),
        )

    def test_rows(
        self, loop: str, mixes: str = "Outer Loop", sizes: str = "Inner Loop", *, second: str = "-"
    ) -> header.Rows:
        """The ten test rows: the ``loop`` with its mixes and block sizes, and a ``second`` stimulus."""
        return header.stimulus_rows(
            self.run,
            ("Test Stimulus 1", loop),
            ("RW Mix", mixes),
            ("Block Sizes", sizes),
            ("TOIO - TC/QD", self.demand),
            ("Steady State", self.results.steady_rounds),
            ("Test Stimulus 2", second),
            ("TOIO - TC/QD", "-" if second == "-" else self.demand),
            ("Steady State", "-" if second == "-" else "N/A"),
        )

    def record(self, clause: str) -> str:
        """The conditions below the determination data."""
        conditions = self.results.conditions
        return (
            f"ActiveRange = ({conditions.active_range.start_pct:g},{conditions.active_range.end_pct:g}); "
            f"OIO/Thread = {conditions.qd}; Thread Count = {conditions.tc}; "
            f"Data Pattern = {header.data_text(conditions)} [{clause}]."
        )

    def convergence(
        self,
        name: PlotName,
        points: Sequence[RoundPoint],
        metric: Metric[HasFigures] = IOPS,
        *,
        limit: InterfaceLimit | None = None,
    ) -> Page:
        """A figure of each round, one series per point; the tracking variable is bold, the window shaded.

        ``limit`` is that of the interface, a line in the plot unless the values are far below it.
        """
        shown = self._rounds_table(f"{name.id}-values", points, metric)
        rounds, figure, carried = len(self.results.rounds), None, None
        if rounds and points:
            tracked = {variable.point for variable in self.results.conditions.tracking}
            bold = next((point for point in points if point in tracked), points[0])
            plot = Plot(
                x=ticks.rounds_axis(rounds),
                y=partial(_convergence_axis, metric),
                series=tuple(
                    Series(_size_name(point), "row", (line,), self._color(point), emphasis=point in tracked)
                    for line, point in enumerate(points)
                ),
                alt=f"{self._trend(bold, metric)}. {{rows}} series, from {{low}} to {{high}} "
                f"{metric.unit}. {self.sentence.text}",
                decimals=metric.decimals,
                bands=window_band(self.results),
                height_px=height_over_rounds(rounds),
            )
            figure = _with_limit(plot, max(values_of(shown)), metric, limit).over(name, shown)
        if limit is not None:
            rate = cells.fixed(limit.mb_per_s, 1, "MB/s")
            carried = Verdict(f"The interface ({limit.name}) carries at most {rate} before packet overhead.")
        return page(name, figure, self.sentence, carried, shown)

    def _trend(self, point: RoundPoint, metric: Metric[HasFigures]) -> str:
        """``RND 4 KiB 0/100 from 265,001 IOPS in Round 1 to 189,851 in Round 6``."""
        values = metric.of_rounds(self.results.rounds, point)
        if not values:
            return f"{point_name(point)} was not measured"
        return (
            f"{point_name(point)} from {metric.text(values[0])} {metric.unit} in Round 1 "
            f"to {metric.text(values[-1])} in Round {len(self.results.rounds)}"
        )

    def _color(self, point: RoundPoint) -> int:
        """Small to large over all sizes of the test: a size keeps its color if another is skipped."""
        conditions = self.results.conditions
        sizes = sorted({*conditions.block_sizes_bytes, *conditions.skipped_block_sizes_bytes})
        return sizes.index(point.block_size_bytes)

    def _rounds_table(self, table_id: str, points: Sequence[RoundPoint], metric: Metric[HasFigures]) -> Table:
        mixes = {point.read_pct for point in points}
        of_mix = f" at R/W {mix(mixes.pop())}" if len(mixes) == 1 else ""
        rounds = self.results.rounds
        return rows_table(
            table_id,
            f"Values plotted: {metric.statistic} of each Round{of_mix} ({metric.unit})",
            ("Block size (KiB):0", *round_columns(len(rounds))),
            (
                (
                    Cell(block_size_kib(point.block_size_bytes), point.block_size_bytes / 1024),
                    *map(metric.shown, metric.of_rounds(rounds, point)),
                )
                for point in points
            ),
        )

    def share_of_average(self, name: PlotName) -> Page:
        """All rounds of the tracking variables, each in per cent of its window average."""
        results = self.results
        judged = [
            (variable, METRICS[variable.figure].of_rounds(results.rounds, variable.point), verdict.average)
            for variable, verdict in zip(results.conditions.tracking, results.verdicts, strict=True)
            if verdict is not None and verdict.average > 0
        ]
        if not judged:
            return page(name, self.sentence)
        shown = rows_table(
            f"{name.id}-values",
            "Values plotted: per cent of the window average",
            ("Tracking variable:<0", *round_columns(len(results.rounds))),
            (
                (point_name(variable), *(cells.percent(100 * value / average) for value in of_rounds))
                for variable, of_rounds, average in judged
            ),
            note="Limits drawn: 100 % (window average), 90 % and 110 % (the band of 7.3.4).",
        )
        plot = Plot(
            x=ticks.rounds_axis(len(results.rounds)),
            y=lambda pcts: ticks.linear_axis("% of window average", min(80.0, *pcts), max(120.0, *pcts)),
            series=tuple(
                Series(row.head.text, "row", (line,), self._color(judged[line][0]))
                for line, row in enumerate(shown.rows)
            ),
            alt=f"the tracking variables in per cent of their window averages, from {{low}} % to {{high}} %. "
            f"{self.sentence.text}",
            rules=(
                PlotRule("100 %", 100, "average"),
                PlotRule("110 %", 110, "limit"),
                PlotRule("90 %", 90, "limit"),
            ),
            bands=(*window_band(results), Band("y", 90, 110, "allowed")),
        )
        return page(name, plot.over(name, shown), self.sentence, shown)

    def window(self, index: int, clause: str, name: PlotName) -> Page:
        """The window of a tracking variable, with its determination data by that clause."""
        results, variable = self.results, self.results.conditions.tracking[index]
        metric = METRICS[variable.figure]
        return Window(
            variable=point_name(variable),
            metric=metric,
            verdict=results.verdicts[index],
            values=metric.of_rounds(results.rounds, variable.point),
            reason="tracking variable not measured" if results.window.is_full else results.reason(),
            conditions=self.record(clause),
        ).page(name)


def _with_limit(plot: Plot, highest: float, metric: Metric[HasFigures], limit: InterfaceLimit | None) -> Plot:
    if limit is None or limit.mb_per_s > _LIMIT_SHOWN_UP_TO * highest:
        return plot
    y = ticks.linear_axis(metric.axis_title, 0, max(highest, limit.mb_per_s))
    return replace(plot, y=y, rules=(PlotRule(limit.name, limit.mb_per_s, "limit"),))


def _convergence_axis(metric: Metric[HasFigures], values: Sequence[float]) -> Axis:
    above_zero = [value for value in values if value > 0]
    if metric.decimals is None and above_zero:
        return ticks.log_axis(metric.axis_title, above_zero)
    return ticks.amount_axis(metric.axis_title, values)
