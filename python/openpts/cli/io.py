"""`openpts io`: one stimulus on one or several targets, measured at once."""

import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import click

from openpts.cli.io_display import following
from openpts.cli.io_engine import EngineArgs
from openpts.cli.io_options import StopArgs, io_options
from openpts.cli.io_result import MeasurementResults
from openpts.cli.io_spellings import in_own_words
from openpts.cli.io_stimulus import PACINGS, PLACEMENTS, StimulusWords
from openpts.device.block_device import BlockDevice
from openpts.device.guard.consent import Consent
from openpts.device.identity.drive_name import serial_number
from openpts.device.targets.simulated_target import names_simulated
from openpts.device.targets.target import FileTarget, parse_target
from openpts.errors import InterruptedRunError, RecordError, RunFailedError, UsageError, failing_as
from openpts.plugins import service
from openpts.runner.measure import MeasurementEvent, MeasurementListener, MeasurementOrder, alone, measure
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.translation import Translation


@dataclass(frozen=True, slots=True)
class ConsentArgs:
    """The options as given, of all targets together."""

    serials: tuple[str, ...] = ()
    device_paths: tuple[str, ...] = ()
    overwrite_file: bool = False
    erase_signatures: bool = False

    def for_target(self, target: str, roots: SystemRoots) -> Consent:
        """The words for one target; the guard compares them with the drive that it opens.

        Raises TargetError and UsageError as parse_target does.
        """
        if names_simulated(target):
            return Consent()  # no user's data
        parsed = parse_target(target)
        if isinstance(parsed, FileTarget):
            return Consent(overwrite_file=self.overwrite_file)
        serial = serial_number(BlockDevice.of_node(parsed.path, roots)).value
        names = {str(parsed.path), os.path.realpath(parsed.path)}
        return Consent(
            confirm_serial=_own_word(self.serials, {serial}),
            confirm_device_path=_own_word(self.device_paths, names),
            erase_signatures=self.erase_signatures,
        )


def _own_word(words: tuple[str, ...], names: set[str | None] | set[str]) -> str | None:
    """The word that is one of the names, or else the first, so that the guard can say what it is not."""
    return next((word for word in words if word in names), words[0] if words else None)


Words = TypeVar("Words", StimulusWords, StopArgs, EngineArgs, ConsentArgs)


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@io_options
def io(targets: tuple[str, ...], as_json: bool, print_fio: bool = False, **options: Any) -> int:
    """Measure one stimulus, or the jobs of a fio job file, with every I/O timed. Only reads by default.

    TARGET is a drive such as /dev/nvme0n1, a file as file:PATH, or a simulated drive, new each time, as
    sim:PRESET?capacity=SIZE&scale=N&seed=N; several are measured at the same time. Reading needs no consent
    and changes nothing on the target. A --mix with writes, or trims, DESTROY DATA: existing data needs the
    same consent as a test, and file:PATH?size=SIZE creates a new scratch file. The first stop rule that
    applies ends the measurement.
    """
    if print_fio:
        return _print_fio(targets, options)
    results = MeasurementResults()
    orders = orders_of(targets, options)
    _make_capture_folder(options["capture"], targets)
    stream = sys.stderr if as_json else sys.stdout
    with following(stream, orders[0].options.interval_ns, len(orders)) as show:

        def on_event(event: MeasurementEvent) -> None:
            results.on_event(event)
            show(event)

        interrupted = options["alone"] and _measured_alone(orders, show, results)
        if not interrupted:
            interrupted = _measured(orders, on_event, results)
    results.print(sys.stdout, as_json=as_json)
    return _ending(results, interrupted=interrupted)


def orders_of(targets: tuple[str, ...], options: Mapping[str, Any]) -> list[MeasurementOrder]:
    """What the options ask for, once for each target. Raises UsageError where they make no sense."""
    if len(set(targets)) < len(targets):
        raise UsageError("a target is given twice: two engines on one target would disturb each other")
    engine = _words(EngineArgs, options)
    engine_options = engine.options()
    loads = _loads(targets, options, engine_options.interval_ns)
    consent = _words(ConsentArgs, options)
    seed = secrets.randbits(63) if options["seed"] is None else options["seed"]
    return [
        MeasurementOrder(
            target=target,
            steps=load.steps,
            options=engine_options,
            consent=consent.for_target(target, SystemRoots()) if load.changes_target else Consent(),
            pin_to_node=engine.pin_to_node,
            seed=seed,
            notes=load.notes,
        )
        for target, load in zip(targets, loads, strict=True)
    ]


def _loads(targets: tuple[str, ...], options: Mapping[str, Any], interval_ns: int) -> list[Translation]:
    """The steps for each target: those of a job file, or one of the stimulus that the options describe."""
    if options.get("fio_job") is not None:
        loads: list[Translation] = [service("fio-jobs").translation(target, options) for target in targets]
        for text in loads[0].ignored:
            click.echo(f"openpts: ignored: {text}", err=True)
        return loads
    if options.get("fio_values"):
        raise UsageError("--fio-value applies to --fio, which is missing")
    own = in_own_words(options)
    stimulus = _words(
        StimulusWords,
        own,
        placements={option: own[option.removeprefix("--")] for option in PLACEMENTS},
        pacings={option: own[option.removeprefix("--")] for option in PACINGS},
    ).stimulus()
    stop = _words(StopArgs, own).rule(interval_ns)
    captured = options["capture"] is not None
    step = Step.of(stimulus, stop, round(options["ramp"] * NS_PER_S), capture=captured)
    return [Translation((step,), (), ())] * len(targets)


def _words(kind: type[Words], options: Mapping[str, Any], **others: Any) -> Words:
    names = {field.name for field in fields(kind)} & options.keys()
    return kind(**{name: options[name] for name in names}, **others)


def _print_fio(targets: tuple[str, ...], options: Mapping[str, Any]) -> int:
    """Print the load as a job file instead of measuring it."""
    if len(targets) > 1:
        raise UsageError("--print-fio writes the job file of one target: name one")
    (order,) = orders_of(targets, options)
    text = service("fio-jobs").text(order)
    for note in order.notes:
        click.echo(f"openpts: note: {note}", err=True)
    click.echo(text, nl=False)
    return 0


def _make_capture_folder(folder: Path | None, targets: tuple[str, ...]) -> None:
    """The folder that takes every I/O; files that are in it stay. Raises UsageError and RecordError."""
    if folder is None:
        return
    if len(targets) > 1:
        raise UsageError("--capture records the I/Os of one target: name one")
    with failing_as(RecordError, f"can't create {folder}"):
        folder.mkdir(parents=True, exist_ok=True)


def _measured(
    orders: list[MeasurementOrder], on_event: MeasurementListener, results: MeasurementResults
) -> bool:
    """Measure, and say whether the operator ended it; without anything measured that is an error."""
    try:
        measure(orders, on_event)
    except InterruptedRunError:
        if not results.ended:
            raise
        return True
    return False


def _measured_alone(
    orders: list[MeasurementOrder], show: MeasurementListener, results: MeasurementResults
) -> bool:
    """Measure each stream without the others, one after the other; whether the operator ended it."""
    for of_one_stream in zip(*map(alone, orders), strict=True):

        def on_event(event: MeasurementEvent) -> None:
            results.hear_alone(event)
            show(event)

        if _measured(list(of_one_stream), on_event, results):
            return True
    return False


def _ending(results: MeasurementResults, *, interrupted: bool) -> int:
    """Say on stderr why it ended otherwise than it should, and return the exit code of that."""
    for failure in results.failures + results.lost_captures:
        click.echo(f"openpts: {failure}", err=True)
    if interrupted:
        click.echo("openpts: stopped by the operator", err=True)
        return InterruptedRunError.exit_code
    if results.failures:
        return RunFailedError.exit_code
    return RecordError.exit_code if results.lost_captures else 0
