"""`openpts run`: carry out a test on a target."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID

import click

from openpts.cli.background_listener import background_listener
from openpts.cli.batch_options import BATCH_OPTIONS, refuse_alone
from openpts.cli.commands_on_demand import OnDemandInOrder, of_tests
from openpts.cli.consent_options import (
    CONFIRM_NAMESPACE,
    CONSENT_OPTIONS_OF_SEVERAL,
    consent_of_one,
    taken,
)
from openpts.cli.end_of_run import RunLimits, StopOnFail, end_run, limit_options
from openpts.cli.fitting_scale import at_fitting_scale
from openpts.cli.help_order import together
from openpts.cli.io_engine import NUMA, EngineArgs
from openpts.cli.live_outputs import LIVE_OPTIONS, live_listeners, log_stream
from openpts.cli.number_types import FiniteRange
from openpts.cli.parameter_options import PassthroughArgs, command_with_rest, targets_of
from openpts.cli.procedure_options import Choices, choices_of, help_of, options_of
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
from openpts.procedures.registry import PROCEDURES, procedure_of
from openpts.record.reader import read_run, stored_run
from openpts.runner.continued_run import Continuation
from openpts.runner.driver import driver_of
from openpts.runner.events import Event, Listener, RunStarted
from openpts.runner.hooks import Hook
from openpts.runner.order import Order
from openpts.runner.power_command import PowerCommand
from openpts.runner.run import run_test
from openpts.runner.telemetry import TelemetryChoice
from openpts.system_files import printable
from openpts.units import NS_PER_DAY
from openpts.vocabulary.hook import HOOK_LIMIT_S
from openpts.vocabulary.people import LABEL_NAME, People
from openpts.vocabulary.tuning import Scenario

_OFF: Final = "off"
_PERIOD: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|ms)?")
_SECONDS: Final = {None: 1.0, "s": 1.0, "ms": 0.001}
_SHORTEST_S, _LONGEST_S = 0.1, 3600.0

_TELEMETRY_OPTIONS: Final = (
    click.option(
        "--telemetry-period",
        default="1s",
        show_default=True,
        metavar="TIME",
        help="Sample temperature, processors, other I/O and the like at this interval during the test: "
        "0.1s to 3600s, or off.",
    ),
    click.option(
        "--power-command",
        metavar="COMMAND",
        help="Run this program during the test and read a power meter from its output, one number of "
        "watts per line. No shell.",
    ),
)


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


LABELS: Final = click.option(
    "--label",
    "labels",
    metavar="NAME=VALUE",
    multiple=True,
    callback=labels_of,
    help="Label the run, in record, report, metrics and exports; may be repeated.",
)


def _hooks_of(_context: click.Context, _option: click.Parameter, words: Sequence[str]) -> tuple[str, ...]:
    for word in words:
        Hook.of(word)
    return tuple(words)


PURGE_OPTION = click.option(
    "--purge",
    metavar="METHOD",
    help="Purge before the test: `auto` is the best method of the drive, `none` is recorded in the "
    "ledger; else a method as in `openpts purge --help`, or several with commas, each tried if the one "
    "before failed; auto.",
)

RUN_OPTIONS = together(
    click.option(
        "--io-path",
        type=click.Choice([path.value for path in IoPath if path is not IoPath.NOOP]),
        help="I/O path to the target. [default: what a probe of it finds best]",
    ),
    click.option(
        "--cpus",
        default=NUMA,
        show_default=True,
        help="Pin the threads to these processors, in turn: a list such as 0-3,8, numa or none.",
    ),
    click.option(
        "--scenario",
        type=click.Choice([scenario.value for scenario in Scenario]),
        help="Measure the drive alone, or a machine as its users have it. The host "
        "audit judges by it; synthetic.",
    ),
    click.option(
        "--tune",
        is_flag=True,
        help="Set the host up for the scenario during the run; see `openpts doctor`.",
    ),
    click.option(
        "--exclusive-host",
        is_flag=True,
        help="Refuse to run beside other runs of openpts on this host, and keep them away.",
    ),
    *_TELEMETRY_OPTIONS,
    click.option(
        "--describe",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="TOML file with what the drive doesn't report: flash, controller, price.",
    ),
    click.option("--out", type=click.Path(path_type=Path), help="Run folder; must be new or empty."),
    click.option("--operator", help="Test operator, for the report."),
    click.option("--auditor", help="Auditor, for the report."),
    click.option("--sponsor", help="Test sponsor, for the report."),
    LABELS,
    click.option(
        "--hook",
        "hooks",
        metavar="MOMENT=COMMAND",
        multiple=True,
        callback=_hooks_of,
        help="Start this program at run-start, run-end, cycle-start, cycle-end, phase-start, or a time after "
        "the start such as 30min; may be repeated. No shell.",
    ),
    click.option(
        "--hook-limit",
        "hook_limit_s",
        type=FiniteRange(0.1, 86400),
        metavar="SECONDS",
        default=HOOK_LIMIT_S,
        show_default=True,
        help="Kill a program of --hook after this time.",
    ),
    click.option("--no-report", is_flag=True, help="Measure without making a report; see `openpts report`."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object; the log goes to stderr."),
    LIVE_OPTIONS,
)


_CONTINUE_OPTIONS: Final = (
    click.option(
        "--continue",
        "continued",
        metavar="RUN",
        type=click.Path(path_type=Path, file_okay=False),
        help="Follow the finished run in this folder on the same drive, without a purge: read first what it "
        "wrote last, then number its cycles on, under its conditions where none are given.",
    ),
    click.option(
        "--rest-days",
        type=FiniteRange(0, 3650),
        metavar="DAYS",
        help="With --continue, leave a simulated drive alone for this long first; 0.",
    ),
)


_RUN_ID_OPTION: Final = click.option(
    "--run-id",
    metavar="UUID",
    type=click.UUID,
    help="Run under this ID, from a scheduler, instead of a new one: claims on drive and folder have it.",
)


def _continuing(order: Order, folder: Path | None, rest_days: float | None, *, purges: bool) -> Order:
    """The order of a run that follows the one in the folder, if there is one. Raises UsageError."""
    if folder is None:
        if rest_days is not None:
            raise UsageError("--rest-days needs --continue: only data that an earlier run wrote can age")
        return order
    if purges:
        raise UsageError("--purge can't go with --continue, which reads what the earlier run wrote")
    rest_ns = None if rest_days is None else round(rest_days * NS_PER_DAY)
    return replace(order, continues=Continuation(stored_run(folder), rest_ns))


def _command(test: Procedure) -> click.Command:
    """`openpts run TEST`, with an option for each of its parameters."""

    @click.command(test.name, cls=PassthroughArgs, help=help_of(test))
    @together(*options_of(test))
    @click.argument("targets", metavar="TARGET...", nargs=-1)
    @together(*([PURGE_OPTION] if test.purges else []))
    @together(*(_CONTINUE_OPTIONS if test.resumes else []))
    @together(*limit_options(test.conditions))
    @_RUN_ID_OPTION
    @together(*BATCH_OPTIONS, *CONSENT_OPTIONS_OF_SEVERAL, CONFIRM_NAMESPACE)
    @RUN_OPTIONS
    def command(
        *,
        as_json: bool,
        no_report: bool,
        continued: Path | None = None,
        rest_days: float | None = None,
        limits_path: Path | None = None,
        baseline: tuple[Path, ...] = (),
        stop_on_fail: bool = False,
        require_steady: bool = False,
        drives: str | None = None,
        stagger_s: float | None = None,
        at_most: int | None = None,
        **options: Any,
    ) -> None:
        targets = targets_of(test, options, drives)
        limits = RunLimits.of(limits_path, baseline, stop_on_fail=stop_on_fail, require_steady=require_steady)
        if len(targets) > 1 or drives is not None:
            from openpts.cli.batch import BatchWords, run_several  # noqa: PLC0415 few runs are of several drives

            if continued is not None:
                raise UsageError("--continue follows the run of one drive: name one TARGET")
            words = BatchWords(
                targets, drives, stagger_s or 0.0, at_most, as_json=as_json, no_report=no_report
            )
            run_several(test, words, options, limits)
            return
        refuse_alone(stagger_s=stagger_s, at_most=at_most)
        if not targets:
            raise click.MissingParameter(param_hint="'TARGET'", param_type="argument")
        consent = consent_of_one(**taken(options))
        choices, stream = choices_of(test, options), log_stream(as_json=as_json)
        target = targets[0] if continued else at_fitting_scale(targets[0], [choices], stream)
        order = order_of(target, choices, consent, **options)
        order = _continuing(order, continued, rest_days, purges=options.get("purge") is not None)
        folder = run_and_log(test, limits.ordered(order, test), stream)
        end_run(test, folder, stream, no_report=no_report, as_json=as_json)

    return command_with_rest(test, command)


@click.group(
    cls=OnDemandInOrder,
    commands=of_tests(_command, PROCEDURES),
    subcommand_metavar="TEST [ARGS]...",
)
def run() -> None:
    """Run a test. DESTROYS ALL DATA on the target."""


def order_of(
    target: str,
    choices: Choices,
    consent: Consent,
    *,
    purge: str | None = None,
    operator: str | None,
    auditor: str | None,
    sponsor: str | None,
    labels: dict[str, str],
    hooks: tuple[str, ...],
    hook_limit_s: float,
    out: Path | None,
    run_id: UUID | None = None,
    io_path: str | None,
    cpus: str,
    telemetry_period: str,
    power_command: str | None,
    scenario: str | None,
    tune: bool,
    exclusive_host: bool,
    describe: Path | None,
) -> Order:
    """What a run is ordered to be, from ``RUN_OPTIONS`` and the choices for its test."""
    engine = EngineArgs(io_path=io_path, cpus=cpus)
    description = choices.description(describe)
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
        people=choices.people(People(operator, auditor, sponsor, labels)),
        command_line=tuple(sys.argv[1:]),
        folder=out,
        run_id=None if run_id is None else str(run_id),
        seed=choices.seed,
        options=engine.options(),
        pin_to_node=engine.pin_to_node,
        telemetry=telemetry_of(telemetry_period, power_command),
        scenario=choices.scenario(scenario),
        tune=tune,
        exclusive_host=exclusive_host,
        description=description,
        purpose=choices.purpose(description),
        inputs=choices.inputs(description),
        short_report=choices.short_report,
        hooks=hooks,
        hook_limit_s=hook_limit_s,
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
