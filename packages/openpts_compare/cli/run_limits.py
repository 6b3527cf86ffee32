"""The limits of a run: read before it, watched during it where asked, judged when it is finished."""

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from openpts.cli.options import BASELINE
from openpts.errors import LimitError, NotSteadyError, NoVerdictError, UsageError
from openpts.procedures.kit.procedure import Procedure
from openpts.record.reader import stored_run
from openpts.record.writer import BASELINE_NAME, LIMITS_NAME
from openpts.runner.event_lines import CycleEnded, LimitsJudged, PurgeStarted
from openpts.runner.events import Event, RunStarted, StepFinished, StepsStarted
from openpts.runner.settings import RunSettings
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.sample import Sample

if TYPE_CHECKING:
    from openpts_compare.limits.limits_file import LimitSet
    from openpts_compare.runs.measured_run import MeasuredRun


class RunLimits(Struct, frozen=True):
    """What runs are held against when they are finished, or while they run."""

    limits: "LimitSet | None"
    baseline: "tuple[MeasuredRun, ...]"
    stop_on_fail: bool
    require_steady: bool

    def ordered(self, settings: RunSettings, test: Procedure) -> RunSettings:
        """The settings with copies of its limits. Raises UsageError where one can never have a verdict."""
        settings = replace(settings, stop_on_fail=self.stop_on_fail, require_steady=self.require_steady)
        if self.limits is None:
            return settings
        from openpts_compare.limits.judge import refuse_undecidable  # noqa: PLC0415 likewise
        from openpts_compare.limits.limits_file import kept_baseline  # noqa: PLC0415 slow to load

        refuse_undecidable(self.limits, test.name, self.baseline)
        copies = {LIMITS_NAME: self.limits.raw}
        if self.baseline:
            copies[BASELINE_NAME] = kept_baseline(self.limits, self.baseline)
        return replace(settings, inputs={**settings.inputs, **copies})


class StopOnFail:
    """Hears a run, and ends it with LimitError when a limit of its record can't be kept any more."""

    def __init__(self) -> None:
        self._folder = Path()
        self._failed = ""
        self._required: tuple[str, ...] = ()

    def __call__(self, event: Event) -> None:
        """A step ends the run at once, a cycle when another follows: the last one ends it anyway."""
        match event:
            case RunStarted():
                from openpts_compare.limits.judge import stored_limits  # noqa: PLC0415 slow to load

                self._folder = event.folder
                limits = stored_limits(event.folder)
                self._required = () if limits is None else limits.required
            case StepFinished():
                self._failed = self._of_step(event.sample)
                self._stop()
            case CycleEnded():
                from openpts_compare.limits.judge import failed_so_far  # noqa: PLC0415 slow to load

                self._failed = failed_so_far(stored_run(self._folder))
            case PurgeStarted() | StepsStarted():
                self._stop()

    def _of_step(self, sample: Sample) -> str:
        from openpts_compare.limits.limits_file import RequiredCondition  # noqa: PLC0415 slow to load

        if RequiredCondition.NO_MEDIA_ERRORS in self._required and (
            sample.failure is not None or sample.errors
        ):
            return "fail: no media errors: an I/O failed"
        if RequiredCondition.NO_THROTTLING in self._required and any(
            interval.throttled for interval in sample.intervals
        ):
            return "fail: no throttling: the drive was throttled"
        return ""

    def _stop(self) -> None:
        if self._failed:
            raise LimitError(f"stopped at a limit: {self._failed}")


def asked(options: dict[str, Any]) -> RunLimits:
    """What was typed for a run, taken out of its options.

    Raises UsageError, and RecordError for a baseline that can't be read.
    """
    limits_path, baseline = options.pop("limits_path", None), options.pop("baseline", ())
    stop_on_fail, require_steady = options.pop("stop_on_fail", False), options.pop("require_steady", False)
    if limits_path is None:
        if stop_on_fail or baseline:
            name = BASELINE if baseline else "--stop-on-fail"
            raise UsageError(f"{name} needs a limits file: give --limits FILE")
        return RunLimits(None, (), stop_on_fail=False, require_steady=require_steady)
    from openpts_compare.limits.limits_file import gated_runs, read_limits  # noqa: PLC0415 slow to load

    limits = read_limits(limits_path)
    return RunLimits(limits, gated_runs(baseline), stop_on_fail=stop_on_fail, require_steady=require_steady)


def end_judged(folder: Path, stream: IO[str] | None) -> None:
    """Say what became of the limits of a finished run.

    Raises LimitError, NotSteadyError or NoVerdictError.
    """
    from openpts.cli.folder_events import publish  # noqa: PLC0415 likewise
    from openpts.report.sources import read_for_report  # noqa: PLC0415 likewise
    from openpts_compare.limits.judge import judged_run, steady  # noqa: PLC0415 slow to load
    from openpts_compare.limits.limits_file import limit_line, verdict_line  # noqa: PLC0415 likewise
    from openpts_compare.limits.page import left_out_words  # noqa: PLC0415 likewise

    run = read_for_report(folder)
    result = judged_run(run)
    if result is not None and stream is not None:
        click.echo(verdict_line(result.judged), file=stream)
        for one in result.judged:
            if one.judgement is not Judgement.PASS:
                click.echo(limit_line(one), file=stream)
        if result.left_out:
            click.echo(left_out_words(result.left_out), file=stream)
    judged = () if result is None else result.judged
    if judged:
        publish(LimitsJudged(limits=tuple(judged)))
    found = [one.judgement for one in judged]
    of_limits = f"{len(judged)} limits; see the report on {folder}"
    if failed := found.count(Judgement.FAIL):
        raise LimitError(f"the drive failed {failed} of {of_limits}")
    if run.manifest.ordered and run.manifest.ordered.require_steady:
        judgement, reason = steady(run)
        if judgement is not Judgement.PASS:
            raise NotSteadyError(f"no steady state: {reason}; see the report on {folder}")
    if unknown := found.count(Judgement.NO_VERDICT):
        raise NoVerdictError(f"no verdict on {unknown} of {of_limits}")
