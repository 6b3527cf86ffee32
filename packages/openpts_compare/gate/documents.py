"""What `openpts gate` finds: its documents, of which text and exports are views, and its report."""

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
from openpts_compare.gate.export_files import CaseOutcome, JunitCase, junit_xml
from openpts_compare.limits.judge import GateResult, mean_rounds_spread
from openpts_compare.limits.limits_file import Allowed, Bound, ErrorRates, LimitSet, limit_line, verdict_line
from openpts_compare.limits.page import error_note, verdicts_page
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_pages.kit import rows_table
from openpts_pages.model import Report, Table

_FEWEST_RUNS: Final = 3
# A limit without a verdict is not kept: the gate does not pass.
_OUTCOMES: Final = {
    Judgement.PASS: CaseOutcome.PASSED,
    Judgement.FAIL: CaseOutcome.FAILED,
    Judgement.NO_VERDICT: CaseOutcome.ERROR,
}


class Power(Struct, frozen=True):
    """With so many runs against so many: the ratio that is found, and false alarms up to this look.

    ``found_apart`` is what is found of sides that share no session; None also of simulated drives.
    """

    runs: int
    base_runs: int
    found: float | None
    false_alarm_pct: float
    found_apart: float | None = None

    def __str__(self) -> str:
        change = "no change" if self.found is None else f"a change of {100 * (self.found - 1):+.3g} %"
        apart = self.found_apart
        of_apart = "" if apart is None else f"{100 * (apart - 1):+.3g} % if the sides share no session, "
        return (
            f"{self.runs} runs against {self.base_runs}: finds {change} with 95 %, "
            f"{of_apart}fails unchanged ones in {self.false_alarm_pct:.2g} %"
        )


class PowerOfLimit(Struct, frozen=True):
    """What a limit on a measure can find; ``reason`` says why nothing can be stated."""

    name: str
    limit: str
    spread_pct: float | None
    rounds_spread_pct: float | None
    powers: tuple[Power, ...] = ()
    reason: str = ""

    def lines(self) -> Iterator[str]:
        """The spread that it rests on, then what is found with so many runs."""
        head = f"{self.name} {self.limit}"
        if self.spread_pct is None:
            yield f"{head}: {self.reason}"
            return
        rounds = self.rounds_spread_pct
        of_rounds = "" if rounds is None else f", between rounds {rounds:.2g} %"
        yield f"{head}: spread between runs {self.spread_pct:.2g} %{of_rounds}"
        yield from (f"  {power}" for power in self.powers)


class PowerDocument(Document, frozen=True, kw_only=True, tag="openpts.gate-power/1"):
    """What `--power-analysis` finds."""

    errors: ErrorRates
    limits: tuple[PowerOfLimit, ...]

    def lines(self) -> Iterator[str]:
        """The same as text."""
        for one in self.limits:
            yield from one.lines()
        yield str(self.errors)


def power_of(
    limits: LimitSet | None, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun]
) -> PowerDocument:
    """The power of each relative limit; without any, of "no change" on each key measure."""
    bounds = [bound for bound in limits.bounds if bound.is_relative] if limits else []
    bounds = bounds or _no_change(runs)
    rule = limits.rule if limits else ErrorRule()
    rule = ErrorRule(rule.false_alarm, rule.miss, rule.most_runs, max(1, len(bounds)))
    found = tuple(_of_limit(bound, rule, runs, baseline) for bound in bounds)
    return PowerDocument(errors=ErrorRates.of(rule), limits=found)


def _no_change(runs: Sequence[MeasuredRun]) -> list[Bound]:
    """A bound for each key measure that is judged, by the first run that has it."""
    bounds: dict[str, Bound] = {}
    for run in runs:
        for one in run.content.measures:
            name = f"{run.test}.{one.key}"
            if one.is_key and one.value is not None and one.better is not Better.UNJUDGED:
                at_least = one.better is Better.HIGHER
                bounds.setdefault(name, Bound(name, at_least, Fraction(1), is_relative=True))
    return list(bounds.values())


def _of_limit(
    bound: Bound, rule: ErrorRule, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun]
) -> PowerOfLimit:
    sides = [[found for run in side if (found := run.find(bound.measure))] for side in (runs, baseline)]
    figures = [figure for side in sides for figure in side]
    values = [[figure.value for figure in side if figure.value] for side in sides]
    spread = pooled_spread([side for side in values if side])
    powers: tuple[Power, ...] = ()
    reason = ""
    if spread is None:
        missing = next((figure.missing for figure in figures if figure.missing), "")
        reason = missing or "two runs or more on a side are needed to know the spread between runs"
    else:
        is_real = any(run.made for run in (*runs, *baseline))
        powers = tuple(_powers(bound, rule, spread, len(values[1]), is_real=is_real))
    return PowerOfLimit(
        name=figures[0].name if figures else bound.measure,
        limit=bound.as_written,
        spread_pct=None if spread is None else 100 * spread,
        rounds_spread_pct=mean_rounds_spread(figures),
        powers=powers,
        reason=reason,
    )


def _powers(
    bound: Bound, rule: ErrorRule, spread: float, base_runs: int, *, is_real: bool
) -> Iterator[Power]:
    """At each odd number of runs; the baseline has as many where none is given."""
    limit = bound.share if bound.at_least else 1 / bound.share
    alarms = 0.0
    for runs in range(1, rule.most_runs + 1):
        sizes = (base_runs or runs, runs)
        alarms += alarm_probability(1.0, limit, spread, sizes, rule.alarm_share)
        if runs % 2 and (runs >= _FEWEST_RUNS or base_runs > 1):
            ratios = [
                found_ratio(limit, spread, sizes, rule.alarm_share, apart=apart) for apart in (False, True)
            ]
            found, apart = (one if one is None or bound.at_least else 1 / one for one in ratios)
            yield Power(runs, sizes[0], found, 100 * min(1.0, alarms), apart if is_real else None)


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
        errors, folders = ErrorRates.of(result.rule), [run.folder for run in runs]
        bases = [run.folder for run in baseline]
        return cls.of(
            result, limits=result.judged, errors=errors, runs=folders, baseline=bases, reports=reports
        )

    def summary(self) -> Iterator[str]:
        """The verdict, and how often a relative one may be wrong."""
        yield f"{self.verdict.upper()}: {verdict_line(self.limits)}"
        if any(one.is_relative and one.low is not None for one in self.limits):
            yield str(self.errors)

    def tap(self) -> Iterator[str]:
        """Lines of the Test Anything Protocol, version 14."""
        yield "TAP version 14"
        yield f"1..{len(self.limits)}"
        for number, limit in enumerate(self.limits, start=1):
            passed = limit.judgement is Judgement.PASS
            name = f"{limit.name} {limit.limit}".replace("#", "\\#")
            yield f"{'ok' if passed else 'not ok'} {number} - {name}"
            yield f"# {limit_line(limit)}"

    def junit(self) -> bytes:
        """A ``testcase`` for each limit."""
        cases = (
            JunitCase(
                name=f"{limit.name} {limit.limit}",
                classname="openpts.gate",
                time_s=0.0,
                outcome=_OUTCOMES[limit.judgement],
                message=limit_line(limit),
                output=limit_line(limit) if limit.judgement is Judgement.PASS else "",
            )
            for limit in self.limits
        )
        return junit_xml("openpts gate", cases, {"runs": "; ".join(self.runs)})


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
