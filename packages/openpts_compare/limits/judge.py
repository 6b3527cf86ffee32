"""Holds runs against limits: a verdict for each limit, with the reason where there is none."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from msgspec import Struct, structs
from msgspec.structs import replace

from openpts.analysis.ratio import ErrorRule, Ratio
from openpts.analysis.run_comparison import RunSet, ratio_between
from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.did_you_mean import nearest_word
from openpts.errors import RecordError, UsageError
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.standing import import_mark
from openpts.procedures.registry import PROCEDURES, procedure_of
from openpts.procedures.shared.outcome_text import reached_text
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.record.writer import INPUT_FOLDER, LIMITS_NAME
from openpts.run_folder_files import open_file
from openpts.units import format_count
from openpts.vocabulary.limit import JudgedLimit, Judgement, whole_of, worst
from openpts.vocabulary.verdict import Better, SteadyState
from openpts_compare.limits.limits_file import (
    MOST_BYTES,
    Allowed,
    Bound,
    HeldAgainst,
    LimitSet,
    RequiredCondition,
    fewer_runs,
    judged_figures,
    limit_line,
    more_runs,
    parse_limits,
    ratio_words,
    refuse_unsigned,
    stored_baseline,
    too_many_runs,
)
from openpts_compare.runs.measured_run import (
    OF_SUBJECTS,
    MeasuredRun,
    RunFigure,
    drift_of,
    repeated_run,
    test_named,
    words_of,
)
from openpts_drives.health.health_page import counted_events
from openpts_pts.conformance.conformance import standing_of

_Found = tuple[Judgement, str]


def _over_all(
    required: RequiredCondition, runs: Sequence[MeasuredRun], baseline: Sequence[HeldAgainst]
) -> JudgedLimit:
    if required is RequiredCondition.SAME_FIRMWARE:
        judgement, reason = _same_firmware([*runs, *baseline])
    else:
        found = [(_held(required, one), one) for one in runs]
        order = (Judgement.FAIL, Judgement.NO_VERDICT, Judgement.PASS)
        (judgement, reason), worst = min(found, key=lambda each: order.index(each[0][0]))
        if reason and len(runs) > 1:
            reason = f"{worst.run.folder}: {reason}"
    return JudgedLimit(required.value, "required", judgement, reason, runs=len(runs), base_runs=len(baseline))


def _held(required: RequiredCondition, run: MeasuredRun) -> _Found:
    """Verdict on a required condition; a pass is withheld from an unfinished run."""
    judgement, reason = _OF_A_RUN[required](run.run)
    if judgement is Judgement.PASS and run.unfinished:
        return Judgement.NO_VERDICT, run.unfinished
    return judgement, reason


def _conformant(run: Run) -> _Found:
    if mark := import_mark(run.manifest):
        return Judgement.FAIL, mark
    standing = standing_of(run)
    return (Judgement.PASS, "") if standing.conformant else (Judgement.FAIL, standing.bottom_line.rstrip("."))


def steady(run: Run) -> _Found:
    """Whether steady state was reached in every cycle of a test that looks for it."""
    conditions, cycles = run.manifest.conditions, run.manifest.cycles
    if conditions.steady_state is SteadyState.NONE:
        return Judgement.NO_VERDICT, f"{conditions.test} does not look for steady state"
    if not cycles:
        return Judgement.NO_VERDICT, "the run did not come so far"
    missed = [one for one in cycles if one.outcome.steady_round is None]
    if not missed:
        return Judgement.PASS, ""
    first = missed[0]
    if run.manifest.imported is not None and first.outcome.last_round < WINDOW_ROUNDS:
        few = format_count(first.outcome.last_round, "round")
        return (
            Judgement.NO_VERDICT,
            f"{few} of {run.manifest.imported.tool}, steady state takes {WINDOW_ROUNDS}",
        )
    title = f"{first.title}: " if first.title else ""
    return Judgement.FAIL, f"{title}{reached_text(first.outcome, conditions)}"


def _no_media_errors(run: Run) -> _Found:
    failed = sum(error.count for step in run.steps for error in step.sample.errors)
    failed += sum(step.sample.failure is not None and not step.sample.errors for step in run.steps)
    if failed:
        return Judgement.FAIL, format_count(failed, "failed I/O")
    return _counted(run, "error", "media errors")


def _no_throttling(run: Run) -> _Found:
    """Verdict on throttling, by the drive's log or a simulated drive's intervals."""
    series = run.telemetry_series.get("throttled")
    if series is not None and any(series.values):
        slowed = sum(value > 0 for value in series.values)
        return Judgement.FAIL, f"throttled in {slowed:,} of {len(series.values):,} intervals"
    found = _counted(run, "throttling", "throttling")
    return (Judgement.PASS, "") if found[0] is Judgement.NO_VERDICT and series is not None else found


def _counted(run: Run, kind: str, words: str) -> _Found:
    events = counted_events(run, kind)
    if events is None:
        return Judgement.NO_VERDICT, f"the drive's log, as far as it was read, does not count {words}"
    return (Judgement.FAIL, ", ".join(events)) if events else (Judgement.PASS, "")


def _same_firmware(runs: Sequence[HeldAgainst]) -> _Found:
    found = dict.fromkeys(run.firmware for run in runs)
    if "" in found:
        return Judgement.NO_VERDICT, "the firmware of a run is not known"
    return (Judgement.PASS, "") if len(found) == 1 else (Judgement.FAIL, f"firmware {', '.join(found)}")


_OF_A_RUN: Final[Mapping[RequiredCondition, Callable[[Run], _Found]]] = {
    RequiredCondition.CONFORMANT: _conformant,
    RequiredCondition.STEADY: steady,
    RequiredCondition.NO_MEDIA_ERRORS: _no_media_errors,
    RequiredCondition.NO_THROTTLING: _no_throttling,
}


_TO_ALLOW: Final = (
    'allow = ["{0}"] in the limits file, or `openpts gate --allow "{0}"`, judges it nevertheless'
)


class GateResult(Struct, frozen=True):
    """The verdicts of a gate in the order of its limits: conditions first, those that tests have last.

    ``allowed`` is what was judged all the same. ``left_out`` counts relative limits that a run without a
    baseline was not held against.
    """

    judged: tuple[JudgedLimit, ...]
    rule: ErrorRule
    allowed: tuple[Allowed, ...] = ()
    left_out: int = 0

    @property
    def verdict(self) -> Judgement:
        """One for all."""
        return whole_of(self.judged)


def judge(limits: LimitSet, runs: Sequence[MeasuredRun], baseline: Sequence[HeldAgainst] = ()) -> GateResult:
    """Hold runs against limits, relative ones against a baseline.

    Raises UsageError for a limit of what no run measures, or in the wrong unit.
    """
    for bound in limits.bounds:
        _refuse_unknown(bound, runs)
    judged = [_judged(bound, limits, runs, baseline) for bound in limits.bounds]
    return _with_conditions(limits, judged, runs, baseline)


def judge_finished(limits: LimitSet, run: MeasuredRun, baseline: Sequence[HeldAgainst] = ()) -> GateResult:
    """As ``judge``, for one run: limits of other tests are left out, and relative ones without a baseline.

    A limit of what the run does not measure, or in the wrong unit, has no verdict: no run is lost for a word.
    """
    own = [bound for bound in limits.bounds if test_named(bound.measure) in {"", run.test}]
    bases = [one for one in baseline if one.test == run.test]
    held = [bound for bound in own if bases or not bound.is_relative]
    judged = []
    for bound in held:
        try:
            judged.append(_judged(bound, limits, (run,), bases))
        except UsageError as error:
            judged.append(_nothing(bound, str(error)))
    result = _with_conditions(limits, judged, (run,), bases)
    return replace(result, left_out=len(own) - len(held))


def refuse_undecidable(limits: LimitSet, test: str, baseline: Sequence[MeasuredRun]) -> None:
    """Raise UsageError for a relative limit on which one run of the test could have no verdict."""
    for bound in limits.bounds:
        if bound.is_relative and test_named(bound.measure) in {"", test}:
            of_test = [run for run in baseline if run.test == test]
            if of_test:
                _refuse_unknown(bound, baseline)
            bases = [(figure, run) for run in of_test if (figure := run.find(bound.measure))]
            few = "" if len(bases) > 1 else f"it needs a baseline of two runs of {test} or more"
            if reason := few or _incomparable(bases, bases, limits):
                raise UsageError(
                    f"{bound.measure} {bound.as_written} can't be judged: {reason}; name such runs with "
                    "--baseline, or run without --limits and use `openpts gate` afterwards"
                )


def _with_conditions(
    limits: LimitSet,
    judged: Sequence[JudgedLimit],
    runs: Sequence[MeasuredRun],
    baseline: Sequence[HeldAgainst],
) -> GateResult:
    """With the conditions in front, and behind them the limits that tests have of their own."""
    required = tuple(_over_all(one, runs, baseline) for one in limits.required)
    own = (replace(one, name=f"{run.test}.{one.name}") for run in runs for one in run.content.limits)
    return GateResult((*required, *judged, *own), limits.rule, limits.allowed)


def _refuse_unknown(bound: Bound, runs: Sequence[MeasuredRun]) -> None:
    """A test that was not run is no mistake of the file's; a measure that none of the runs has is one."""
    if any(run.find(bound.measure) for run in runs):
        return
    tests = {run.test for run in runs}
    if test_named(bound.measure) and test_named(bound.measure) not in tests:
        return
    raise UsageError(f"no run measures {bound.measure!r}: {nearest(bound.measure, runs)}")


def nearest(measure: str, runs: Sequence[MeasuredRun]) -> str:
    """The known name that is most like one, in words; without one, how to see all."""
    known: dict[str, str] = {}
    for name in (name for run in runs for name in run.names()):
        known.setdefault(" ".join(words_of(name)), name)
    listed = "`openpts gate RUN` lists what a run measures"
    if subject := next((found for run in runs if (found := run.subject(measure))), ""):
        return f"did you mean {subject}.{OF_SUBJECTS[0]}? {listed}"
    near = nearest_word(" ".join(words_of(measure)), known)
    if near is not None:
        return f"did you mean {known[near]}? {listed}"
    test = nearest_word(measure.partition(".")[0], PROCEDURES)
    return f"did you mean the test {test}? {listed}" if test and test not in measure else listed


def _judged(
    bound: Bound, limits: LimitSet, runs: Sequence[MeasuredRun], baseline: Sequence[HeldAgainst]
) -> JudgedLimit:
    """An absolute limit has the verdict on the run that keeps it worst."""
    if bound.is_relative:
        return _relative(bound, limits, runs, baseline)
    found = [(figure, run) for run in runs if (figure := run.find(bound.measure)) is not None]
    if not found:
        return _unmeasured(bound, runs)
    if lacking := _lacking(bound, found, runs):
        return _nothing(bound, lacking)
    return worst([_of_run(bound, limits, figure, run, len(found)) for figure, run in found])


def _lacking(
    bound: Bound, found: Sequence[tuple[RunFigure, HeldAgainst]], runs: Sequence[HeldAgainst]
) -> str:
    """The run that does not measure what others of its test do; empty if all do."""
    tests = {run.test for _, run in found}
    lacking = [run for run in runs if run.test in tests and run.find(bound.measure) is None]
    return f"{lacking[0].folder} does not measure it" if lacking else ""


def _unmeasured(bound: Bound, runs: Sequence[MeasuredRun]) -> JudgedLimit:
    test = test_named(bound.measure)
    if test and all(run.test != test for run in runs):
        return _nothing(bound, f"no run of {test}")
    return _nothing(bound, f"the run does not measure it: {nearest(bound.measure, runs)}")


def _nothing(bound: Bound, reason: str) -> JudgedLimit:
    return JudgedLimit(
        bound.measure,
        bound.as_written,
        Judgement.NO_VERDICT,
        reason,
        is_relative=bound.is_relative,
        note=bound.note,
    )


def _of_run(bound: Bound, limits: LimitSet, figure: RunFigure, run: MeasuredRun, runs: int) -> JudgedLimit:
    refuse_unsigned(bound, figure.unit)
    value, asked = figure.value, bound.value_in(figure.unit)
    reason = _doubt(figure, run, limits) or _deviations(run, limits)
    if value is None or reason:
        judgement = Judgement.NO_VERDICT
    else:
        judgement = (
            Judgement.PASS if (value >= asked if bound.at_least else value <= asked) else Judgement.FAIL
        )
    where = f"{run.folder}: " if reason and runs > 1 else ""
    return JudgedLimit(
        name=figure.name,
        limit=bound.text_in(figure.unit),
        judgement=judgement,
        reason=f"{where}{reason}",
        unit=figure.unit,
        at_least=asked if bound.at_least else None,
        at_most=None if bound.at_least else asked,
        value=value,
        runs=runs,
        rounds_spread_pct=figure.rounds_spread_pct,
        note=bound.note,
    )


def _doubt(figure: RunFigure, run: HeldAgainst, limits: LimitSet) -> str:
    """Why a figure of a run can't be judged; empty where it can."""
    if figure.value is None:
        return figure.missing or "not measured"
    if run.unfinished:
        return run.unfinished
    if figure.state and Allowed.NOT_STEADY not in limits.allowed:
        return f"{_unsteady(figure.state)}: {_TO_ALLOW.format(Allowed.NOT_STEADY)}"
    return ""


def _unsteady(state: str) -> str:
    words = "not of steady state"
    return state if state.startswith(words) else f"{words} ({state})"


def _deviations(run: MeasuredRun, limits: LimitSet) -> str:
    ledger = run.run.ledger
    if not ledger or Allowed.DEVIATIONS in limits.allowed:
        return ""
    count = format_count(len(ledger), "deviation")
    return f"{count} recorded ({ledger[0].used}): {_TO_ALLOW.format(Allowed.DEVIATIONS)}"


def _relative(
    bound: Bound, limits: LimitSet, runs: Sequence[MeasuredRun], baseline: Sequence[HeldAgainst]
) -> JudgedLimit:
    candidates = [(figure, run) for run in runs if (figure := run.find(bound.measure)) is not None]
    bases = [(figure, run) for run in baseline if (figure := run.find(bound.measure)) is not None]
    if not candidates:
        return _unmeasured(bound, runs)
    figure = candidates[0][0]
    row = JudgedLimit(
        name=figure.name,
        limit=bound.text_in(figure.unit),
        judgement=Judgement.NO_VERDICT,
        unit="x",
        at_least=bound.share if bound.at_least else None,
        at_most=None if bound.at_least else bound.share,
        is_relative=True,
        runs=len(candidates),
        base_runs=len(bases),
        rounds_spread_pct=mean_rounds_spread([one for one, _ in (*candidates, *bases)]),
        note=bound.note,
    )
    lacking = _lacking(bound, (*candidates, *bases), (*runs, *baseline))
    if reason := lacking or _incomparable(candidates, bases, limits):
        return replace(row, reason=reason)
    base_set, run_set = _set_of(bases), _set_of(candidates)
    if min(base_set.low, run_set.low) <= 0:
        return replace(row, reason="a value is not above 0: there is no ratio")
    for found, side in ((base_set, bases), (run_set, candidates)):
        if drifting := drift_of(found.values, [run for _, run in side]):
            return replace(row, reason=drifting)
    ratio = ratio_between(base_set, run_set)
    if ratio is None:
        single = run_set.median / base_set.median
        return replace(row, value=single, reason=fewer_runs(single))
    return _decided(row, bound, ratio, limits.rule)


def _set_of(side: Sequence[tuple[RunFigure, HeldAgainst]]) -> RunSet:
    """Figures of runs that all have a value, as a comparison puts them together."""
    values = tuple(figure.value for figure, _ in side if figure.value is not None)
    return RunSet(values, Better.UNJUDGED, made=tuple(run.made for _, run in side))


def _decided(row: JudgedLimit, bound: Bound, ratio: Ratio, rule: ErrorRule) -> JudgedLimit:
    """Fail where the interval is on the wrong side of the limit, pass where it is on the right one."""
    asked = bound.share
    if bound.at_least:
        low, high = ratio.low(rule.miss_share), ratio.high(rule.alarm_share)
        passed, failed = low >= asked, high < asked
    else:
        low, high = ratio.low(rule.alarm_share), ratio.high(rule.miss_share)
        passed, failed = high <= asked, low > asked
    row = replace(
        row,
        value=ratio.value,
        low=low,
        high=None if math.isinf(high) else high,
        runs_spread_pct=ratio.spread_pct,
    )
    words = ratio_words(ratio.value, low, high, ratio)
    if ratio.runs > rule.most_runs:
        return replace(row, reason=f"{words}; {too_many_runs(rule)}")
    if passed or failed:
        return replace(row, judgement=Judgement.PASS if passed else Judgement.FAIL, reason=words)
    return replace(row, reason=f"{words}; {more_runs(ratio, rule)}")


def _incomparable(
    candidates: Sequence[tuple[RunFigure, HeldAgainst]],
    bases: Sequence[tuple[RunFigure, HeldAgainst]],
    limits: LimitSet,
) -> str:
    """Why two sets can't be held against each other; empty where they can."""
    if not bases:
        return f"no baseline: `openpts gate RUN... --baseline RUN...` with runs of {candidates[0][1].test}"
    for figure, run in (*candidates, *bases):
        if reason := _doubt(figure, run, limits):
            return f"{run.folder}: {reason}"
    every = [run for _, run in (*candidates, *bases)]
    if len({run.test for run in every}) > 1:
        return "the baseline is of another test"
    if len({run.conditions for run in every}) > 1 and Allowed.CONDITIONS not in limits.allowed:
        to_allow = _TO_ALLOW.format(Allowed.CONDITIONS)
        return f"the runs were made under different conditions: `openpts compare` shows which; {to_allow}"
    if len({run.deviations for run in every}) > 1 and Allowed.DEVIATIONS not in limits.allowed:
        return f"the runs deviate differently: {_TO_ALLOW.format(Allowed.DEVIATIONS)}"
    return repeated_run([run for _, run in candidates], [run for _, run in bases])


def mean_rounds_spread(figures: Sequence[RunFigure]) -> float | None:
    """The spread between rounds, as the mean over runs; None where none has rounds."""
    spreads = [one.rounds_spread_pct for one in figures if one.rounds_spread_pct is not None]
    return fmean(spreads) if spreads else None


def stored_limits(folder: Path) -> LimitSet | None:
    """The limits that a run was ordered with. Raises RecordError where their copy is damaged."""
    name = f"{INPUT_FOLDER}/{LIMITS_NAME}"
    try:
        with open_file(folder, name) as file:
            return parse_limits(file.read(MOST_BYTES + 1), str(folder / name))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError(f"can't read {folder / name}: {error.strerror}") from error
    except UsageError as error:
        raise RecordError(f"the limits in the run folder can't be read: {error}") from error


def judged_run(run: Run, content: ReportContent | None = None) -> GateResult | None:
    """The verdicts on a run; None if it has no limits. ``content`` is its report's, if made already."""
    limits, test = stored_limits(run.folder), procedure_of(run.manifest.conditions.test)
    if limits is None and not test.has_limits:
        return None
    measured = MeasuredRun.of(run, content)
    if limits is None and not measured.content.limits:
        return None
    return judge_finished(limits or LimitSet(), measured, stored_baseline(run.folder))


def limit_figures(run: Run, content: ReportContent) -> dict[str, Any]:
    """The verdicts on a run that was ordered with a limits file; nothing of any other."""
    result = judged_run(run, content) if stored_limits(run.folder) is not None else None
    return {} if result is None else {"verdict": result.verdict, "limits": judged_figures(result.judged)}


def failed_so_far(run: Run) -> str:
    """The first limit that a run in progress can no longer keep; empty if none. Raises RecordError.

    Its finished cycles count. Figures of the entire run, such as its energy, are not known before its end.
    """
    limits = stored_limits(run.folder) or LimitSet()
    required = tuple(one for one in limits.required if one is not RequiredCondition.CONFORMANT)
    content = procedure_of(run.manifest.conditions.test).part("report").report(run)
    so_far = structs.replace(MeasuredRun.of(run, content), state=RunState.COMPLETE)
    result = judge_finished(structs.replace(limits, required=required), so_far, stored_baseline(run.folder))
    failed = next((one for one in result.judged if one.judgement is Judgement.FAIL), None)
    return "" if failed is None else limit_line(failed)
