"""The limits of a run: read before it, watched during it where asked, judged when it is finished."""

from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from openpts.cli.help_order import Decorator
from openpts.cli.live_outputs import publish
from openpts.cli.report import print_figures, print_paths, reports_on
from openpts.errors import LimitError, NotSteadyError, NoVerdictError, RunFailedError
from openpts.fields.conditions import Conditions
from openpts.fields.field import parameters_of
from openpts.procedures.kit.procedure import Procedure
from openpts.record.reader import stored_run
from openpts.runner.events import (
    CycleEnded,
    Event,
    LimitsJudged,
    PurgeStarted,
    RunStarted,
    StepFinished,
    StepsStarted,
)
from openpts.runner.power_cut import end_with_losses
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.sample import Sample

if TYPE_CHECKING:
    from openpts.report.gate.limits_file import LimitSet

_FILE: Final = "--limits-file"


def limit_options(conditions: type[Conditions] | None = None) -> tuple[Decorator, ...]:
    """The options of limits, for a command whose test may have limits of its own, which it looks for."""
    is_taken = conditions is not None and "limits" in parameters_of(conditions)
    names = (_FILE,) if is_taken else ("--limits", _FILE)
    return (_file_option(names), *_OTHER_OPTIONS)


def _file_option(names: tuple[str, ...]) -> Decorator:
    return click.option(
        *names,
        "limits_path",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Judge the finished run by the limits in this TOML file: exit code 10 if one failed, 13 if one "
        "has no verdict; see `openpts gate`.",
    )


_OTHER_OPTIONS: Final = (
    click.option(
        "--stop-on-fail",
        is_flag=True,
        help="With a limits file, end the run as soon as a limit can't be kept.",
    ),
    click.option(
        "--require-steady", is_flag=True, help="End with exit code 14 if steady state was not reached."
    ),
)


def limits_to_keep(path: Path) -> "LimitSet":
    """The limits in a file, read before anything is measured. Raises UsageError."""
    from openpts.report.gate.limits_file import read_limits  # noqa: PLC0415 slow to load

    return read_limits(path)


class StopOnFail:
    """Hears a run, and ends it with LimitError when a limit can't be kept any more."""

    def __init__(self, limits: "LimitSet") -> None:
        from openpts.report.gate.limits_file import Required  # noqa: PLC0415 slow to load

        self._limits = limits
        self._folder = Path()
        self._failed = ""
        self._no_errors = Required.NO_MEDIA_ERRORS in limits.required
        self._no_throttling = Required.NO_THROTTLING in limits.required

    def __call__(self, event: Event) -> None:
        """A step ends the run at once, a cycle when another follows: the last one ends it anyway."""
        match event:
            case RunStarted():
                self._folder = event.folder
            case StepFinished():
                self._failed = self._of_step(event.sample)
                self._stop()
            case CycleEnded():
                from openpts.report.gate.of_run import failed_so_far  # noqa: PLC0415 slow to load

                self._failed = failed_so_far(self._limits, stored_run(self._folder))
            case PurgeStarted() | StepsStarted():
                self._stop()

    def _of_step(self, sample: Sample) -> str:
        if self._no_errors and (sample.failure is not None or sample.errors):
            return "fail: no media errors: an I/O failed"
        if self._no_throttling and any(interval.throttled for interval in sample.intervals):
            return "fail: no throttling: the drive was throttled"
        return ""

    def _stop(self) -> None:
        if self._failed:
            raise LimitError(f"stopped at a limit: {self._failed}")


def end_run(
    test: Procedure,
    folder: Path,
    stream: IO[str],
    *,
    no_report: bool,
    as_json: bool,
    require_steady: bool = False,
) -> None:
    """Report on a finished run and say what became of it, as one JSON object where that was asked for.

    Raises RunFailedError for a drive that lost data or failed a limit, and where no verdict was possible.
    """
    written = () if no_report else reports_on(folder)
    for report in () if as_json else written:
        print_paths(report, stream)
    try:
        end_judged(folder, stream, require_steady=require_steady)
        if test.cuts_power:
            end_with_losses(folder)
    except RunFailedError as error:
        if as_json:
            print_figures((folder,), written, failure=error)
        raise
    if as_json:
        print_figures((folder,), written)


def end_judged(folder: Path, stream: IO[str] | None, *, require_steady: bool = False) -> None:
    """Say what became of the limits of a finished run.

    Raises LimitError, NotSteadyError or NoVerdictError.
    """
    from openpts.report.gate.conditions import steady  # noqa: PLC0415 slow to load
    from openpts.report.gate.of_run import judged_run  # noqa: PLC0415 likewise
    from openpts.report.gate.page import left_out_words  # noqa: PLC0415 likewise
    from openpts.report.gate.words import limit_line, verdict_line  # noqa: PLC0415 likewise
    from openpts.report.sources import read_for_report  # noqa: PLC0415 likewise

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
        publish(LimitsJudged(tuple(judged)))
    found = [one.judgement for one in judged]
    of_limits = f"{len(judged)} limits; see the report on {folder}"
    if failed := found.count(Judgement.FAIL):
        raise LimitError(f"the drive failed {failed} of {of_limits}")
    if require_steady:
        judgement, reason = steady(run)
        if judgement is not Judgement.PASS:
            raise NotSteadyError(f"no steady state: {reason}; see the report on {folder}")
    if unknown := found.count(Judgement.NO_VERDICT):
        raise NoVerdictError(f"no verdict on {unknown} of {of_limits}")
