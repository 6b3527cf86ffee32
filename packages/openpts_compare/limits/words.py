"""Ratios and verdicts in words: the same for a gate, on its page and in a comparison."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from openpts.analysis.ratio import ErrorRule, Ratio
from openpts.units import format_count
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_compare.limits.bound import number_text

_APART: Final = " and taken for that between sessions, which the sides do not share"


def ratio_words(value: float, low: float, high: float, ratio: Ratio) -> str:
    """``ratio 0.951 (0.942 to 0.96), 3 runs against 3, spread between runs 0.42 %``."""
    return (
        f"ratio {value:.4g} ({low:.4g} to {high:.4g}), {format_count(ratio.runs, 'run')} "
        f"against {ratio.base_runs}, spread between runs {ratio.spread_pct:.2g} %"
        f"{_APART if ratio.apart else ''}"
    )


def fewer_runs(value: float) -> str:
    """What a single run on either side can't tell."""
    return (
        f"ratio {value:.4g} of one run against one: the spread between runs is not known, and that of rounds "
        "does not stand for it; make 2 more runs of each"
    )


def more_runs(ratio: Ratio, rule: ErrorRule) -> str:
    """What an undecided limit asks for, as far as its rule goes."""
    left = rule.most_runs - ratio.runs
    if left <= 0:
        return f"not decided in {format_count(rule.most_runs, 'run')}, the most that the rule allows"
    step = min(left, 3 - ratio.runs if ratio.runs < 3 else 2)
    more = f"not decided: make {format_count(step, 'more run')}, {rule.most_runs} at most"
    return f"{more}, those of both sides in turn on one host" if ratio.apart else more


def too_many_runs(rule: ErrorRule) -> str:
    """Why a limit has no verdict with more runs than its errors are shared out for."""
    most = format_count(rule.most_runs, "run")
    return f"its errors are for {most} at most: set most_runs before the first run"


def verdict_line(judged: Iterable[JudgedLimit]) -> str:
    """How many limits passed, failed, and have no verdict."""
    found = [one.judgement for one in judged]
    return (
        f"limits: {found.count(Judgement.PASS)} passed, {found.count(Judgement.FAIL)} failed, "
        f"{found.count(Judgement.NO_VERDICT)} without a verdict"
    )


def limit_line(one: JudgedLimit) -> str:
    """A verdict in a line: ``fail: iops.rnd_4_kib_rw0.iops at least 180,000 IOPS: measured 171,200 IOPS``."""
    limit = "" if one.limit == "required" else f" {one.limit}"
    found = finding(one)
    return f"{one.judgement}: {one.name}{limit}{f': {found}' if found else ''}"


def finding(one: JudgedLimit) -> str:
    """What was measured, or why there is no verdict."""
    if one.is_relative or one.value is None:
        return one.reason
    measured = f"measured {number_text(one.value)} {one.unit}".rstrip()
    worst = f", the worst of {one.runs} runs" if one.runs > 1 else ""
    return f"{measured}{worst}{f'; {one.reason}' if one.reason else ''}"


def judged_figures(judged: Iterable[JudgedLimit]) -> list[dict[str, Any]]:
    """All verdicts, JSON-ready."""
    return [msgspec.to_builtins(one) for one in judged]


def error_words(rule: ErrorRule) -> Iterator[str]:
    """How often relative limits may be judged wrong."""
    limits = "1 relative limit" if rule.rows == 1 else f"any of {rule.rows} relative limits"
    yield (
        f"{limits}: called failed though kept in at most {100 * rule.false_alarm:g} % of all gates, called "
        f"passed though not kept in {100 * rule.miss:g} %, over all looks with up to {rule.most_runs} runs, "
        "if runs are independent repeats"
    )
