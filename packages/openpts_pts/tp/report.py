"""The report of the throughput test: a section for each block size, the largest first (PTS 8.3)."""

from collections import defaultdict
from collections.abc import Sequence
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
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Cell, Column, Page, Repeat, Series, Table, Verdict
from openpts_pts.shared.minutes_table import with_transfer_size
from openpts_pts.shared.preparation_page import loop_preparation_page
from openpts_pts.shared.rounds.matrix_pages import mix
from openpts_pts.shared.rounds.results import RoundTestResults, analyze_cycle, round_figures
from openpts_pts.shared.rounds.words import (
    loop_setup_rows,
    loop_test_rows,
    not_steady,
    red_lines,
    summary_state,
    verification_record,
)
from openpts_pts.shared.steady_state_pages import (
    Window,
    convergence_page,
    interface_limit,
    rounds_reason,
    steady_state_sentence,
    window_of,
    window_page,
)
from openpts_pts.tp import ThroughputConditions


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


READ_PCTS: Final = (0, 100)
_CONVERGENCE: Final = (Required("write", "Plot 8-1"), Required("read", "Plot 8-2"))
_WINDOW: Final = Required("window", "Plot 8-3")
LARGE: Final = (*_CONVERGENCE, _WINDOW, Required("tabular", "Plot 8-4"), Required("bars", "Plot 8-6"))
OTHERS: Final = (*_CONVERGENCE, _WINDOW, Required("tabular", "Plot 8-5"), Required("bars", "Plot 8-7"))
_BAR_COLOR: Final = 2
_MOST_BINS: Final = 100
_MEAN_COLOR, _SPREAD_COLOR = 2, 6


class Cycle(Struct, frozen=True):
    """One block size, measured in the cycle of that number, if that was begun."""

    number: int
    size_bytes: int
    results: RoundTestResults
    begun: bool

    @property
    def size_text(self) -> str:
        """``1024 KiB``."""
        return format_block_size(self.size_bytes)

    @property
    def title(self) -> str:
        """``SEQ 1024 KiB``."""
        return f"{AccessPattern.SEQUENTIAL.short} {self.size_text}"

    @property
    def prefix(self) -> str:
        """What the ids of its pages begin with: ``tp-1024``."""
        return f"tp-{block_size_kib(self.size_bytes)}"

    def point(self, read_pct: int) -> RoundPoint:
        """Reads or writes of its block size."""
        return RoundPoint(AccessPattern.SEQUENTIAL, self.size_bytes, read_pct)

    def mb_per_s(self, read_pct: int) -> tuple[float, ...]:
        """Average throughput of each complete round."""
        return THROUGHPUT.of_rounds(self.results.rounds, self.point(read_pct))

    def window_mb_per_s(self, read_pct: int) -> tuple[float, ...]:
        """Throughputs of the window's rounds."""
        values = self.mb_per_s(read_pct)
        return tuple(values[number - 1] for number in self.results.window.rounds) if values else ()

    def mean_mb_per_s(self, read_pct: int) -> float | None:
        """Mean of the window's rounds; None if there is none, or the mix was not measured."""
        values = self.window_mb_per_s(read_pct)
        return fmean(values) if values else None

    def uncertainty(self, read_pct: int) -> Uncertainty | None:
        """Uncertainty of the mean."""
        return THROUGHPUT.mean_uncertainty(self.results.cells[self.point(read_pct)])


def cycle_pages(run: Run, cycle: Cycle) -> tuple[Page, ...]:
    """All pages in the order of 8.3; Plots 8-4 and 8-6 are those of 1024 KiB, 8-5 and 8-7 of other sizes."""
    large = cycle.size_bytes >= MIB
    compact = cycle.size_text.replace(" ", "")
    tabular, bars = LARGE[-2:] if large else OTHERS[-2:]
    table = _table(cycle, tabular.number)
    return (
        _preparation(run, cycle),
        *_convergence(run, cycle, compact),
        _write_window(cycle),
        _tabular_page(run, cycle, table, tabular),
        _bars_page(cycle, table, bars),
        lba_position_page(
            run,
            cycle.number,
            PlotName(
                f"{cycle.prefix}-position",
                "Plot X-TP-1",
                f"Throughput v LBA Position - SEQ/{cycle.size_text}",
            ),
        ),
        _read_window(cycle),
    )


def _preparation(run: Run, cycle: Cycle) -> Page:
    """Purge and preconditioning (8.3.1, 8.3.2)."""
    page_id = f"{cycle.prefix}-preparation"
    title = f"Throughput Purge Report and Pre-conditioning Report - {cycle.title}"
    if not cycle.begun:
        sentence = Verdict(f"The test of {cycle.title} was not begun: neither purge nor I/O.", "fail")
        return Page(page_id, title, (sentence,), mandatory=True)
    loop_name = f"{cycle.title} loop"
    return loop_preparation_page(run, cycle.results, page_id, title, loop_name=loop_name, cycle=cycle.number)


def _convergence(run: Run, cycle: Cycle, compact: str) -> tuple[Page, ...]:
    """MB/s of all rounds, writes and then reads (8.3.3, 8.3.4)."""
    limit = interface_limit(run.manifest)
    return tuple(
        convergence_page(
            cycle.results,
            plot.named(cycle.prefix, f"Throughput Test - SS Convergence - {name} {compact}"),
            [cycle.point(read_pct)],
            THROUGHPUT,
            limit=limit,
        )
        for read_pct, name, plot in zip(READ_PCTS, ("Write", "Read"), _CONVERGENCE, strict=True)
    )


def _write_window(cycle: Cycle) -> Page:
    """The window with the determination data of the writes, which decide (8.3.5, 8.3.6)."""
    name = _WINDOW.named(cycle.prefix, f"Steady State Measurement Window - SEQ/{cycle.size_text}")
    if not cycle.results.conditions.tracking:
        sentence = Verdict(f"Writes of {cycle.title} were not tracked in this run.", "fail")
        return Page(name.id, name.title, (sentence,), mandatory=True)
    return window_page(window_of(cycle.results, 0, verification_record(cycle.results, "8.3.5")), name)


def _read_window(cycle: Cycle) -> Page:
    """The same rounds of the reads: ours, beside those that decide."""
    point = cycle.point(100)
    variable = TrackingVariable(point.access_pattern, point.block_size_bytes, 100, SteadyFigure.THROUGHPUT)
    (verdict,) = judge_window(cycle.results.rounds, cycle.results.window, (variable,))
    measured = cycle.results.window.is_full
    window = Window(
        variable=f"{cycle.title} 100/0",
        metric=THROUGHPUT,
        verdict=verdict,
        values=cycle.mb_per_s(100),
        reason="not part of this run" if measured else rounds_reason(cycle.results),
        conditions=verification_record(cycle.results, "8.3.5"),
    )
    page = window_page(
        window,
        PlotName(
            f"{cycle.prefix}-read-window",
            "Plot X-TP-2",
            f"Reads in the Measurement Window - SEQ/{cycle.size_text}",
        ),
    )
    sentence = Verdict("Reads do not decide: steady state is judged on the writes (8.3.5).")
    return replace(page, blocks=(*page.blocks, sentence), mandatory=False)


def _tabular_page(run: Run, cycle: Cycle, table: Table, plot: Required) -> Page:
    """Plots 8-4 and 8-5 (8.3.7.1, 8.3.7.2)."""
    enterprise = run.manifest.conditions.drive_class is DriveClass.ENTERPRISE
    title = f"{'Enterprise' if enterprise else 'Client'} Throughput - ALL RW Mix & BS - Tabular Data"
    verdict = Verdict(f"Each cell: {cycle.results.window.averaging}.")
    return page(plot.named(cycle.prefix, title), table, verdict)


def _bars_page(cycle: Cycle, shown: Table, required: Required) -> Page:
    """Plots 8-6 and 8-7: writes and reads side by side (8.3.7.3, 8.3.7.4)."""
    name = required.named(cycle.prefix, "Throughput - ALL RW Mix & BS - 2D Plot")
    if not values_of(shown):
        return page(name, NO_ROUND)
    names = tuple(column.label for column in shown.columns)
    texts = zip(names, shown.rows[0].cells, strict=True)
    plot = Plot(
        kind="bars",
        x=labels_axis("R/W mix %", names),
        y=lambda values: ticks.linear_axis(THROUGHPUT.axis_title, 0, max(values)),
        series=(Series(cycle.title, "row", (0,), _BAR_COLOR, style="bars"),),
        alt="",
        height_px=320,
    )
    figure = replace(
        plot.over(name, shown),
        title=f"{name.title} - {cycle.title}",
        alt=f"{name.title}, {cycle.title}: "
        + "; ".join(f"{of} {cell.text} MB/s" for of, cell in texts)
        + ".",
    )
    return page(name, figure, Repeat(shown.id))


def _table(cycle: Cycle, number: str) -> Table:
    """Averages of the window, one decimal (8.3.7.1, 8.3.7.2)."""
    return rows_table(
        f"{cycle.prefix}-table",
        f"{number} - average throughput (MB/s): {cycle.results.window.averaging}",
        ("Block size (KiB):0.62", *(Column(mix(read_pct), float(read_pct)) for read_pct in READ_PCTS)),
        (
            (
                Cell(block_size_kib(cycle.size_bytes), cycle.size_bytes / 1024),
                *(_mean_cell(cycle, read_pct) for read_pct in READ_PCTS),
            ),
        ),
        group="Read / Write Mix %",
    )


def _mean_cell(cycle: Cycle, read_pct: int) -> Cell:
    mean = cycle.mean_mb_per_s(read_pct)
    return cells.number_or("not measured", mean, 1)


def lba_position_page(run: Run, cycle: int, name: PlotName) -> Page:
    """MB/s of the last full pass of a cycle's preconditioning, or why the record does not have it."""
    samples = [step.sample for step in run.phase(Phase.WIPC, cycle=cycle)]
    stimulus = next((sample.step.stimulus for sample in samples if sample.step.stimulus), None)
    reason = "no preconditioning was begun"
    bins: tuple[PositionBin, ...] = ()
    if stimulus is not None:
        target = run.manifest.target
        start, end = stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
        one_stream = stimulus.tc == 1 and stimulus.random_pct == 0
        bins = last_pass(samples, end - start, _MOST_BINS) if one_stream else ()
        reason = "fewer than eight intervals in a full pass" if one_stream else _several(stimulus.tc)
    if not bins:
        return page(name, Verdict(f"Throughput by LBA position: n/a ({reason})."), mandatory=False)
    assert stimulus is not None  # noqa: S101 narrows the type: bins are of one
    shown = _positions_table(f"{name.id}-values", bins)
    means = [found.bytes_per_s / MB for found in bins]
    plot = Plot(
        x=ticks.span_axis("LBA position (% of the range written)", 0, 100),
        y=ticks.linear_axis("Throughput (MB/s)", 0, max(found.highest_bytes_per_s for found in bins) / MB),
        series=(
            Series("Slowest interval", "column", (1,), _SPREAD_COLOR, style="line"),
            Series("Fastest interval", "column", (2,), _SPREAD_COLOR, style="line"),
            Series("Mean", "column", (0,), _MEAN_COLOR, style="mean", emphasis=True),
        ),
        alt=f"{{rows}} stretches, means from {cells.fixed(min(means), 1)} to "
        f"{cells.fixed(max(means), 1)} MB/s.",
    )
    sentence = Verdict(
        f"Last full pass of the preconditioning ({stimulus}, TC 1 / QD {stimulus.qd}): the place "
        "follows from the bytes written before, since one stream writes the range from its start to its end."
    )
    return page(name, plot.over(name, shown), sentence, shown, mandatory=False)


def _several(tc: int) -> str:
    return f"{tc} threads wrote at as many places at once, and the record does not separate them"


def _positions_table(table_id: str, bins: tuple[PositionBin, ...]) -> Table:
    return rows_table(
        table_id,
        "Values plotted: each stretch at its middle",
        "LBA position (%) | Mean (MB/s) | Slowest interval (MB/s) | Fastest interval (MB/s)",
        (
            (
                Cell(cells.fixed(found.middle_pct, 2), found.middle_pct),
                cells.number(found.bytes_per_s / MB, 1),
                cells.number(found.lowest_bytes_per_s / MB, 1),
                cells.number(found.highest_bytes_per_s / MB, 1),
            )
            for found in bins
        ),
        printed=False,
    )


_TITLE: Final = "Throughput Test"

REQUIRED: Final = {"tp-1024": LARGE, "tp": OTHERS}
"""By section: each size has its own."""

_MEASURES: Final[tuple[Measure[Cycle], ...]] = (
    Measure(
        "write",
        "{name} W",
        "MB/s",
        lambda cycle: cycle.mean_mb_per_s(0),
        uncertainty=lambda cycle: cycle.uncertainty(0),
    ),
    Measure(
        "read",
        "{name} R",
        "MB/s",
        lambda cycle: cycle.mean_mb_per_s(100),
        uncertainty=lambda cycle: cycle.uncertainty(100),
    ),
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    cycles = _cycles(run)
    largest_first = sorted(cycles, key=lambda cycle: -cycle.size_bytes)  # 8.3.7 begins with 1024 KiB
    return ReportContent(
        verdicts=tuple(_verdict(cycle) for cycle in cycles),
        measures=tuple(one for cycle in cycles for one in _measures(cycle)),
        sections=sections_of(run, *(_section(run, cycle) for cycle in largest_first)),
        figures=lambda: {"cycles": [_figures(cycle) for cycle in cycles]},
    )


def _cycles(run: Run) -> list[Cycle]:
    """One for each block size, in the order in which they were run, or were to be."""
    conditions = run.conditions(ThroughputConditions)
    begun = run.cycle_count if run.steps or run.manifest.purges else 0
    return [
        Cycle(number, size_bytes, analyze_cycle(run, number, (size_bytes,)), begun=number <= begun)
        for number, size_bytes in enumerate(conditions.block_sizes_bytes, start=1)
    ]


def _verdict(cycle: Cycle) -> Verdict:
    sentence = steady_state_sentence(cycle.results)
    return Verdict(f"{cycle.title}: {sentence.text if cycle.begun else 'not begun.'}", sentence.tone)


def _measures(cycle: Cycle) -> tuple[Measured, ...]:
    steady = summary_state(cycle.results) if cycle.begun else "not begun"
    return measured(_MEASURES, cycle, Subject(cycle.title, steady=steady, state=not_steady(cycle.results)))


def _figures(cycle: Cycle) -> dict[str, Any]:
    """Rounds, steady state and averages of one block size, JSON-ready."""
    return {
        "title": cycle.title,
        "block_size_bytes": cycle.size_bytes,
        "begun": cycle.begun,
        **round_figures(cycle.results),
        "throughput": [
            {"read_pct": read_pct, "mb_per_s": cycle.mean_mb_per_s(read_pct)} for read_pct in READ_PCTS
        ],
    }


def _section(run: Run, cycle: Cycle) -> TestSection:
    """All pages of one block size with their common header."""
    mixes = " / ".join(f"{read_pct}:{100 - read_pct}" for read_pct in cycle.results.conditions.read_pcts)
    return TestSection(
        test=cycle.prefix,
        title=f"{_TITLE} - {cycle.title}",
        bar=f"{_TITLE} (REQUIRED) - Report Page",
        heading=f"TP - {cycle.title.replace(' KiB', 'KiB')}",
        setup=loop_setup_rows(
            run, cycle.results, f"{cycle.title} loop", first=cycle.title, cycle=cycle.number
        ),
        test_rows=loop_test_rows(run, cycle.results, cycle.title, mixes, cycle.size_text),
        red_lines=red_lines(cycle.results) if cycle.begun else (f"{cycle.title}: NOT BEGUN",),
        pages=lambda: with_transfer_size(cycle_pages(run, cycle), (cycle.size_bytes,)),
        cycle=cycle.number,
    )
