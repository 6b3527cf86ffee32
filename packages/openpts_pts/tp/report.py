"""The report of the throughput test: a section for each block size, the largest first (PTS 8.3)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.minutes import pieces_of
from openpts.analysis.rounds import judge_window
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import TestSection, sections_of
from openpts.procedures.kit.steps import THROUGHPUT
from openpts.record.reader import Run
from openpts.units import MB, MIB, NS_PER_S, block_size_kib, format_block_size
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, SteadyFigure
from openpts.vocabulary.uncertainty import Uncertainty
from openpts.vocabulary.verdict import RoundPoint, TrackingVariable
from openpts_pages import cells, ticks
from openpts_pages.kit import NO_ROUND, Plot, PlotName, Required, labels_axis, page, rows_table, values_of
from openpts_pages.measure import Measure, Measured, measured
from openpts_pages.model import Cell, Column, Page, Repeat, Series, Table, Verdict
from openpts_pts.shared.minutes_table import with_transfer_size
from openpts_pts.shared.preparation_page import loop_preparation_page
from openpts_pts.shared.rounds.matrix_pages import mix
from openpts_pts.shared.rounds.report import RoundReport, interface_limit
from openpts_pts.shared.rounds.results import analyze_cycle, round_figures
from openpts_pts.shared.window_page import Window
from openpts_pts.tp import ThroughputConditions

READ_PCTS: Final = (0, 100)
_WRITE, _READ = Required("write", "Plot 8-1"), Required("read", "Plot 8-2")
_WINDOW: Final = Required("window", "Plot 8-3")
_LARGE: Final = (Required("tabular", "Plot 8-4"), Required("bars", "Plot 8-6"))
_OTHERS: Final = (Required("tabular", "Plot 8-5"), Required("bars", "Plot 8-7"))
REQUIRED: Final = {"tp-1024": (_WRITE, _READ, _WINDOW, *_LARGE), "tp": (_WRITE, _READ, _WINDOW, *_OTHERS)}
"""By section: each size has its own."""
_TITLE: Final = "Throughput Test"
_MOST_BINS: Final = 100
_COLOR, _SPREAD_COLOR = 2, 6


class PositionBin(Struct, frozen=True):
    """A stretch of the range, in per cent of it: mean rate, and that of its slowest and fastest interval."""

    start_pct: float
    end_pct: float
    bytes_per_s: float
    lowest_bytes_per_s: float
    highest_bytes_per_s: float

    @property
    def middle_pct(self) -> float:
        """The place at which it is plotted."""
        return (self.start_pct + self.end_pct) / 2


def last_pass(samples: Sequence[Sample], range_bytes: int, most_bins: int) -> tuple[PositionBin, ...]:
    """The last full pass of one sequential stream that began at the start of a range and wraps at its end.

    An interval lies where the middle of its bytes does; those that wrap around belong to the pass in which
    that is. Bins are at most so many, and have four intervals each at the least; none without a full pass, or
    with fewer than two such bins.
    """
    moved = sum(sample.bytes for sample in samples)
    passes = moved // range_bytes if range_bytes else 0
    if not passes:
        return ()
    start = (passes - 1) * range_bytes
    placed: list[tuple[float, int, int]] = []  # where in the pass, bytes, ns
    before = 0
    for piece in pieces_of(samples):
        amount = piece.measured.bytes
        middle = before + amount / 2 - start
        before += amount
        if amount and piece.measured.elapsed_ns and not piece.rest and 0 <= middle < range_bytes:
            placed.append((middle / range_bytes, amount, piece.measured.elapsed_ns))
    bins = min(most_bins, len(placed) // 4)
    if bins < 2:
        return ()
    in_bin = defaultdict[int, list[tuple[int, int]]](list)
    for where, amount, ns in placed:
        in_bin[int(where * bins)].append((amount, ns))
    found = []
    for number in range(bins):
        if own := in_bin[number]:
            rates = [amount * NS_PER_S / ns for amount, ns in own]
            mean = sum(amount for amount, _ in own) * NS_PER_S / sum(ns for _, ns in own)
            low, high = 100 * number / bins, 100 * (number + 1) / bins
            found.append(PositionBin(low, high, mean, min(rates), max(rates)))
    return tuple(found)


class Cycle(RoundReport, frozen=True):
    """One block size, measured in the cycle of that number, if that was begun; a method for each page."""

    number: int
    size_bytes: int
    begun: bool

    @property
    def title(self) -> str:
        """``SEQ 1024 KiB``."""
        return f"{AccessPattern.SEQUENTIAL.short} {format_block_size(self.size_bytes)}"

    @property
    def prefix(self) -> str:
        """What the ids of its pages begin with: ``tp-1024``."""
        return f"tp-{block_size_kib(self.size_bytes)}"

    def point(self, read_pct: int) -> RoundPoint:
        """Reads or writes of its block size."""
        return RoundPoint(AccessPattern.SEQUENTIAL, self.size_bytes, read_pct)

    def mean_mb_per_s(self, read_pct: int) -> float | None:
        """Mean of the window's rounds; None if there is none, or the mix was not measured."""
        values = THROUGHPUT.of_rounds(self.results.rounds, self.point(read_pct))
        of_window = [values[number - 1] for number in self.results.window.rounds] if values else []
        return fmean(of_window) if of_window else None

    def uncertainty(self, read_pct: int) -> Uncertainty | None:
        """Uncertainty of the mean."""
        return THROUGHPUT.mean_uncertainty(self.results.cells[self.point(read_pct)])

    def verdict(self) -> Verdict:
        """Whether steady state was reached."""
        text = self.sentence.text if self.begun else "not begun."
        return Verdict(f"{self.title}: {text}", self.sentence.tone)

    def measures(self) -> tuple[Measured, ...]:
        """Means of writes and reads."""
        subject = self.subject(self.title)
        found = measured(_MEASURES, self, subject if self.begun else replace(subject, steady="not begun"))
        return found if self.number == 1 else tuple(replace(one, headline=0) for one in found)

    def figures(self) -> dict[str, Any]:
        """Rounds, steady state and averages, JSON-ready."""
        return {
            "title": self.title,
            "block_size_bytes": self.size_bytes,
            "begun": self.begun,
            **round_figures(self.results),
            "throughput": [
                {"read_pct": read_pct, "mb_per_s": self.mean_mb_per_s(read_pct)} for read_pct in READ_PCTS
            ],
        }

    def section(self) -> TestSection:
        """All pages with their common header."""
        title, read_pcts = self.title, self.results.conditions.read_pcts
        mixes = " / ".join(f"{read_pct}:{100 - read_pct}" for read_pct in read_pcts)
        return TestSection(
            test=self.prefix,
            title=f"{_TITLE} - {title}",
            bar=f"{_TITLE} (REQUIRED) - Report Page",
            heading=f"TP - {title.replace(' KiB', 'KiB')}",
            setup=self.setup_rows(f"{title} loop", first=title, cycle=self.number),
            test_rows=self.test_rows(title, mixes, format_block_size(self.size_bytes)),
            red_lines=self.results.red_lines if self.begun else (f"{title}: NOT BEGUN",),
            pages=lambda: with_transfer_size(self.pages(), (self.size_bytes,)),
            cycle=self.number,
        )

    def pages(self) -> Iterator[Page]:
        """In the order of 8.3; Plots 8-4 and 8-6 are those of 1024 KiB, 8-5 and 8-7 of other sizes."""
        yield self.preparation()
        yield self.converged(_WRITE, "Write", 0)
        yield self.converged(_READ, "Read", 100)
        yield self.write_window()
        tabular, bars = _LARGE if self.size_bytes >= MIB else _OTHERS
        shown = self.averages(tabular.number)
        yield self.tabular(tabular, shown)
        yield self.bars(bars, shown)
        yield self.lba_position()
        yield self.read_window()

    def preparation(self) -> Page:
        """Purge and preconditioning (8.3.1, 8.3.2)."""
        page_id = f"{self.prefix}-preparation"
        title = f"Throughput Purge Report and Pre-conditioning Report - {self.title}"
        if not self.begun:
            sentence = Verdict(f"The test of {self.title} was not begun: neither purge nor I/O.", "fail")
            return Page(page_id, title, (sentence,), mandatory=True)
        return loop_preparation_page(
            self.run, self.results, page_id, title, loop_name=f"{self.title} loop", cycle=self.number
        )

    def converged(self, plot: Required, what: str, read_pct: int) -> Page:
        """MB/s of all rounds (8.3.3, 8.3.4)."""
        size = format_block_size(self.size_bytes).replace(" ", "")
        name = plot.named(self.prefix, f"Throughput Test - SS Convergence - {what} {size}")
        if self.results.rounds and self.point(read_pct) not in self.results.cells:
            return page(name, Verdict(f"{what}s of {self.title} were not measured in this run.", "fail"))
        limit = interface_limit(self.run.manifest)
        return self.convergence(name, [self.point(read_pct)], THROUGHPUT, limit=limit)

    def write_window(self) -> Page:
        """The window with the determination data of the writes, which decide (8.3.5, 8.3.6)."""
        title = f"Steady State Measurement Window - SEQ/{format_block_size(self.size_bytes)}"
        name = _WINDOW.named(self.prefix, title)
        if not self.results.conditions.tracking:
            return page(name, Verdict(f"Writes of {self.title} were not tracked in this run.", "fail"))
        return self.window(0, "8.3.5", name)

    def read_window(self) -> Page:
        """The same rounds of the reads: ours, beside those that decide."""
        results, point = self.results, self.point(100)
        variable = TrackingVariable(
            point.access_pattern, point.block_size_bytes, point.read_pct, SteadyFigure.THROUGHPUT
        )
        (verdict,) = judge_window(results.rounds, results.window, (variable,))
        window = Window(
            variable=f"{self.title} 100/0",
            metric=THROUGHPUT,
            verdict=verdict,
            values=THROUGHPUT.of_rounds(results.rounds, point),
            reason="not part of this run" if results.window.is_full else results.reason(),
            conditions=self.record("8.3.5"),
        )
        title = f"Reads in the Measurement Window - SEQ/{format_block_size(self.size_bytes)}"
        made = window.page(PlotName(f"{self.prefix}-read-window", "Plot X-TP-2", title))
        sentence = Verdict("Reads do not decide: steady state is judged on the writes (8.3.5).")
        return replace(made, blocks=(*made.blocks, sentence), mandatory=False)

    def averages(self, number: str) -> Table:
        """Averages of the window, one decimal (8.3.7.1, 8.3.7.2)."""
        means = (cells.number_or("not measured", self.mean_mb_per_s(read_pct), 1) for read_pct in READ_PCTS)
        return rows_table(
            f"{self.prefix}-table",
            f"{number} - average throughput (MB/s): {self.results.window.averaging}",
            ("Block size (KiB):0.62", *(Column(mix(read_pct), float(read_pct)) for read_pct in READ_PCTS)),
            [(Cell(block_size_kib(self.size_bytes), self.size_bytes / 1024), *means)],
            group="Read / Write Mix %",
        )

    def tabular(self, plot: Required, shown: Table) -> Page:
        """Plots 8-4 and 8-5 (8.3.7.1, 8.3.7.2)."""
        enterprise = self.run.manifest.conditions.drive_class is DriveClass.ENTERPRISE
        title = f"{'Enterprise' if enterprise else 'Client'} Throughput - ALL RW Mix & BS - Tabular Data"
        verdict = Verdict(f"Each cell: {self.results.window.averaging}.")
        return page(plot.named(self.prefix, title), shown, verdict)

    def bars(self, required: Required, shown: Table) -> Page:
        """Plots 8-6 and 8-7: writes and reads side by side (8.3.7.3, 8.3.7.4)."""
        name = required.named(self.prefix, "Throughput - ALL RW Mix & BS - 2D Plot")
        if not values_of(shown):
            return page(name, NO_ROUND)
        mixes = [column.label for column in shown.columns]
        texts = (f"{of} {cell.text} MB/s" for of, cell in zip(mixes, shown.rows[0].cells, strict=True))
        plot = Plot(
            kind="bars",
            x=labels_axis("R/W mix %", mixes),
            y=lambda values: ticks.linear_axis(THROUGHPUT.axis_title, 0, max(values)),
            series=(Series(self.title, "row", (0,), _COLOR, style="bars"),),
            alt="",
            height_px=320,
        )
        figure = replace(
            plot.over(name, shown),
            title=f"{name.title} - {self.title}",
            alt=f"{name.title}, {self.title}: {'; '.join(texts)}.",
        )
        return page(name, figure, Repeat(shown.id))

    def lba_position(self) -> Page:
        """MB/s of the last full pass of the preconditioning, or why the record does not have it."""
        title = f"Throughput v LBA Position - SEQ/{format_block_size(self.size_bytes)}"
        name = PlotName(f"{self.prefix}-position", "Plot X-TP-1", title)
        nothing = partial(_no_positions, name)
        samples = [step.sample for step in self.run.phase(Phase.WIPC, cycle=self.number)]
        stimulus = next((sample.step.stimulus for sample in samples if sample.step.stimulus), None)
        if stimulus is None:
            return nothing("no preconditioning was begun")
        if stimulus.tc > 1 or stimulus.random_pct:
            at = f"{stimulus.tc} threads wrote at as many places at once"
            return nothing(f"{at}, and the record does not separate them")
        target = self.run.manifest.target
        start, end = stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
        bins = last_pass(samples, end - start, _MOST_BINS)
        if not bins:
            return nothing("fewer than eight intervals in a full pass")
        shown = rows_table(
            f"{name.id}-values",
            "Values plotted: each stretch at its middle",
            "LBA position (%) | Mean (MB/s) | Slowest interval (MB/s) | Fastest interval (MB/s)",
            (
                (
                    cells.number(one.middle_pct, 2),
                    cells.number(one.bytes_per_s / MB, 1),
                    cells.number(one.lowest_bytes_per_s / MB, 1),
                    cells.number(one.highest_bytes_per_s / MB, 1),
                )
                for one in bins
            ),
            printed=False,
        )
        means = values_of(shown, 0)
        plot = Plot(
            x=ticks.span_axis("LBA position (% of the range written)", 0, 100),
            y=ticks.linear_axis("Throughput (MB/s)", 0, max(values_of(shown, 2))),
            series=(
                Series("Slowest interval", "column", (1,), _SPREAD_COLOR, style="line"),
                Series("Fastest interval", "column", (2,), _SPREAD_COLOR, style="line"),
                Series("Mean", "column", (0,), _COLOR, style="mean", emphasis=True),
            ),
            alt=f"{{rows}} stretches, means from {cells.fixed(min(means), 1)} to "
            f"{cells.fixed(max(means), 1)} MB/s.",
        )
        sentence = Verdict(
            f"Last full pass of the preconditioning ({stimulus}, TC 1 / QD {stimulus.qd}): the place "
            "follows from the bytes written before, since one stream writes the range from its start to its "
            "end."
        )
        return page(name, plot.over(name, shown), sentence, shown, mandatory=False)


def _no_positions(name: PlotName, reason: str) -> Page:
    return page(name, Verdict(f"Throughput by LBA position: n/a ({reason})."), mandatory=False)


def _measure(key: str, letter: str, read_pct: int) -> Measure[Cycle]:
    return Measure(
        key,
        f"{{name}} {letter}",
        "MB/s",
        lambda cycle: cycle.mean_mb_per_s(read_pct),
        headline=1 if read_pct else 2,
        uncertainty=lambda cycle: cycle.uncertainty(read_pct),
    )


_MEASURES: Final = (_measure("write", "W", 0), _measure("read", "R", 100))


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    begun = run.cycle_count if run.steps or run.manifest.purges else 0
    sizes = enumerate(run.conditions(ThroughputConditions).block_sizes_bytes, start=1)
    cycles = [
        Cycle(run, analyze_cycle(run, number, (size_bytes,)), number, size_bytes, begun=number <= begun)
        for number, size_bytes in sizes
    ]
    largest_first = sorted(cycles, key=lambda cycle: -cycle.size_bytes)  # 8.3.7 begins with 1024 KiB
    return ReportContent(
        verdicts=tuple(cycle.verdict() for cycle in cycles),
        measures=tuple(one for cycle in cycles for one in cycle.measures()),
        sections=sections_of(run, *(cycle.section() for cycle in largest_first)),
        figures=lambda: {"cycles": [cycle.figures() for cycle in cycles]},
    )
