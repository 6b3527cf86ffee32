"""What an operator says of a run, as its order; and a run with its log."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID

from openpts.cli.background_listener import background_listener
from openpts.cli.detach import begun
from openpts.cli.io_engine import NUMA, native_options
from openpts.cli.live_outputs import live_listeners
from openpts.cli.planned_run import adjustment
from openpts.cli.procedure_options import Choices
from openpts.cli.run_display import shown_on
from openpts.cli.run_words import RunArgs
from openpts.errors import (
    InterruptedRunError,
    LostRecordError,
    OpenptsError,
    RunFailedError,
    UnwritableRecordError,
    UsageError,
)
from openpts.procedures.kit.judge import the_judge
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import procedure_of
from openpts.record.reader import read_run
from openpts.runner.driver import driver_of
from openpts.runner.events import Event, Listener, RunStarted
from openpts.runner.order import RunSettings
from openpts.runner.power_command import PowerCommand
from openpts.runner.run import run_test
from openpts.runner.telemetry import TelemetryChoice
from openpts.units import NS_PER_MS
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.people import People

_OFF: Final = "off"
_PERIOD: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|ms)?")
_SECONDS: Final = {None: 1.0, "s": 1.0, "ms": 0.001}
_SHORTEST_S, _LONGEST_S = 0.1, 3600.0


def telemetry_of(period: str, power_command: str | None) -> TelemetryChoice:
    """What the options ask for. Raises UsageError, also if there is no such program."""
    if power_command is not None:
        PowerCommand(power_command)
    return TelemetryChoice(None if period == _OFF else _period_s(period), power_command)


def _period_s(text: str) -> float:
    match = _PERIOD.fullmatch(text)
    period_s = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not _SHORTEST_S <= period_s <= _LONGEST_S:
        raise UsageError(f"--telemetry-period {text!r}: write a time from 0.1s to 3600s, or off")
    return period_s


def order_of(
    target: str,
    choices: Choices,
    consent: Consent,
    *,
    purge: str | None = None,
    run_id: UUID | None = None,
    **given: Any,
) -> RunSettings:
    """What a run is ordered to be, from ``RunArgs`` as given and the choices for its test."""
    args = RunArgs(**given)
    description = choices.description(args.describe)
    return RunSettings(
        target=target,
        drive_class=choices.drive_class,
        adjust=adjustment(choices, target),
        admit=choices.admit,
        consent=consent,
        purge_choice=choices.purge(purge),
        people=choices.people(People(args.operator, args.auditor, args.sponsor, args.labels)),
        command_line=tuple(sys.argv[1:]),
        folder=args.out,
        run_id=None if run_id is None else str(run_id),
        seed=choices.seed,
        options=native_options(
            args.io_path,
            args.cpus,
            slow_io_ns=None if args.outliers_ms is None else round(args.outliers_ms * NS_PER_MS),
        ),
        pin_to_node=args.cpus == NUMA,
        telemetry=telemetry_of(args.telemetry_period, args.power_command),
        scenario=choices.scenario(args.scenario),
        tune=args.tune,
        exclusive_host=args.exclusive_host,
        description=description,
        purpose=choices.purpose(description),
        inputs=choices.inputs(description),
        short_report=choices.short_report,
        hooks=args.hooks,
        hook_limit_s=args.hook_limit_s,
    )


def run_and_log(test: Procedure, order: RunSettings, stream: IO[str]) -> Path:
    """Run with the display that suits the stream; an error that leaves a run folder tells where it is."""
    folders: list[Path] = []

    def note_folder(event: Event) -> None:
        if isinstance(event, RunStarted):
            folders.append(event.folder)
            begun(event.folder)

    try:
        judge = the_judge() if order.stop_on_fail else None
        stop = () if judge is None else (judge.part("stop")(),)
        with display_on(stream) as on_event:
            return run_test(test, order, [note_folder, on_event, *stop]).folder
    except (InterruptedRunError, RunFailedError) as error:
        raise type(error)(f"{error}; {_what_is_kept(folders)}") from error
    except (LostRecordError, UnwritableRecordError):
        raise
    except OpenptsError as error:
        if folders:
            raise type(error)(f"{error}; what was recorded is in {folders[0]}") from error
        raise


@contextmanager
def display_on(stream: IO[str]) -> Iterator[Listener]:
    """A live panel on a terminal, a plain log anywhere else; neither holds up what it shows.

    What other programs read of the run is written beside it.
    """
    live = live_listeners()

    def all_hear(event: Event) -> None:
        for on_event in (shown, *live):
            on_event(event)

    with background_listener(shown_on(stream)) as shown:
        yield all_hear


def _what_is_kept(folders: Sequence[Path]) -> str:
    if not folders:
        return "nothing was written yet"
    run = read_run(folders[0])
    count, one, several = driver_of(procedure_of(run.manifest.conditions.test)).kept(run)
    kept = f"1 {one}" if count == 1 else f"{count} {several}"
    return (
        f"{kept} kept in {folders[0]}: `openpts report {folders[0]}` reports on what was measured, "
        f"`openpts resume {folders[0]}` goes on"
    )
