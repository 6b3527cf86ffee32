"""The report of the throughput test: a section for each block size, the largest first (PTS 8.3)."""

from typing import Any, Final

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import TestSection, sections_of
from openpts.record.reader import Run
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Verdict
from openpts_pts.shared.rounds.results import analyze_cycle, round_figures
from openpts_pts.shared.rounds.words import (
    loop_setup_rows,
    loop_test_rows,
    not_steady,
    red_lines,
    summary_state,
)
from openpts_pts.shared.steady_state_pages import steady_state_sentence
from openpts_pts.shared.transfer_size import with_transfer_size
from openpts_pts.tp import ThroughputConditions
from openpts_pts.tp.pages import LARGE, OTHERS, READ_PCTS, Cycle, cycle_pages

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
