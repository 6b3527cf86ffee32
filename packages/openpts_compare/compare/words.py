"""Words and rules for a set of runs, and for two sets beside each other."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from openpts.analysis.comparison import FALSE_ALARM_LIMIT
from openpts.analysis.run_comparison import ComparisonOutcome, Quality, SetComparison, SetRule, ratio_between
from openpts.procedures.kit.spread import ONE_RUN, set_words
from openpts.units import format_count
from openpts_compare.compare.metrics import ComparedMetric, ComparedMetrics, SetValue
from openpts_compare.compare.spread import Spread
from openpts_compare.limits.words import ratio_words
from openpts_pages import cells

NO_DIFFERENCE: Final = "no difference shown"
_ERROR: Final = (1 - 0.95) / 2
"""At each end of the interval of a ratio, where no limit says how often it may be wrong."""

_MEDIAN: Final = (
    "Median: the middle value of the warm runs, always a measured one; of an even number of runs the less "
    "favorable of the middle two."
)
_DELTA: Final = (
    "Delta: candidate / base - 1 of speeds and scores, base / candidate - 1 of times, from the medians; a "
    "plus is always better."
)


def rules(least_difference_pct: float, set_rule: SetRule, lines: int) -> tuple[str, ...]:
    """How the pages are to be read; ``lines`` are those in which a difference could have been shown."""
    first = (
        _MEDIAN,
        "RSE: relative standard error |s / (mean x sqrt(N))| in per cent, s with N - 1. Above "
        f"{set_rule.rse_limit_pct:g} % more runs are needed; with {set_rule.most} runs or more the set is "
        "discarded.",
        _DELTA,
    )
    limit = f"{100 * FALSE_ALARM_LIMIT:g} %"
    rule = (
        f"Different: the medians differ by {least_difference_pct:g} % or more (the least difference of "
        f"interest), and chance alone would show one such line or more in at most {limit} of all "
        "comparisons. By chance: how often two sets that do not differ lie so far apart, by Student's t of "
        "the logarithms, the interval of the gate. Corrected: for the number of lines, by Holm's method. "
        "Runs count as independent; of sets that were not made in turn on one host, a session's shift is "
        "taken to vary as runs do."
    )
    return (*first, rule, f"{format_count(lines, 'line')} judged.") if lines else (*first, rule)


def answers(tests: ComparedMetrics, base: str) -> tuple[str, ...]:
    """What the whole shows of each set beside the base, a sentence each."""
    lines: defaultdict[str, list[tuple[ComparedMetric, SetComparison]]] = defaultdict(list)
    for metric in (metric for _, metrics in tests for metric in metrics):
        for one in metric.sets:
            if one.comparison is not None:
                lines[one.contender.name].append((metric, one.comparison))
    return tuple(f"{name} beside {base}: {_answer(compared)}." for name, compared in lines.items())


def _answer(compared: Sequence[tuple[ComparedMetric, SetComparison]]) -> str:
    judged = format_count(sum(one.chance is not None for _, one in compared), "key value")
    found = Counter(one.outcome for _, one in compared)
    if not any(one.chance is not None for _, one in compared):
        reasons = (one.reason for _, one in compared if one.reason)
        return f"nothing can be said of chance, {next(reasons, 'make 2 more runs of each')}"
    doubtful = (
        f", {found[ComparisonOutcome.MAY_BE_CHANCE]} may be chance"
        if found[ComparisonOutcome.MAY_BE_CHANCE]
        else ""
    )
    different = [(metric, one) for metric, one in compared if one.outcome is ComparisonOutcome.DIFFERENT]
    if not different:
        return f"no difference shown in {judged}{doubtful}"
    deltas = {metric.name: one.delta_pct for metric, one in different if one.delta_pct is not None}
    ways = [
        f"{word} in {count}"
        for word, count in (
            ("better", sum(delta > 0 for delta in deltas.values())),
            ("worse", sum(delta < 0 for delta in deltas.values())),
        )
        if count
    ]
    # by the ratio: a loss of 99 % is more than a gain of 900 %
    most = max(deltas, key=lambda name: abs(math.log1p(deltas[name] / 100)), default="")
    largest = [f"most in {most} ({cells.signed(deltas[most], 1)} %)"] if most else []
    return f"different in {len(different)} of {judged}{doubtful}: {', '.join([*ways, *largest])}"


def odd_ones(tests: ComparedMetrics, spreads: dict[int, Spread]) -> tuple[str, ...]:
    """Which of three drives or more lie out, a sentence each, or that none does."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for metric in (metric for _, metrics in tests for metric in metrics):
        one = spreads.get(id(metric))
        if one is not None and one.lies_out and one.farthest is not None:
            off = "" if one.off_pct is None else f" ({cells.signed(one.off_pct, 1)} %)"
            found[one.farthest].append(f"{metric.name}{off}")
    if spreads and not found:
        return (f"No drive lies out in {format_count(len(spreads), 'key value')}.",)
    return tuple(f"{name} lies out: {', '.join(values)}." for name, values in found.items())


def outcome_words(one: SetValue) -> str:
    """What a candidate shows beside the base; empty for the base."""
    if one.comparison is None:
        return ""
    is_alone = one.runs is None or one.runs.quality is Quality.ONE_RUN
    return {
        ComparisonOutcome.DIFFERENT: f"different{_chance_words(one.comparison)}",
        ComparisonOutcome.MAY_BE_CHANCE: f"may be chance{_chance_words(one.comparison)}",
        ComparisonOutcome.NOT_OF_INTEREST: "differs by less than is of interest",
        ComparisonOutcome.NO_DIFFERENCE: f"{NO_DIFFERENCE}{_chance_words(one.comparison)}",
        ComparisonOutcome.ONE_RUN: ONE_RUN if is_alone else f"base of {ONE_RUN}",
        ComparisonOutcome.DISCARDED: "not compared: a set is discarded",
        ComparisonOutcome.NO_REPEATS: f"nothing can be said of chance: {one.comparison.reason}",
    }[one.comparison.outcome]


def _ratio_words(one: SetValue) -> str:
    """The ratio with its 95 % interval, as a gate says it; empty for single runs, or values not above 0."""
    if one.base is None or one.runs is None or one.comparison is None or one.comparison.reason:
        return ""
    ratio = ratio_between(one.base, one.runs)
    return "" if ratio is None else ratio_words(ratio.value, ratio.low(_ERROR), ratio.high(_ERROR), ratio)


def _chance_words(comparison: SetComparison) -> str:
    if comparison.chance is None or comparison.corrected_chance is None:
        return ""
    return f": {chance_text(comparison.chance)} %, corrected {chance_text(comparison.corrected_chance)} %"


def chance_text(probability: float) -> str:
    """A probability in per cent, with two significant digits, down to 0.01: below, no spread is normal."""
    pct = 100 * probability
    return "< 0.01" if pct < 0.01 else f"{Decimal(f'{pct:.1e}'):f}"


def absence(one: SetValue) -> str:
    """Why a set has no value."""
    if any(value.stands_in for value in one.missing):
        return "too few I/Os for the percentile"
    return "; ".join(dict.fromkeys(value.note for value in one.missing)) or "no warm run"


def statement(one: SetValue) -> str:
    """The statement on a key value of a contender, in one line."""
    if one.runs is None:
        return absence(one)
    said = [word for word in (outcome_words(one), _ratio_words(one), *set_words(one.runs), one.state) if word]
    return "; ".join(dict.fromkeys(said))
