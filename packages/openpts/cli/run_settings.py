"""A run of the operator's: its settings, its displays, its log, its end."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import UUID

import click
from msgspec import Struct, field
from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from openpts.cli.console import live_console
from openpts.cli.detach import begun
from openpts.cli.folder_events import background_listener
from openpts.cli.log_lines import (
    deviations_line,
    elapsed_text,
    event_lines,
    left_text,
    now_line,
    rate_text,
    steady_state_lines,
)
from openpts.cli.planned_run import adjustment
from openpts.cli.procedure_options import Choices
from openpts.cli.report import MAKING_REPORT, print_figures, print_paths, reports_on
from openpts.cli.run_options import RunArgs
from openpts.cli.standard_streams import can_be_drawn_over, is_verbose, wrapped
from openpts.device.nearby_cpus import NUMA, pinned_cpus
from openpts.errors import (
    InterruptedRunError,
    LostRecordError,
    OpenptsError,
    RunFailedError,
    UnwritableRecordError,
)
from openpts.procedures.kit.judge import the_judge
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import RequestedSettings
from openpts.runner.driver import driver_of, what_is_kept
from openpts.runner.event_lines import DeviationFound, PurgeProgressed
from openpts.runner.events import Event, Listener, RunPaused, RunStarted, Ticked
from openpts.runner.meter_command import METERS, MeterCommand
from openpts.runner.progress import RunProgress
from openpts.runner.run import run_test
from openpts.runner.settings import RunSettings
from openpts.vocabulary.facts import DescribedDrive, People, Purpose, Scenario
from openpts.vocabulary.purge import Consent

_QUIET_S = 30.0
_WITHOUT_A_RATE_S = 35.0  # a step that has just begun has none yet: many last for half a minute as well


class PlainLog(Struct):
    """Says each line once, with the time since the start before it, and counts deviations in one line.

    ``before_s`` is the time since the start of a batch when its run begins. Without ``ticks`` nothing is said
    of progress, which a panel shows.
    """

    say: Callable[[str], object]
    before_s: float = 0.0
    ticks: bool = True
    verbose: bool = False
    progress: RunProgress = field(default_factory=RunProgress)
    _last_line_s: float = 0.0
    _deviations: dict[tuple[str, str], str] = field(default_factory=dict)
    _counted: int = 0

    def on_event(self, event: Event) -> None:
        """Say what the event has to say, if it is something new."""
        self.progress.on_event(event)
        for line in self._lines(event):
            self._last_line_s = time.monotonic()
            self.say(f"[{clock_text(self.before_s + self.progress.elapsed_s)}] {line}")

    def _lines(self, event: Event) -> list[str]:
        if isinstance(event, DeviationFound) and not self.verbose:
            self._deviations.setdefault((event.rule_id, event.used), event.rule_id)
            return []
        found = self._other_lines(event)
        new = list(self._deviations.values())[self._counted :]
        if not (found and new):
            return found
        self._counted = len(self._deviations)
        return [deviations_line(new), *found]

    def _other_lines(self, event: Event) -> list[str]:
        if isinstance(event, Ticked) and not self.ticks:
            return []
        if isinstance(event, Ticked | PurgeProgressed | RunPaused):
            waits = isinstance(event, Ticked) and not self.progress.has_rate
            quiet_s = _WITHOUT_A_RATE_S if waits else _QUIET_S
            if time.monotonic() - self._last_line_s < quiet_s:
                return []
        return [now_line(self.progress)] if isinstance(event, Ticked) else event_lines(event, self.progress)


def clock_text(elapsed_s: float) -> str:
    """Before a line of a log."""
    minutes, seconds = divmod(int(elapsed_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}"


_LONGEST_LABEL = "Steady state"


@contextmanager
def live_display(stream: IO[str]) -> Iterator[Listener]:
    """The panel, which is gone afterwards; what is finished is printed above it, and stays."""
    log = PlainLog(lambda line: console.print(Text(line)), ticks=False, verbose=is_verbose())
    with live_console(stream, lambda _console: render_panel(log.progress)) as console:
        yield log.on_event


def render_panel(progress: RunProgress) -> Group:
    """Phase, step, rate, progress, time and steady state."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True, min_width=len(_LONGEST_LABEL))
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row("Phase", progress.phase)
    step = progress.step_text
    grid.add_row("Step", f"{progress.position + 1} of {len(progress.steps)}   {step}" if step else "-")
    counted_later = progress.conditions is not None and progress.conditions.planned_lines
    grid.add_row("Now", "-" if counted_later else rate_text(progress))
    grid.add_row("Done", ProgressBar(total=1.0, completed=progress.run_fraction, width=50))
    grid.add_row("Time", elapsed_text(progress))
    grid.add_row("", left_text(progress))
    # As many rows as there will ever be: a panel that grows would write over the line above it.
    verdicts = steady_state_lines(progress, limits=False)
    tracked = progress.conditions.most_verdicts if progress.conditions else 0
    for row in range(max(tracked, len(verdicts))):
        grid.add_row("" if row else _LONGEST_LABEL, verdicts[row] if row < len(verdicts) else "")
    return Group(Text(), grid)


@contextmanager
def shown_on(stream: IO[str]) -> Iterator[Listener]:
    """The panel on a terminal that it can be drawn on, the log anywhere else."""
    if can_be_drawn_over(stream):
        with live_display(stream) as on_event:
            yield on_event
    else:
        yield PlainLog(lambda line: click.echo(line, file=stream), verbose=is_verbose()).on_event


def settings_of(
    target: str,
    choices: Choices,
    consent: Consent,
    *,
    purge: str | None = None,
    run_id: UUID | None = None,
    **given: Any,
) -> RunSettings:
    """The settings of a run: what ``RunArgs`` have, else what the plan has. Raises WrittenFileError."""
    args, planned, plan = RunArgs(**given), choices.settings, choices.plan
    description = _description(args.describe, choices)
    inputs = {} if plan is None else {f"plan{Path(plan.path).suffix.lower()}": plan.raw}
    inputs |= {"description.toml": description.raw} if description.path else {}
    people = {name: getattr(args, name) or planned.get(name) for name in ("operator", "auditor", "sponsor")}
    for what, meter in METERS.items():
        if (command := getattr(args, f"{what}_command")) is not None:
            MeterCommand(meter, command)
    said = {name: getattr(args, name) for name in RequestedSettings.__struct_fields__ if hasattr(args, name)}
    said |= {
        "cpus": pinned_cpus(args.cpus),
        "pin_to_node": args.cpus == NUMA,
        "short_report": bool(planned.get("short_report", False)),
    }
    return RunSettings(
        **said,
        target=target,
        drive_class=choices.drive_class,
        adjust=adjustment(choices, target),
        admit=choices.admit,
        full_length=choices.full_length,
        consent=consent,
        purge=str(choices.purge(purge)),
        people=People(**people, labels={**planned.get("labels", {}), **args.labels}),
        command_line=tuple(sys.argv[1:]),
        folder=args.out,
        run_id=None if run_id is None else str(run_id),
        seed=choices.seed,
        scenario=Scenario(args.scenario or planned.get("scenario", Scenario.SYNTHETIC)),
        description=description,
        purpose=planned.get("purpose", Purpose()).over(description.purpose),
        inputs=inputs,
    )


def _description(path: Path | None, choices: Choices) -> DescribedDrive:
    """The file that was named, otherwise the plan's, which is beside it. Raises WrittenFileError."""
    if path is None and choices.plan is not None and "describe" in choices.settings:
        path = Path(choices.plan.path).parent / choices.settings["describe"]
    if path is None:
        return DescribedDrive()
    from openpts.parameters.description_file import read_description  # noqa: PLC0415 few runs have one

    return read_description(path)


def run_and_log(test: Procedure, settings: RunSettings, stream: IO[str]) -> Path:
    """Run with the display that suits the stream; an error that leaves a run folder tells where it is."""
    folders: list[Path] = []

    def note_folder(event: Event) -> None:
        if isinstance(event, RunStarted):
            folders.append(event.folder)
            begun(event.folder)

    try:
        judge = the_judge() if settings.stop_on_fail else None
        stop = () if judge is None else (judge.part("stop")(),)
        with background_listener(shown_on(stream)) as on_event:
            return run_test(test, settings, [note_folder, on_event, *stop]).folder
    except (InterruptedRunError, RunFailedError) as error:
        kept = what_is_kept(folders[0]) if folders else "nothing was written yet"
        raise type(error)(f"{error}; {kept}") from error
    except (LostRecordError, UnwritableRecordError):
        raise
    except OpenptsError as error:
        if folders:
            raise type(error)(f"{error}; what was recorded is in {folders[0]}") from error
        raise


def end_run(test: Procedure, folder: Path, stream: IO[str], *, no_report: bool, as_json: bool) -> None:
    """Report on a finished run and say what became of it, as one JSON object where that was asked for.

    Raises RunFailedError for a drive that lost data or failed a limit, and where no verdict was possible.
    """
    if not no_report:
        click.echo(MAKING_REPORT, file=stream)
    written = () if no_report else reports_on(folder)
    if not as_json:
        print_paths(written, stream)
        for line in dict.fromkeys(line for report in written for line in report.cover):
            click.echo(wrapped(line, stream), file=stream)
    try:
        if (judge := the_judge()) is not None:
            judge.part("end")(folder, stream)
        driver_of(test).end(folder)
    except RunFailedError as error:
        if as_json:
            print_figures((folder,), written, failure=error)
        raise
    if as_json:
        print_figures((folder,), written)
