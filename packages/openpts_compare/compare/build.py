"""Builds the comparison of runs as a report: sets in, model out; no clock, no device, no file."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Final

from openpts.analysis.run_comparison import (
    FALSE_ALARM_LIMIT,
    ComparisonOutcome,
    Quality,
    SetComparison,
    SetRule,
    ratio_between,
)
from openpts.procedures.kit.content import ONE_RUN, MedianRun, rse_cell, set_remarks
from openpts.procedures.kit.standing import red_line_of_all
from openpts.procedures.registry import procedure_of
from openpts.report.sources import default_date
from openpts.units import format_count
from openpts.vocabulary.uncertainty import two_digits
from openpts.vocabulary.verdict import Better
from openpts_compare.compare.conditions import ComparedConditions, conditions_of, conditions_page, red_list
from openpts_compare.compare.contenders import (
    ComparedMetric,
    ComparedMetrics,
    ComparedTest,
    RunComparison,
    SetValue,
    Spread,
    lines_judged,
    metrics_of,
    typical_run,
)
from openpts_compare.compare.dots_page import bars_of, dots_blocks, overlays
from openpts_compare.limits.limits_file import ratio_words
from openpts_pages import cells
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Cell, Column, Figure, Page, Report, Table, Verdict

_ERROR: Final = (1 - 0.95) / 2
"""At each end of the interval of a ratio, where no limit says how often it may be wrong."""

_AS_FAST: Final = (("writes", r"[Ww]rit|\bRW0\b"), ("reads", r"[Rr]ead|\bRW100\b"), ("runs other loads", ""))
_PHRASES: Final = dict.fromkeys(("ms", "us", "min"), "takes {} the time") | {"W": "draws {} the power"}


def _rules(least_difference_pct: float, set_rule: SetRule, lines: int) -> tuple[str, ...]:
    """How the pages are to be read; ``lines`` are those in which a difference could have been shown."""
    first = (
        "Median: the middle value of the warm runs, always a measured one; of an even number of runs the "
        "less favorable of the middle two.",
        "RSE: relative standard error |s / (mean x sqrt(N))| in per cent, s with N - 1. Above "
        f"{set_rule.rse_limit_pct:g} % more runs are needed; with {set_rule.most} runs or more the set is "
        "discarded.",
        "Ratio: candidate / base, of the medians. More is better, unless a key value says that less is.",
    )
    limit = f"{100 * FALSE_ALARM_LIMIT:g} %"
    rule = (
        f"Different: the medians differ by {least_difference_pct:g} % or more (the least difference of "
        f"interest); chance alone would show one such line or more in at most {limit} of all "
        "comparisons. By chance: how often two sets that do not differ lie so far apart, by Student's t of "
        "the logarithms, the interval of the gate. Corrected: for the number of lines, by Holm's method. "
        "Runs count as independent; of sets that were not made in turn on one host, a session's shift is "
        "taken to vary as runs do."
    )
    return (*first, rule, f"{format_count(lines, 'line')} judged.") if lines else (*first, rule)


Line = tuple[ComparedMetric, SetValue]


def _lines(tests: ComparedMetrics) -> Iterator[Line]:
    metrics = (metric for _, metrics in tests for metric in metrics)
    return ((metric, one) for metric in metrics for one in metric.sets if one.comparison is not None)


def _answers(tests: ComparedMetrics, base: str) -> tuple[str, ...]:
    """How each set differs from the base, then what can be said of chance."""
    lines: defaultdict[str, list[Line]] = defaultdict(list)
    for metric, one in _lines(tests):
        lines[one.contender.name].append((metric, one))
    return tuple(f"{name} beside {base}: {_answer(compared)}." for name, compared in lines.items())


def _answer(compared: Sequence[Line]) -> str:
    """The ratios, of lines that are different if any can be said to be; and what is said of chance."""
    found = [(line, line[1].comparison) for line in compared if line[1].comparison is not None]
    if not (judged := sum(one.chance is not None for _, one in found)):
        reasons = (one.reason for _, one in found if one.reason)
        chance = f"nothing can be said of chance: {next(reasons, 'make 2 more runs of each')}"
        return _ways(compared) + chance
    count = format_count(judged, "key value")
    doubtful = sum(one.outcome is ComparisonOutcome.MAY_BE_CHANCE for _, one in found)
    also = f", {doubtful} may be chance" if doubtful else ""
    different = [(line, one.delta_pct) for line, one in found if one.outcome is ComparisonOutcome.DIFFERENT]
    if not different:
        return f"no difference shown in {count}{also}"
    better, worse = (
        sum(delta is not None and delta * side > 0 for _, delta in different) for side in (1, -1)
    )
    ways = ", ".join(f"{word} in {n}" for word, n in (("better", better), ("worse", worse)) if n)
    chance = f"different in {len(different)} of {count}{also}: {ways}".removesuffix(": ")
    return _ways(line for line, _ in different) + chance


def _kinds(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The lines that have a ratio by what it means, as a phrase around it."""
    found: defaultdict[str, list[Line]] = defaultdict(list)
    for metric, one in lines:
        phrase = _PHRASES.get(metric.unit, "")
        if metric.unit in {"MB/s", "IOPS"} and metric.better is Better.HIGHER:
            verb = next(verb for verb, words in _AS_FAST if re.search(words, metric.name))
            phrase = f"{verb} {{}} as fast"
        if phrase and one.ratio is not None:
            found[phrase].append((metric, one))
    return found


def _ways(lines: Iterable[Line]) -> str:
    """A sentence: the least to the largest ratio of each kind; both values where there is one."""
    phrases = []
    for phrase, own in _kinds(lines).items():
        ratios = [one.ratio or 0.0 for _, one in own]
        low, high = times(min(ratios)), times(max(ratios))
        metric, one = own[0]
        values = f" ({metric.sets[0].text} to {one.text} {metric.unit})" if len(own) == 1 else ""
        phrases.append(phrase.format(high if low == high else f"{low[:-2]} to {high}") + values)
    return f"{', '.join(phrases)}; " if phrases else ""


def times(ratio: float) -> str:
    """A ratio with three significant digits."""
    return f"{Decimal(f'{ratio:.2e}'):,f} x"


def _odd_ones(tests: ComparedMetrics) -> tuple[str, ...]:
    """Which of three drives or more lie out, a sentence each, or that none does."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    metrics = (metric for _, metrics in tests for metric in metrics)
    spreads = [(metric.name, metric.spread) for metric in metrics if metric.spread is not None]
    for key_value, one in spreads:
        if one.lies_out and one.farthest is not None:
            off = "" if one.off_pct is None else f" ({cells.signed(one.off_pct, 1)} %)"
            found[one.farthest].append(f"{key_value}{off}")
    if spreads and not found:
        return (f"No drive lies out in {format_count(len(spreads), 'key value')}.",)
    return tuple(f"{name} lies out: {', '.join(values)}." for name, values in found.items())


def _outcome_text(one: SetValue) -> str:
    """What a candidate shows beside the base; empty for the base."""
    if one.comparison is None:
        return ""
    is_alone = one.runs is None or one.runs.quality is Quality.ONE_RUN
    return {
        ComparisonOutcome.NOT_OF_INTEREST: "differs by less than is of interest",
        ComparisonOutcome.ONE_RUN: ONE_RUN if is_alone else f"base of {ONE_RUN}",
        ComparisonOutcome.DISCARDED: "not compared: a set is discarded",
        ComparisonOutcome.NO_REPEATS: f"nothing can be said of chance: {one.comparison.reason}",
    }.get(one.comparison.outcome, f"{one.comparison.outcome}{_with_chance(one.comparison)}")


def _ratio_text(one: SetValue) -> str:
    """The ratio with its 95 % interval, as a gate says it; empty for single runs, or values not above 0."""
    if one.base is None or one.runs is None or one.comparison is None or one.comparison.reason:
        return ""
    ratio = ratio_between(one.base, one.runs)
    return "" if ratio is None else ratio_words(ratio.value, ratio.low(_ERROR), ratio.high(_ERROR), ratio)


def _with_chance(comparison: SetComparison) -> str:
    if comparison.chance is None or comparison.corrected_chance is None:
        return ""
    return f": {_chance_text(comparison.chance)} %, corrected {_chance_text(comparison.corrected_chance)} %"


def _chance_text(probability: float) -> str:
    """A probability in per cent, with two significant digits, down to 0.01: below, no spread is normal."""
    pct = 100 * probability
    return "< 0.01" if pct < 0.01 else f"{Decimal(f'{pct:.1e}'):f}"


def _absence(one: SetValue) -> str:
    if any(value.stands_in for value in one.missing):
        return "too few I/Os for the percentile"
    return "; ".join(dict.fromkeys(value.note for value in one.missing)) or "no warm run"


def statement(one: SetValue) -> str:
    """The statement on a key value of a contender, in one line."""
    if one.runs is None:
        return _absence(one)
    texts = (_outcome_text(one), _ratio_text(one), *set_remarks(one.runs), one.state)
    return "; ".join(dict.fromkeys(filter(None, texts)))


def _runs_cell(test: ComparedTest, name: str) -> Cell:
    sets = [one for one in test.contenders if one.owner == name]
    if not sets:
        return cells.missing("not run")
    texts = [f"{len(one.warm)} warm{f', {len(one.cold)} cold' if one.cold else ''}" for one in sets]
    return Cell(" | ".join(texts))


def _glance_table(test: ComparedTest, metrics: tuple[ComparedMetric, ...]) -> Table:
    """Medians of a test with their ratios to the base's, a row for each key value; remarks are below it."""
    return rows_table(
        f"compare-{test.test}-glance",
        f"{test.title}: medians" + (f", in brackets x of {test.base.name}" if test.base else ""),
        (Column("Key value", None, "left", 1.5), *(Column(one.name) for one in test.contenders)),
        ((metric.title, *map(_glance_cell, metric.sets)) for metric in metrics),
        note=_remarks(metrics),
    )


def _glance_cell(one: SetValue) -> Cell:
    if one.ratio is None or one.comparison is None:
        return _median_cell(one, "")
    outcome = one.comparison.outcome
    doubtful = outcome in {ComparisonOutcome.MAY_BE_CHANCE, ComparisonOutcome.NO_DIFFERENCE}
    return _median_cell(one, f"{times(one.ratio)}{f', {outcome}' if doubtful else ''}")


def _remarks(metrics: Sequence[ComparedMetric]) -> str:
    """What sets lack, once for all of their key values and for all of those sets."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for one in (one for metric in metrics for one in metric.sets):
        quality = one.runs.quality if one.runs else None
        lacks = {None: _absence(one), Quality.ONE_RUN: ONE_RUN, Quality.ACCEPTED: ""}
        for remark in filter(None, (lacks.get(quality, quality or ""), one.state)):
            found[remark][one.contender.name] = None
    return "; ".join(f"{', '.join(names)}: {remark}" for remark, names in found.items())


def _detail_table(test: ComparedTest, metrics: tuple[ComparedMetric, ...]) -> Table:
    """A row for each key value of each set: runs, median, range, RSE, ratio with E_n, chance, statement."""
    return rows_table(
        f"compare-{test.test}-sets",
        f"{test.title}: sets of runs",
        "Key value:<1.7 | Drive or label:<1.2 | Warm runs:^0.5 | Median:0.9 | Min:0.8 | Max:0.8 | "
        "RSE (%):0.6 | Ratio (x):0.7 | Chance, corrected (%):0.8 | Statement:<1.8",
        (row for metric in metrics for one in metric.sets for row in _detail_rows(test, metric, one)),
    )


def _detail_rows(test: ComparedTest, metric: ComparedMetric, one: SetValue) -> Iterator[Cells]:
    yield (
        metric.title,
        one.contender.name,
        cells.count(len(one.warm)),
        _median_cell(one, one.median.note if one.median else ""),
        *_range_cells(one),
        rse_cell(one.runs),
        "base" if one.contender is test.base else _ratio_cell(one, metric),
        _chance_cell(one),
        statement(one) or "-",
    )
    for value in one.cold:
        dashes = ["-"] * 5
        yield metric.title, f"{one.contender.name}, cold", "-", value.noted_cell, *dashes, "not counted"


def _median_cell(one: SetValue, note: str) -> Cell:
    median = one.median
    return cells.missing(_absence(one)) if median is None else Cell(median.text, median.value, note)


def _range_cells(one: SetValue) -> Sequence[Cell]:
    if one.runs is None:
        return [Cell("-")] * 2
    in_order = sorted(one.warm, key=lambda value: value.value or 0.0)
    return [Cell(end.text, end.value) for end in (in_order[0], in_order[-1])]


def _chance_cell(one: SetValue) -> Cell:
    """How often chance shows these ranges when all lines count; below it, ranges of so many runs alone."""
    comparison = one.comparison
    if comparison is None or comparison.chance is None or comparison.corrected_chance is None:
        return Cell("-")
    corrected = comparison.corrected_chance
    return Cell(_chance_text(corrected), 100 * corrected, f"one line: {_chance_text(comparison.chance)}")


def _ratio_cell(one: SetValue, metric: ComparedMetric) -> Cell:
    """The ratio of the medians, with its E_n."""
    if one.comparison is None:
        return cells.missing("base not measured" if metric.base is None else "not measured")
    if one.ratio is None:
        return cells.missing("not judged")
    return Cell(times(one.ratio), one.ratio, "" if one.e_n is None else f"E_n {cells.signed(one.e_n, 2)}")


def _spread_table(test: ComparedTest, metrics: tuple[ComparedMetric, ...]) -> Table | None:
    """A row for each key value that three drives or more have; None where there is none."""
    rows = [(metric.title, metric.spread) for metric in metrics if metric.spread is not None]
    if not rows:
        return None
    return rows_table(
        f"compare-{test.test}-spread",
        f"{test.title}: spread of the drives",
        "Key value:<1.7 | Drives:^0.5 | Mean:0.9 | Standard deviation:0.8 | Min:0.8 | Max:0.8 | "
        "Farthest:<1.2 | Off the others (%):0.7 | Chance, corrected (%):0.8 | :<0.6",
        ((title, *_spread_cells(spread)) for title, spread in rows),
    )


def _spread_cells(one: Spread) -> Cells:
    deviation = two_digits(one.standard_deviation)
    decimals = len(deviation.partition(".")[2])
    low, high = one.ends
    mean = cells.number(one.mean, decimals) if one.standard_deviation else Cell(low.text, one.mean)
    found = [
        cells.count(len(one.names)),
        mean,
        Cell(deviation, one.standard_deviation),
        Cell(low.text, low.value),
        Cell(high.text, high.value),
    ]
    if one.grubbs is None or one.corrected_chance is None:
        return (*found, *["-"] * 3, "all are equal")
    off = Cell("-") if one.off_pct is None else cells.percent(one.off_pct, plus=True)
    statistic = f"G {cells.fixed(one.grubbs.statistic, 2)}"
    chance = Cell(_chance_text(one.corrected_chance), 100 * one.corrected_chance, statistic)
    out = Cell("LIES OUT", tone="fail") if one.lies_out else Cell("")
    return (*found, one.farthest or "-", off, chance, out)


def build_comparison(comparison: RunComparison, report_date: str = "", *, paper: str = "a4") -> Report:
    """The comparison as data; ``report_date`` is ISO 8601, UTC, by default the end of the last run.

    The same runs in the same order and date give an equal report.
    """
    conditions = conditions_of(comparison)
    tests = metrics_of(comparison)
    kinds = list(_kinds(_lines(tests)).values())[:3]
    names = " v ".join(comparison.names)
    simulated = all(run.manifest.target.simulation for run in comparison.runs)
    least = min(2, len(comparison.names))
    tables = (_glance_table(test, metrics) for test, metrics in tests if len(test.contenders) >= least)
    return Report(
        title=f"{'SIMULATED ' if simulated else ''}SSD Performance Comparison",
        subtitle=names,
        run_name=names,
        report_date=report_date or max(default_date(run.run) for run in comparison.runs),
        red_line=red_line_of_all((run.run for run in comparison.runs), "the conditions of the runs"),
        footer="Comparison of openpts runs; not a report after SNIA SSS PTS 2.0.1, not certified by SNIA",
        front=(
            _front_page(
                comparison,
                conditions,
                (*_answers(tests, comparison.names[0]), *_odd_ones(tests)),
                [bars_of(own[0][0], number) for number, own in enumerate(kinds, start=1)],
                _rules(comparison.least_difference_pct, comparison.set_rule, lines_judged(tests)),
            ),
            Page("compare-key-values", "Key values of all runs", tuple(tables), mandatory=True),
            *(_test_page(test, metrics) for test, metrics in tests),
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
    pictures: Sequence[tuple[Figure, Table]],
    rules: Sequence[str],
) -> Page:
    """What is not alike, what the whole shows in words and bars, and the rules for reading the pages."""
    tests = comparison.tests
    red = red_list(comparison, conditions)
    blocks = (
        *(block for block in red if isinstance(block, Verdict)),
        *_without_counterpart(comparison),
        *(Verdict(answer) for answer in answers),
        *(figure for figure, _ in pictures),
        *(block for block in red if not isinstance(block, Verdict)),
        rows_table(
            "compare-sets",
            "Drives and labels, with their runs of each test",
            " | ".join(["Drive or label:<1.6", *(f"{test.test.upper()}:^" for test in tests)]),
            ((name, *(_runs_cell(test, name) for test in tests)) for name in comparison.names),
            note=f"{comparison.names[0]} is the base.",
        ),
        *(Verdict(rule) for rule in rules),
        *(table for _, table in pictures),
    )
    return Page("compare", "What is compared", blocks, mandatory=True)


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


def _test_page(test: ComparedTest, metrics: tuple[ComparedMetric, ...]) -> Page:
    spread = _spread_table(test, metrics)
    tables = (_detail_table(test, metrics), *(() if spread is None else (spread,)))
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
