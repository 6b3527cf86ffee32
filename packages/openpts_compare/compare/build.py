"""Builds the comparison of runs as a report: sets in, model out; no clock, no device, no file."""

from collections.abc import Sequence

from openpts.procedures.kit.content import MedianRun
from openpts.procedures.kit.red_line import red_line_of_all
from openpts.procedures.registry import procedure_of
from openpts.report.times import default_date
from openpts_compare.compare.conditions import ComparedConditions, conditions_of
from openpts_compare.compare.conditions_page import conditions_page, red_list
from openpts_compare.compare.contenders import ComparedTest, RunComparison
from openpts_compare.compare.dots_page import dots_blocks
from openpts_compare.compare.metrics import (
    ComparedMetric,
    ComparedMetrics,
    lines_judged,
    metrics_of,
    typical_run,
)
from openpts_compare.compare.overlays import overlays
from openpts_compare.compare.spread import Spread, spreads_of
from openpts_compare.compare.tables import detail_table, glance_table, sets_table, spread_table
from openpts_compare.compare.words import answers, odd_ones, rules
from openpts_pages.model import Block, Page, Report, Verdict

_FOOTER = "Comparison of openpts runs; not a report after SNIA SSS PTS 2.0.1, not certified by SNIA"


def build_comparison(comparison: RunComparison, report_date: str = "", *, paper: str = "a4") -> Report:
    """The comparison as data; ``report_date`` is ISO 8601, UTC, by default the end of the last run.

    The same runs in the same order and date give an equal report.
    """
    conditions = conditions_of(comparison)
    tests = metrics_of(comparison)
    spreads = spreads_of(tests, comparison.least_difference_pct)
    names = " v ".join(comparison.names)
    simulated = all(run.manifest.target.simulation for run in comparison.runs)
    return Report(
        title=f"{'SIMULATED ' if simulated else ''}SSD Performance Comparison",
        subtitle=names,
        run_name=names,
        report_date=report_date or max(default_date(run.run) for run in comparison.runs),
        red_line=red_line_of_all((run.run for run in comparison.runs), "the conditions of the runs"),
        footer=_FOOTER,
        front=(
            _front_page(
                comparison,
                conditions,
                (*answers(tests, comparison.names[0]), *odd_ones(tests, spreads)),
                rules(comparison.least_difference_pct, comparison.set_rule, lines_judged(tests)),
            ),
            _key_values_page(comparison, tests),
            *(_test_page(test, metrics, spreads) for test, metrics in tests),
            conditions_page(comparison, conditions),
        ),
        deviation_count=sum(len(run.run.ledger) for run in comparison.runs),
        stem="comparison",
        paper=paper,
    )


def _front_page(
    comparison: RunComparison,
    conditions: Sequence[ComparedConditions],
    answers: Sequence[str],
    rules: Sequence[str],
) -> Page:
    """The red list, what the whole shows, and the rules for reading the pages."""
    blocks = (
        *red_list(comparison, conditions),
        *_without_counterpart(comparison),
        *(Verdict(answer) for answer in answers),
        sets_table(comparison),
        *(Verdict(rule) for rule in rules),
    )
    return Page("compare", "What is compared", blocks, mandatory=True)


def _key_values_page(comparison: RunComparison, tests: ComparedMetrics) -> Page:
    """All key values at a glance; of several drives those that two of them have."""
    least = min(2, len(comparison.names))
    tables = (glance_table(test, metrics) for test, metrics in tests if len(test.contenders) >= least)
    return Page("compare-key-values", "Key values of all runs", tuple(tables), mandatory=True)


def _without_counterpart(comparison: RunComparison) -> list[Verdict]:
    """Tests that only one drive or label has, or that the base lacks."""
    sentences = []
    for test in comparison.tests:
        names = ", ".join(one.name for one in test.contenders)
        if len(test.contenders) < 2 and len(comparison.names) > 1:
            sentences.append(Verdict(f"{test.title}: measured for {names} only, not compared."))
        elif not test.has_base:
            sentences.append(
                Verdict(f"{test.title}: no delta, since the base, {comparison.names[0]}, has no run.", "fail")
            )
    return sentences


def _test_page(test: ComparedTest, metrics: tuple[ComparedMetric, ...], spreads: dict[int, Spread]) -> Page:
    spread = spread_table(test, spreads, metrics)
    tables = (detail_table(test, metrics), *(() if spread is None else (spread,)))
    blocks = (*dots_blocks(test, metrics), *tables, *_own_blocks(test, metrics))
    return Page(f"compare-{test.test}", f"{test.title}: runs side by side", blocks, mandatory=True)


def _own_blocks(test: ComparedTest, metrics: tuple[ComparedMetric, ...]) -> tuple[Block, ...]:
    """The curves that the test offers, and what else of its own it has to compare."""
    runs = [(one, typical_run(one, metrics)) for one in test.contenders]
    typical = [
        MedianRun(one.name, run.run, run.content, place, is_base=one is test.base)
        for place, (one, run) in enumerate(runs)
    ]
    part = procedure_of(test.test).part("comparison")
    own: tuple[Block, ...] = () if part is None else part.blocks(typical)
    return (*overlays(test.test, typical), *own)
