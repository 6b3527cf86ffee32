"""What an operator says of a run, as its order; and a run with its log."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID

import click

from openpts.cli.background_listener import background_listener
from openpts.cli.end_of_run import StopOnFail
from openpts.cli.help_order import Decorator, together
from openpts.cli.io_engine import NUMA, native_options
from openpts.cli.live_outputs import LIVE_OPTIONS, live_listeners
from openpts.cli.number_types import FiniteRange
from openpts.cli.options import FILE, PATH, flag, group, option
from openpts.cli.procedure_options import Choices
from openpts.cli.quick_on_simulated import quick_on_simulated
from openpts.cli.run_display import shown_on
from openpts.device.guard.consent import Consent
from openpts.device.targets.simulated_target import names_simulated, parse_simulated_target
from openpts.engine.options import IoPath
from openpts.errors import (
    InterruptedRunError,
    LostRecordError,
    OpenptsError,
    RunFailedError,
    UnwritableRecordError,
    UsageError,
)
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import procedure_of
from openpts.record.reader import read_run
from openpts.runner.driver import driver_of
from openpts.runner.events import Event, Listener, RunStarted
from openpts.runner.hooks import Hook
from openpts.runner.order import Order
from openpts.runner.power_command import PowerCommand
from openpts.runner.run import run_test
from openpts.runner.telemetry import TelemetryChoice
from openpts.system_files import printable
from openpts.vocabulary.hook import HOOK_LIMIT_S
from openpts.vocabulary.people import LABEL_NAME, People
from openpts.vocabulary.tuning import Scenario

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


def labels_of(_context: click.Context, _option: click.Parameter, words: Sequence[str]) -> dict[str, str]:
    """Labels by their names. Raises UsageError for a name that metrics can't have, or that is given twice."""
    labels: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not re.match(LABEL_NAME, name):
            raise UsageError(f"invalid --label {word!r}: write NAME=VALUE, the name of letters, digits and _")
        if name in labels:
            raise UsageError(f"--label {name} is given twice")
        labels[name] = printable(value)
    return labels


LABELS: Final = option(
    "--label NAME=VALUE",
    "Label the run, in record, report, metrics and exports; may be repeated.",
    name="labels",
    multiple=True,
    callback=labels_of,
)


def _hooks_of(_context: click.Context, _option: click.Parameter, words: Sequence[str]) -> tuple[str, ...]:
    for word in words:
        Hook.of(word)
    return tuple(words)


PURGE_OPTION: Final[Decorator] = option(
    "--purge METHOD",
    "Purge before the test: `auto` is the best method of the drive, `none` is recorded in the "
    "ledger; else a method as in `openpts purge --help`, or several with commas, each tried if the one "
    "before failed; auto.",
)


@dataclass(frozen=True, slots=True)
class RunWords:
    """What an operator says of a run beside its conditions."""

    io_path: str | None = option(
        "",
        "I/O path to the target. [default: what a probe of it finds best]",
        click.Choice([path.value for path in IoPath if path is not IoPath.NOOP]),
    )
    cpus: str = option(
        "", "Pin the threads to these processors, in turn: a list such as 0-3,8, numa or none.", default=NUMA
    )
    scenario: str | None = option(
        "",
        "Measure the drive alone, or a machine as its users have it. The host audit judges by it; synthetic.",
        click.Choice([scenario.value for scenario in Scenario]),
    )
    tune: bool = flag("Set the host up for the scenario during the run; see `openpts doctor`.")
    exclusive_host: bool = flag(
        "Refuse to run beside other runs of openpts on this host, and keep them away."
    )
    telemetry_period: str = option(
        "TIME",
        "Sample temperature, processors, other I/O and the like at this interval during the test: "
        "0.1s to 3600s, or off.",
        default="1s",
    )
    power_command: str | None = option(
        "COMMAND",
        "Run this program during the test and read a power meter from its output, one number of "
        "watts per line. No shell.",
    )
    describe: Path | None = option(
        "FILE", "TOML file with what the drive doesn't report: flash, controller, price.", FILE
    )
    out: Path | None = option("", "Run folder; must be new or empty.", PATH)
    operator: str | None = option("", "Test operator, for the report.")
    auditor: str | None = option("", "Auditor, for the report.")
    sponsor: str | None = option("", "Test sponsor, for the report.")
    labels: dict[str, str] = LABELS
    hooks: tuple[str, ...] = option(
        "--hook MOMENT=COMMAND",
        "Start this program at run-start, run-end, cycle-start, cycle-end, phase-start, or a time after "
        "the start such as 30min; may be repeated. No shell.",
        multiple=True,
        callback=_hooks_of,
    )
    hook_limit_s: float = option(
        "--hook-limit SECONDS",
        "Kill a program of --hook after this time.",
        FiniteRange(0.1, 86400),
        default=HOOK_LIMIT_S,
    )


RUN_OPTIONS = together(
    group(RunWords),
    flag("Measure without making a report; see `openpts report`.", name="--no-report"),
    flag("Print one JSON object; the log goes to stderr.", name="--json as_json"),
    LIVE_OPTIONS,
)


def order_of(
    target: str,
    choices: Choices,
    consent: Consent,
    *,
    purge: str | None = None,
    run_id: UUID | None = None,
    **given: Any,
) -> Order:
    """What a run is ordered to be, from ``RunWords`` as given and the choices for its test."""
    words = RunWords(**given)
    description = choices.description(words.describe)
    on_simulated = choices.is_quick and names_simulated(target)
    return Order(
        target=target,
        drive_class=choices.drive_class,
        adjust=(
            quick_on_simulated(choices, parse_simulated_target(target)) if on_simulated else choices.adjust
        ),
        admit=choices.admit,
        consent=consent,
        purge_choice=choices.purge(purge),
        people=choices.people(People(words.operator, words.auditor, words.sponsor, words.labels)),
        command_line=tuple(sys.argv[1:]),
        folder=words.out,
        run_id=None if run_id is None else str(run_id),
        seed=choices.seed,
        options=native_options(words.io_path, words.cpus),
        pin_to_node=words.cpus == NUMA,
        telemetry=telemetry_of(words.telemetry_period, words.power_command),
        scenario=choices.scenario(words.scenario),
        tune=words.tune,
        exclusive_host=words.exclusive_host,
        description=description,
        purpose=choices.purpose(description),
        inputs=choices.inputs(description),
        short_report=choices.short_report,
        hooks=words.hooks,
        hook_limit_s=words.hook_limit_s,
    )


def run_and_log(test: Procedure, order: Order, stream: IO[str]) -> Path:
    """Run with the display that suits the stream; an error that leaves a run folder tells where it is."""
    folders: list[Path] = []

    def note_folder(event: Event) -> None:
        if isinstance(event, RunStarted):
            folders.append(event.folder)

    try:
        stop = (StopOnFail(),) if order.stop_on_fail else ()
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
