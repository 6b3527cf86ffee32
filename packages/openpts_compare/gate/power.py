"""What relative limits can find: the change found with 95 %, and false alarms where nothing has changed."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from msgspec import Struct

from openpts.analysis.ratio import ErrorRule, alarm_probability, found_ratio, pooled_spread
from openpts.vocabulary.better import Better
from openpts_compare.limits.bound import Bound
from openpts_compare.limits.judge import mean_rounds_spread
from openpts_compare.limits.limits_file import LimitSet
from openpts_compare.runs.measured_run import MeasuredRun

FEWEST_RUNS: Final = 3


class Power(Struct, frozen=True):
    """With so many runs against so many: the ratio that is found, and false alarms up to this look.

    ``found_apart`` is what is found of sides that share no session; None also of simulated drives.
    """

    runs: int
    base_runs: int
    found: float | None
    false_alarm_pct: float
    found_apart: float | None = None


class PowerOfLimit(Struct, frozen=True):
    """What a limit on a measure can find; ``reason`` says why nothing can be stated."""

    name: str
    limit: str
    spread_pct: float | None
    rounds_spread_pct: float | None
    powers: tuple[Power, ...] = ()
    reason: str = ""


def power_of(
    limits: LimitSet | None, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun]
) -> tuple[ErrorRule, tuple[PowerOfLimit, ...]]:
    """The power of each relative limit; without any, of "no change" on each key measure."""
    bounds = [bound for bound in limits.bounds if bound.is_relative] if limits else []
    bounds = bounds or list(_no_change(runs))
    given = limits.rule if limits else ErrorRule()
    rule = ErrorRule(given.false_alarm, given.miss, given.most_runs, max(1, len(bounds)))
    return rule, tuple(_of_limit(bound, rule, runs, baseline) for bound in bounds)


def _no_change(runs: Sequence[MeasuredRun]) -> Iterator[Bound]:
    known: set[str] = set()
    for run in runs:
        for one in run.content.measures:
            name = f"{run.test}.{one.key}"
            if (
                one.is_key
                and one.value is not None
                and one.better is not Better.UNJUDGED
                and name not in known
            ):
                known.add(name)
                yield Bound(name, one.better is Better.HIGHER, Fraction(1), is_relative=True)


def _of_limit(
    bound: Bound, rule: ErrorRule, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun]
) -> PowerOfLimit:
    sides = [[found for run in side if (found := run.find(bound.measure))] for side in (runs, baseline)]
    figures = [figure for side in sides for figure in side]
    name = figures[0].name if figures else bound.measure
    values = [[figure.value for figure in side if figure.value] for side in sides]
    spread = pooled_spread([side for side in values if side])
    result = PowerOfLimit(
        name, bound.as_written, None if spread is None else 100 * spread, mean_rounds_spread(figures)
    )
    if spread is None:
        missing = next((figure.missing for figure in figures if figure.missing), "")
        reason = missing or "two runs or more on a side are needed to know the spread between runs"
        return PowerOfLimit(result.name, result.limit, None, result.rounds_spread_pct, reason=reason)
    is_real = any(run.made for run in (*runs, *baseline))
    powers = tuple(_powers(bound, rule, spread, len(values[1]), is_real=is_real))
    return PowerOfLimit(result.name, result.limit, result.spread_pct, result.rounds_spread_pct, powers)


def _powers(
    bound: Bound, rule: ErrorRule, spread: float, base_runs: int, *, is_real: bool
) -> Iterator[Power]:
    """At each odd number of runs; the baseline has as many where none is given."""
    limit = bound.share if bound.at_least else 1 / bound.share
    alarms = 0.0
    for runs in range(1, rule.most_runs + 1):
        sizes = (base_runs or runs, runs)
        alarms += alarm_probability(1.0, limit, spread, sizes, rule.alarm_share)
        if runs % 2 and (runs >= FEWEST_RUNS or base_runs > 1):
            ratios = [
                found_ratio(limit, spread, sizes, rule.alarm_share, apart=apart) for apart in (False, True)
            ]
            found, apart = (one if one is None or bound.at_least else 1 / one for one in ratios)
            yield Power(runs, sizes[0], found, 100 * min(1.0, alarms), apart if is_real else None)
