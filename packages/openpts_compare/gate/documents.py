"""What `openpts gate --json` prints."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, Self

from msgspec import Struct

from openpts.analysis.ratio import ErrorRule, alarm_probability, found_ratio, pooled_spread
from openpts.procedures.kit.standing import red_line_of_all
from openpts.report.sources import default_date
from openpts.vocabulary.document import Document
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.verdict import Better
from openpts_compare.limits.bound import Bound, verdict_line
from openpts_compare.limits.judge import GateResult, mean_rounds_spread
from openpts_compare.limits.limits_file import Allowed, LimitSet
from openpts_compare.limits.page import error_note, verdicts_page
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_pages.kit import rows_table
from openpts_pages.model import Report, Table

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


class ErrorRates(Struct, frozen=True):
    """How often relative limits may be judged wrong, over all looks with up to ``most_runs``."""

    false_alarm_pct: float
    miss_pct: float
    most_runs: int
    relative_limits: int

    @classmethod
    def of(cls, rule: ErrorRule) -> Self:
        """Error rates of a rule in per cent."""
        return cls(100 * rule.false_alarm, 100 * rule.miss, rule.most_runs, rule.rows)


class GateDocument(Document, frozen=True, kw_only=True, tag="openpts.gate/1"):
    """One verdict for all limits, and each with its own; ``runs`` and ``baseline`` are their folders.

    ``allowed`` is what was judged all the same.
    """

    verdict: Judgement
    limits: tuple[JudgedLimit, ...]
    errors: ErrorRates
    runs: tuple[str, ...]
    baseline: tuple[str, ...]
    allowed: tuple[Allowed, ...] = ()
    reports: tuple[str, ...] = ()

    @classmethod
    def by(
        cls,
        result: GateResult,
        runs: Sequence[MeasuredRun],
        baseline: Sequence[MeasuredRun],
        reports: Sequence[str] = (),
    ) -> Self:
        """Document of a gate's result, with the folders of the runs that were judged."""
        return cls(
            verdict=result.verdict,
            limits=result.judged,
            errors=ErrorRates.of(result.rule),
            runs=tuple(run.folder for run in runs),
            baseline=tuple(run.folder for run in baseline),
            allowed=result.allowed,
            reports=tuple(reports),
        )


class PowerDocument(Document, frozen=True, kw_only=True, tag="openpts.gate-power/1"):
    """What `--power-analysis` finds."""

    errors: ErrorRates
    limits: tuple[PowerOfLimit, ...]


def gate_report(
    result: GateResult, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun], *, paper: str = "a4"
) -> Report:
    """The verdicts of a gate, and the runs that they are on; its date is the end of the last run."""
    every = [one.run for one in (*runs, *baseline)]
    simulated = all(run.manifest.target.simulation for run in every)
    verdict = f"{result.verdict.upper()}. {verdict_line(result.judged).capitalize()}."
    return Report(
        title=f"{'SIMULATED ' if simulated else ''}SSD Performance Gate",
        subtitle=verdict,
        run_name=", ".join(dict.fromkeys(run.manifest.test_id for run in every)),
        report_date=max(map(default_date, every)),
        red_line=red_line_of_all(every, "the reports of the runs"),
        footer="Gate over openpts runs; not a report after SNIA SSS PTS 2.0.1, not certified by SNIA",
        front=(verdicts_page(result, _runs_table(result, runs, baseline)),),
        deviation_count=sum(len(run.ledger) for run in every),
        stem="gate",
        paper=paper,
    )


def _runs_table(result: GateResult, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun]) -> Table:
    sides = (("candidate", runs), ("baseline", baseline))
    return rows_table(
        "limits-runs",
        "Runs",
        "Run:<2 | Side:<0.7 | Begun (UTC):< | Test:<0.6 | Firmware:<",
        (
            (one.folder, side, one.started_at, one.test, one.firmware or "not known")
            for side, of_side in sides
            for one in of_side
        ),
        note=error_note(result) if any(one.is_relative for one in result.judged) else "",
    )
