"""What may be said of a set of runs, and of two of them beside each other."""

from typing import Final

from openpts.analysis.run_comparison import (
    ADVISED_RUNS,
    MOST_RUNS,
    RSE_LIMIT_PCT,
    Outcome,
    Quality,
    RunSet,
)
from openpts.report import cells
from openpts.report.compare.metrics import SetValue

ONE_RUN: Final = "one run: no statement about spread"
NO_DIFFERENCE: Final = "no difference shown"

RULES: Final = (
    "Median: the middle value of the warm runs, which was measured; of an even number of runs the less "
    "favourable of the middle two.",
    "RSE: relative standard error |s / (mean x sqrt(N))| in per cent, s with N - 1. Above "
    f"{RSE_LIMIT_PCT:g} % more runs are needed; with {MOST_RUNS} runs or more the set is discarded.",
    "Delta: candidate / base - 1 of speeds and scores, base / candidate - 1 of times, from the medians: plus "
    "is always better. Where the ranges overlap, no difference is shown.",
)


def set_words(runs: RunSet) -> tuple[str, ...]:
    """What a set lacks; empty for one that lacks nothing."""
    rse = "" if runs.rse_pct is None else f"RSE {cells.fixed(runs.rse_pct, 1)} %"
    limit = f"above {RSE_LIMIT_PCT:g} %"
    match runs.quality:
        case Quality.ONE_RUN:
            return (ONE_RUN,)
        case Quality.DISCARDED:
            return (f"set discarded: {rse or 'RSE n/a'} {limit} with {runs.count} runs",)
        case Quality.MORE_RUNS:
            return (f"{rse or 'RSE n/a'} {limit}: more runs needed", *_count_words(runs))
        case Quality.ACCEPTED:
            return _count_words(runs)


# SOL-STAT-02, 03
def _count_words(runs: RunSet) -> tuple[str, ...]:
    if runs.count < ADVISED_RUNS:
        return (f"{runs.count} runs, {ADVISED_RUNS} or more advised",)
    return () if runs.count % 2 else (f"{runs.count} runs, an odd number advised",)


def outcome_words(one: SetValue) -> str:
    """What a candidate shows beside the base; empty for the base."""
    if one.comparison is None:
        return ""
    return {
        Outcome.DIFFERENT: "ranges apart",
        Outcome.NO_DIFFERENCE: f"{NO_DIFFERENCE}: ranges overlap",
        Outcome.ONE_RUN: ONE_RUN,
        Outcome.DISCARDED: "not compared: a set is discarded",
    }[one.comparison.outcome]


def absence(one: SetValue) -> str:
    """Why a set has no value."""
    if any(value.stands_in for value in one.missing):
        return "too few I/Os for the percentile"
    return "; ".join(dict.fromkeys(value.note for value in one.missing)) or "no warm run"


def statement(one: SetValue) -> str:
    """All that may be said of a key value of a contender, in one line."""
    if one.runs is None:
        return absence(one)
    said = [word for word in (outcome_words(one), *set_words(one.runs), one.state) if word]
    return "; ".join(dict.fromkeys(said))
