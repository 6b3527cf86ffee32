"""The report of the test of block sizes."""

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import TestSection, sections_of, setup_rows
from openpts.procedures.kit.steps import MEAN, Row, rows_json, select
from openpts.record.reader import Run
from openpts.units import format_block_size
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import Stimulus
from openpts_pages import ticks
from openpts_pages.kit import Col, Plot, PlotName, category_axis, column_series, plot_page, table
from openpts_pages.measure import Subject
from openpts_pages.model import Cell, Page

_TITLE = "Read Latency by Block Size"
_MEAN = MEAN.measure("mean", "Mean, {name}")


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    steps = select(run.phase(Phase.SWEEP))
    return ReportContent(
        verdicts=(),
        measures=tuple(_MEAN.of(sample, Subject(_size(stimulus))) for stimulus, sample in steps),
        sections=sections_of(run, _section(run, steps)),
        figures=lambda: {"block_sizes": rows_json(steps, {"block_size": _size}, (MEAN,))},
    )


def _section(run: Run, steps: list[Row[Sample]]) -> TestSection:
    return TestSection(
        test=run.manifest.conditions.test,
        title=_TITLE,
        bar="Methodology Report (not part of SNIA PTS)",
        heading=_TITLE,
        setup=setup_rows(run, ("", "", ""), ("", "", "")),
        test_rows=(("Test Stimulus", "RND R at each block size"), *(("", ""),) * 9),
        pages=lambda: (_page(steps),),
        of_specification=False,
    )


def _size(stimulus: Stimulus) -> str:
    return format_block_size(stimulus.block_size_bytes)


def _page(steps: list[Row[Sample]]) -> Page:
    shown = table(
        "blocksizes-table",
        "Response times by block size",
        Col("Block size", lambda step: Cell(_size(step[0])), align="left"),
        [MEAN.column(lambda step: step[1])],
        steps,
    )
    bars = Plot(
        x=category_axis("Block size", shown),
        y=lambda values: ticks.linear_axis("Mean response time (ms)", 0, max(values)),
        series=column_series(shown),
        alt="{rows} block sizes, from {low} to {high} ms.",
        decimals=None,
        kind="bars",
    )
    name = PlotName("blocksizes-plot", "Plot X-BLOCKSIZES-1", "Read latency by block size")
    return plot_page(name, None, lambda _shown: bars, shown)
