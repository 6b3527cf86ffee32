"""Conditions that runs have to meet beside their limits: each kept, not kept, or not known."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.procedures.kit.red_line import import_mark
from openpts.procedures.shared.outcome_text import reached_text
from openpts.record.reader import Run
from openpts.units import format_count
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.verdict import SteadyState
from openpts_compare.limits.baseline import HeldAgainst
from openpts_compare.limits.limits_file import RequiredCondition
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_drives.health.health_page import counted_events
from openpts_pts.conformance.standing import standing_of

_Found = tuple[Judgement, str]


def judge_required(
    required: Sequence[RequiredCondition], runs: Sequence[MeasuredRun], baseline: Sequence[HeldAgainst]
) -> tuple[JudgedLimit, ...]:
    """A verdict for each condition over all runs; the baseline counts only for what is to be the same."""
    return tuple(_over_all(one, runs, baseline) for one in required)


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
