"""The limits of one finished run, from its record alone: those of its limits file, and the test's own."""

from pathlib import Path
from typing import Any

from msgspec import structs

from openpts.errors import RecordError, UsageError
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.record.writer import INPUT_FOLDER, LIMITS_NAME
from openpts.run_folder_files import open_file
from openpts.vocabulary.limit import Judgement
from openpts_compare.limits.baseline import stored_baseline
from openpts_compare.limits.judge import GateResult, judge_finished
from openpts_compare.limits.limits_file import MOST_BYTES, LimitSet, RequiredCondition, parse_limits
from openpts_compare.limits.words import judged_figures, limit_line
from openpts_compare.runs.measured_run import MeasuredRun


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
