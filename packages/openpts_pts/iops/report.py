"""The report of the IOPS test: its header fields, its pages, its order (PTS 7.3, Annex A.1)."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from openpts.analysis.latency import ios_needed
from openpts.analysis.rounds import test_point
from openpts.analysis.run_comparison import relative_standard_error_pct
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import TestSection, sections_of
from openpts.procedures.kit.steps import ART, CPU_IOWAIT, CPU_SYS, IOPS, MRT
from openpts.record.reader import Run, StepRecord
from openpts.units import KIB, block_size_kib, format_block_size
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages import cells, ticks
from openpts_pages.kit import (
    NO_ROUND,
    Cells,
    Plot,
    PlotName,
    Required,
    category_axis,
    heat_map,
    labels_axis,
    page,
    rows_table,
    values_of,
)
from openpts_pages.model import Band, Block, Cell, Column, Page, PlotRule, Repeat, Series, Table, Verdict
from openpts_pts.shared.preparation_page import loop_preparation_page
from openpts_pts.shared.rounds.matrix_pages import Matrix, low_count, mix, mix_series, size_by_mix, tail_cell
from openpts_pts.shared.rounds.report import RoundReport
from openpts_pts.shared.rounds.results import TAIL_PERCENTILE, MatrixCell, analyze_cycle, round_figures
from openpts_work.energy_page import NO_METER, efficiency_cell, power_cell
from openpts_work.work import DriveWork

PREFIX: Final = "iops"


def _window(index: int) -> Required:
    """The plot of a tracking variable's window."""
    return Required(f"a{index + 3}", f"Plot A.{index + 3}")


_CONVERGENCE: Final = {
    0: Required("a1-rw0", "Plot A.1"),
    65: Required("a1-rw65", "Plot A.1b"),
    100: Required("a1-rw100", "Plot A.1c"),
}
_TRACKED: Final = Required("a2", "Plot A.2")
_TABLE: Final = Required("a6", "Plot A.6")
_PLOT_2D: Final = Required("a7", "Plot A.7")
_COLUMNS_3D: Final = Required("a8", "Plot A.8")
REQUIRED: Final = (*_CONVERGENCE.values(), _TRACKED, *map(_window, range(3)), _TABLE, _PLOT_2D, _COLUMNS_3D)
BLOCK_SIZES_BYTES: Final = tuple(int(kib * KIB) for kib in (0.5, 4, 8, 16, 32, 64, 128, 1024))
READ_PCTS: Final = (0, 5, 35, 50, 65, 95, 100)
_KEY_POINTS: Final = tuple(RoundPoint(AccessPattern.RANDOM, 4 * KIB, read_pct) for read_pct in (0, 65, 100))
_HEADLINES: Final = (4, 5, 3)
_SECONDARY_TITLE: Final = "IOPS - ALL RW Mix & BS - Optional Secondary Metrics"
_NOTABLE_RANGE_PCT: Final = 20
_NO_CPU: Final = "CPU System Usage and CPU IO Wait: not recorded in any step of this run."
_IOPS: Final = IOPS.measure("iops", "{name}", decimals=0)


class IopsReport(RoundReport, frozen=True):
    """What a run found, and its pages."""

    @property
    def matrix(self) -> Matrix:
        """All mixes and sizes of 7.2."""
        pattern, line = AccessPattern.RANDOM, self.head_line
        return Matrix(self.results, pattern, BLOCK_SIZES_BYTES, READ_PCTS, PREFIX, line)

    def pages(self) -> Iterator[Page]:
        """In the order of the sample report, our own behind."""
        yield from self.evidence()
        shown = self.matrix.table(
            "iops-table",
            f"{_TABLE.number} - average IOPS: {self.results.window.averaging}",
            IOPS.cell,
            note=self.matrix.absences(self.run.manifest.target.sector_bytes),
        )
        yield self.table(shown)
        yield self.plot_2d(shown)
        yield self.columns_3d(shown)
        yield self.response_times()
        yield self.merged_tail()
        if (power := self.power()) is not None:
            yield power
        yield self.repeatability()

    def evidence(self) -> Iterator[Page]:
        """Preparation, convergence and windows: pages 1 to 5 of the sample report."""
        results = self.results
        title = "IOPS Purge Report and Pre-conditioning Report"
        yield loop_preparation_page(self.run, results, f"{PREFIX}-preparation", title, loop_name="IOPS Loop")
        for read_pct, plot in _CONVERGENCE.items():
            of_mix = f" - RW {mix(read_pct)}" if read_pct else ""
            name = plot.named(PREFIX, f"IOPS Steady State Convergence Plot - All Block Sizes{of_mix}")
            points = [RoundPoint(AccessPattern.RANDOM, size, read_pct) for size in BLOCK_SIZES_BYTES]
            yield self.convergence(name, [point for point in points if point in results.cells])
        window = "IOPS Steady State Measurement Window"
        yield self.share_of_average(_TRACKED.named(PREFIX, window))
        for index, variable in enumerate(results.conditions.tracking):
            size = format_block_size(variable.block_size_bytes).replace(" ", "")
            of = f"{variable.access_pattern.short}/{size} RW{variable.read_pct}"
            yield self.window(index, "7.3.4", _window(index).named(PREFIX, f"{window} - {of}"))

    def table(self, shown: Table) -> Page:
        """The table of IOPS (Plot 7-3) and, for the eye, its cells shaded with the range of their rounds."""
        heat, highest = None, _highest(shown)
        if values := values_of(shown):
            heat = heat_map(
                PlotName(
                    f"{PREFIX}-x1-plot", "Plot X-IOPS-1", "Heat Map of IOPS and Range of the Rounds (%)"
                ),
                shown,
                f"{PREFIX}-ranges",
                ("R/W mix %", "Block size (KiB)"),
                f"{highest.strip()} {len(values)} cells.",
            )
        name = _TABLE.named(PREFIX, "IOPS - ALL RW Mix & BS - Tabular Data")
        return page(name, shown, Verdict(f"Each cell: {self.results.window.averaging}.{highest}"), heat)

    def plot_2d(self, shown: Table) -> Page:
        """IOPS over block size, one series per R/W mix (Plot 7-4)."""
        name = _PLOT_2D.named(PREFIX, "IOPS - All RW Mix & BS - 2D Plot")
        sizes = [row.head.value for row in shown.rows if row.head.value and any(c.value for c in row.cells)]
        if not sizes:
            return page(name, NO_ROUND)
        plot = Plot(
            x=ticks.block_size_axis(sizes),
            y=partial(ticks.amount_axis, "IOPS"),
            series=mix_series(shown),
            alt=f"{len(shown.columns)} R/W mixes over {len(sizes)} block sizes.{_highest(shown)}",
            palette="mix",
            height_px=390,
        )
        return page(name, plot.over(name, shown), Repeat(shown.id))

    def columns_3d(self, shown: Table) -> Page:
        """IOPS as columns over block size and R/W mix (Plot 7-5)."""
        name = _COLUMNS_3D.named(PREFIX, "IOPS - All RW Mix & BS - 3D Columns")
        if not values_of(shown):
            return page(name, NO_ROUND)
        plot = Plot(
            kind="columns3d",
            x=category_axis("Block size (KiB)", shown),
            y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
            series=mix_series(shown),
            alt=f"{{count}} columns, writes in front, reads behind.{_highest(shown)}",
            palette="mix",
            depth_title="R/W mix %",
            height_px=400,
        )
        sentence = Verdict(
            "Front row 0/100 (all writes), back row 100/0 (all reads). Exact values are in the table."
        )
        return page(name, plot.over(name, shown), sentence, Repeat(shown.id))

    def response_times(self) -> Page:
        """Average, 99.999 % and maximum response times (Table 7-6)."""
        average = "Average Response Time, ART (ms): mean of the Rounds' averages"
        tail = "99.999 % Response Time (ms): mean of the Rounds' percentiles"
        note = (
            f"Five nines need {ios_needed(TAIL_PERCENTILE):,} I/Os in each Round; with fewer, the cell has "
            "the maximum and N, the smallest Round's count."
        )
        return self._secondary(
            "response-times",
            _SECONDARY_TITLE,
            self.matrix.table("art", average, ART.cell),
            self.matrix.table("tail", tail, tail_cell, note=note),
            self.matrix.table("mrt", "Maximum Response Time, MRT (ms): maximum of the Rounds", MRT.cell),
        )

    def merged_tail(self) -> Page:
        """The percentile of all rounds' I/Os together, processor use, and why there is no power."""
        title = "99.999 % Response Time (ms) of all Rounds' I/Os together (ours, beside the mean)"
        blocks: list[Block] = [self.matrix.table("merged-tail", title, _merged_tail)]
        measured = self.results.cells.values()
        if measured and all(cell.cpu is None for cell in measured):  # two pages of n/a would not help
            blocks.append(Verdict(_NO_CPU))
        else:
            system, waiting = replace(CPU_SYS, decimals=1), replace(CPU_IOWAIT, decimals=1)
            note = "Share of all processors."
            blocks += [
                self.matrix.table("cpu-sys", "CPU System Usage (%)", system.cell),
                self.matrix.table("cpu-iowait", waiting.label, waiting.cell, note=note),
            ]
        if DriveWork(self.run).meter is None:
            blocks.append(Verdict(f"Average Power, IOPS/W: not measured ({NO_METER})."))
        return self._secondary("merged-tail-cpu", f"{_SECONDARY_TITLE} (2)", *blocks)

    def power(self) -> Page | None:
        """Average power and IOPS per watt of the window's rounds; None where nothing metered the drive."""
        work = DriveWork(self.run)
        if work.meter is None:
            return None
        steps: dict[RoundPoint | None, list[StepRecord]] = {}
        for number in self.results.window.rounds:
            for step in self.run.phase(Phase.ROUND, number=number):
                steps.setdefault(test_point(step.sample.step.stimulus), []).append(step)

        def table(
            key: str, title: str, cell: Callable[[DriveWork, list[StepRecord]], Cell], note: str = ""
        ) -> Table:
            def cell_at(block_size_bytes: int, read_pct: int) -> Cell:
                found = steps.get(RoundPoint(AccessPattern.RANDOM, block_size_bytes, read_pct))
                return cell(work, found) if found else Cell("n/a", tone="missing")

            return size_by_mix(f"{PREFIX}-{key}", title, BLOCK_SIZES_BYTES, READ_PCTS, cell_at, note=note)

        return self._secondary(
            "power",
            f"{_SECONDARY_TITLE} (3)",
            table("power", "Average Power (mW)", power_cell, f"Power of the drive: {work.meter[1]}."),
            table("iops-per-w", "IOPS/W", efficiency_cell),
        )

    def _secondary(self, key: str, title: str, *blocks: Block) -> Page:
        """The conditions are repeated above the secondary tables (Plot 7-5)."""
        return Page(f"{PREFIX}-{key}", title, (Verdict(self.head_line), *blocks))

    def repeatability(self) -> Page:
        """Each round of each cell around the cell's mean; cells that range widely are named."""
        name = PlotName(f"{PREFIX}-x2", "Plot X-IOPS-2", "IOPS Round Repeatability")
        ranges = self.matrix.table(
            "ranges",
            "Range of the Rounds in each cell: (max - min) in % of the mean",
            lambda cell: cells.percent(cell.range_pct),
        )
        cell_at = self.matrix.cell
        sizes = [size for size in BLOCK_SIZES_BYTES if any(cell_at(size, pct) for pct in READ_PCTS)]
        if not sizes or len(self.results.window.rounds) < 2:
            reason = Verdict("Fewer than two complete Rounds: repeatability can't be shown.", "fail")
            return page(name, reason, ranges, mandatory=False)
        mixes = [pct for pct in READ_PCTS if any(cell_at(size, pct) for size in sizes)]
        measured = [(size, pct, cell) for size in sizes for pct in mixes if (cell := cell_at(size, pct))]
        shown = self._deviations(measured)
        largest = max(abs(value) for value in values_of(shown))
        reach = max(12.0, largest * 1.05)
        plot = Plot(
            kind="strip",
            x=labels_axis("Block size (KiB)", [*map(block_size_kib, sizes)]),
            y=ticks.linear_axis("Deviation from the cell's mean (%)", -reach, reach),
            series=tuple(
                Series(
                    f"R/W {mix(read_pct)}",
                    "row",
                    tuple(position * len(mixes) + n for position in range(len(sizes))),
                    READ_PCTS.index(read_pct),
                )
                for n, read_pct in enumerate(mixes)
            ),
            alt=f"largest deviation of a Round from its cell's mean {cells.fixed(largest, 1)} %.",
            rules=(
                PlotRule("mean", 0, "average"),
                PlotRule("+10 %", 10, "limit"),
                PlotRule("-10 %", -10, "limit"),
            ),
            bands=(Band("y", -10, 10, "allowed"),),
            palette="mix",
            height_px=360,
        )
        wide = "; ".join(
            f"{format_block_size(size)} {mix(read_pct)} ({cells.fixed(cell.range_pct, 1)} %)"
            for size, read_pct, cell in measured
            if cell.range_pct > _NOTABLE_RANGE_PCT
        )
        verdict = Verdict(f"No cell ranges over more than {_NOTABLE_RANGE_PCT} % of its mean.", "pass")
        if wide:
            verdict = Verdict(
                f"Cells that range over more than {_NOTABLE_RANGE_PCT} % of their mean: {wide}."
            )
        return page(name, plot.over(name, shown), verdict, ranges, shown, mandatory=False)

    def _deviations(self, measured: Sequence[tuple[int, int, MatrixCell]]) -> Table:
        """A row for each cell, under its block size and share of reads."""

        def row(size: int, read_pct: int, cell: MatrixCell) -> Cells:
            error_pct = relative_standard_error_pct(cell.iops_by_round)
            error = cells.missing("one Round") if error_pct is None else Cell(cells.fixed(error_pct, 2))
            deviations = (cells.percent(value, 2, plus=True) for value in cell.deviations_pct)
            return (f"{format_block_size(size)}, R/W {mix(read_pct)}", *deviations, error)

        rounds = self.results.window.rounds
        return rows_table(
            f"{PREFIX}-deviations",
            "Values plotted: deviation of each Round from its cell's mean (%)",
            ("Cell:<0", *(Column(f"R{number}", float(number)) for number in rounds), "RSE of the mean"),
            (row(*one) for one in measured),
            note="One row per cell of the 56; cells without values are left out.",
            printed=False,
        )


def _highest(shown: Table) -> str:
    """A sentence on the largest value of a table; empty without one."""
    measured = [
        (cell.value, cell.text, row.head.text, column.label)
        for row in shown.rows
        for column, cell in zip(shown.columns, row.cells, strict=True)
        if cell.value is not None
    ]
    if not measured:
        return ""
    _, text, size, of_mix = max(measured)
    return f" Highest: {text} IOPS at {size} KiB, R/W {of_mix}."


def _merged_tail(cell: MatrixCell) -> Cell:
    tail = cell.tail
    if tail.merged_ns is None:
        return cells.missing(f"N = {tail.merged.recorded_ios:,}")
    return cells.latency(tail.merged_ns, note=low_count(tail.merged.recorded_ios))


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    results = analyze_cycle(run, 1)
    found = IopsReport(run, results)
    measures = tuple(
        replace(_IOPS.of(results.cells.get(point), found.subject(str(point))), headline=headline)
        for point, headline in zip(_KEY_POINTS, _HEADLINES, strict=True)
    )
    return ReportContent(
        verdicts=(found.sentence, *found.short_form(measures)),
        measures=measures,
        sections=sections_of(
            run,
            TestSection(
                test=PREFIX,
                title="IOPS Test",
                bar="IOPS Test (REQUIRED) - Report Page",
                heading="IOPS - Block Size x RW Mix Matrix",
                setup=found.setup_rows("IOPS Loop"),
                test_rows=found.test_rows("IOPS Loop"),
                red_lines=results.red_lines,
                pages=found.pages,
            ),
        ),
        figures=lambda: round_figures(results),
    )
