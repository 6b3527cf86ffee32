"""Words and rules for a set of runs, and for two sets beside each other."""

from decimal import Decimal
from typing import Final

from openpts.analysis.comparison import FALSE_ALARM_LIMIT, runs_needed
from openpts.analysis.run_comparison import Outcome, Quality, SetComparison, SetRule
from openpts.procedures.kit.spread import ONE_RUN, set_words
from openpts.report.compare.metrics import SetValue
from openpts.report.gate.words import compared_words
from openpts.units import format_count

NO_DIFFERENCE: Final = "no difference shown"

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
        "Different: the ranges have nothing in common, the medians differ by "
        f"{least_difference_pct:g} % or more (the least difference of interest), and chance alone would show "
        f"one such line or more in at most {limit} of all comparisons. By chance: where nothing differs, the "
        "ranges of n and m runs lie apart in 2 n! m! / (n + m)! of all orders of their values (3 and 3: "
        "10 %). Corrected: for the number of lines, by Holm's method."
    )
    if not lines:
        return (*first, rule)
    needed = runs_needed(lines)
    return (
        *first,
        rule,
        f"{format_count(lines, 'line')} with a spread: {needed} runs against {needed} can show a difference "
        "in any of them.",
    )


def outcome_words(one: SetValue) -> str:
    """What a candidate shows beside the base; empty for the base."""
    if one.comparison is None:
        return ""
    is_alone = one.runs is None or one.runs.quality is Quality.ONE_RUN
    return {
        Outcome.DIFFERENT: f"different: ranges apart{_chance_words(one.comparison)}",
        Outcome.MAY_BE_CHANCE: f"ranges apart, which may be chance{_chance_words(one.comparison)}",
        Outcome.NOT_OF_INTEREST: "ranges apart by less than is of interest",
        Outcome.NO_DIFFERENCE: f"{NO_DIFFERENCE}: ranges overlap",
        Outcome.ONE_RUN: ONE_RUN if is_alone else f"base of {ONE_RUN}",
        Outcome.DISCARDED: "not compared: a set is discarded",
    }[one.comparison.outcome]


def _ratio_words(one: SetValue) -> str:
    """The ratio with its interval, as a gate says it."""
    if one.base is None or one.runs is None or one.comparison is None:
        return ""
    return compared_words(one.base.values, one.runs.values)


def _chance_words(comparison: SetComparison) -> str:
    if comparison.chance is None or comparison.corrected_chance is None:
        return ""
    return f": {chance_text(comparison.chance)} %, corrected {chance_text(comparison.corrected_chance)} %"


def chance_text(probability: float) -> str:
    """A probability in per cent, with two significant digits."""
    return f"{Decimal(f'{100 * probability:.1e}'):f}"


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
