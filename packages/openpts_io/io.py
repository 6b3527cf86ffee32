"""`openpts io`: one stimulus on one or several targets, measured at once."""

import secrets
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openpts.cli.options import OUTPUT, UsualFirst, flag, group, with_options
from openpts.device.nearby_cpus import NUMA
from openpts.errors import InterruptedRunError, RecordError, RunFailedError, UsageError, failing_as
from openpts.output_files import refuse_run_folder
from openpts.plugins import Kind, load, offers
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.translation import Translation
from openpts_io.io_options import IoArgs, in_own_words

if TYPE_CHECKING:
    from openpts_io.io_result import MeasurementResults
    from openpts_io.measure import MeasurementEvent, MeasurementListener, MeasurementRequest


@click.command(cls=UsualFirst)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@with_options
def io(
    targets: tuple[str, ...],
    *,
    args: IoArgs = group(IoArgs),
    as_json: bool = flag("Print one JSON object; the log is on stderr.", name="--json", usual=OUTPUT),
) -> int:
    """Measure one stimulus, or the jobs of a fio job file, with every I/O timed. Only reads by default.

    TARGET is a drive (/dev/nvme0n1), a file (file:PATH), or a new simulated drive
    (sim:PRESET?capacity=SIZE&scale=N&seed=N). Several are measured at once; a JOB.fio among them is the load.
    Reading needs no consent. Writes and trims DESTROY DATA: existing data needs the same consent as a test.
    file:PATH?size=SIZE creates a scratch file. The first stop rule met ends it.
    """
    from openpts_io.io_result import MeasurementResults, following  # noqa: PLC0415 help needs nothing that measures

    targets, args = _with_job_file(targets, args)
    orders = orders_of(targets, args)
    if args.fio is not None and args.fio.print_fio:
        if len(orders) > 1:
            raise UsageError("--print-fio writes the job file of one target: name one")
        text = load(offers(Kind.JOB_FILES)["fio"]).text(orders[0])
        for note in orders[0].notes:
            click.echo(f"openpts: note: {note}", err=True)
        click.echo(text, nl=False)
        return 0
    results = MeasurementResults()
    _make_capture_folder(args.engine.capture, targets)
    stream = sys.stderr if as_json else sys.stdout
    with following(stream, orders[0].options.interval_ns, len(orders)) as show:

        def on_event(event: "MeasurementEvent") -> None:
            results.on_event(event)
            show(event)

        interrupted = args.engine.alone and _measured_alone(orders, show, results)
        if not interrupted:
            interrupted = _measured(orders, on_event, results)
    results.print(sys.stdout, as_json=as_json)
    return _ending(results, interrupted=interrupted)


def _with_job_file(targets: tuple[str, ...], args: IoArgs) -> tuple[tuple[str, ...], IoArgs]:
    """A job file that is named beside the targets is that of --fio. Raises UsageError."""
    jobs = [one for one in targets if one.endswith(".fio") and Path(one).is_file()]
    if not jobs or args.fio is None:
        return targets, args
    others = tuple(one for one in targets if one not in jobs)
    if len(jobs) > 1 or args.fio.fio_job is not None:
        raise UsageError(f"{jobs[-1]} is a second job file: give one of them")
    if not others:
        raise UsageError(f"{jobs[0]} is a job file: add the target, as in `openpts io {jobs[0]} TARGET`")
    return others, replace(args, fio=replace(args.fio, fio_job=Path(jobs[0])))


def orders_of(targets: tuple[str, ...], args: IoArgs) -> "list[MeasurementRequest]":
    """What the options ask for, once for each target. Raises UsageError where they make no sense."""
    from openpts_io.measure import MeasurementRequest  # noqa: PLC0415 help needs nothing that measures

    if len(set(targets)) < len(targets):
        raise UsageError("a target is given twice: two engines on one target would disturb each other")
    options = args.engine.options()
    loads = _loads(targets, args, options.interval_ns)
    seed = secrets.randbits(63) if args.engine.seed is None else args.engine.seed
    return [
        MeasurementRequest(
            target=target,
            steps=load.steps,
            options=options,
            consent=args.consent.for_target(target, SystemRoots()) if load.changes_target else Consent(),
            pin_to_node=args.engine.cpus == NUMA,
            seed=seed,
            notes=load.notes,
        )
        for target, load in zip(targets, loads, strict=True)
    ]


def _loads(targets: tuple[str, ...], args: IoArgs, interval_ns: int) -> list[Translation]:
    """The steps for each target: those of a job file, or one of the stimulus that the options describe."""
    captured, fio = args.engine.capture is not None, args.fio
    if fio is not None and fio.fio_job is not None:
        translation = load(offers(Kind.JOB_FILES)["fio"]).translation
        loads: list[Translation] = [
            translation(target, fio.fio_job, fio.fio_values, captured=captured) for target in targets
        ]
        for text in loads[0].ignored:
            click.echo(f"openpts: ignored: {text}", err=True)
        return loads
    if fio is not None and fio.fio_values:
        raise UsageError("--fio-value applies to --fio, which is missing")
    own = in_own_words(args.load)
    step = Step.of(own.stimulus(), own.stop(interval_ns), round(own.ramp * NS_PER_S), capture=captured)
    return [Translation((step,), (), ())] * len(targets)


def _make_capture_folder(folder: Path | None, targets: tuple[str, ...]) -> None:
    """The folder that takes every I/O; files that are in it stay. Raises UsageError and RecordError."""
    if folder is None:
        return
    if len(targets) > 1:
        raise UsageError("--capture records the I/Os of one target: name one")
    refuse_run_folder(folder)
    with failing_as(RecordError, f"can't create {folder}"):
        folder.mkdir(parents=True, exist_ok=True)


def _measured(
    orders: "list[MeasurementRequest]", on_event: "MeasurementListener", results: "MeasurementResults"
) -> bool:
    """Measure, and say whether the operator ended it; without anything measured that is an error."""
    from openpts_io.measure import measure  # noqa: PLC0415 help needs nothing that measures

    try:
        measure(orders, on_event)
    except InterruptedRunError:
        if not results.ended:
            raise
        return True
    return False


def _measured_alone(
    orders: "list[MeasurementRequest]", show: "MeasurementListener", results: "MeasurementResults"
) -> bool:
    """Measure each stream without the others, one after the other; whether the operator ended it."""
    from openpts_io.measure import alone  # noqa: PLC0415 help needs nothing that measures

    for of_one_stream in zip(*map(alone, orders), strict=True):

        def on_event(event: "MeasurementEvent") -> None:
            results.hear_alone(event)
            show(event)

        if _measured(list(of_one_stream), on_event, results):
            return True
    return False


def _ending(results: "MeasurementResults", *, interrupted: bool) -> int:
    """Say on stderr why it ended otherwise than it should, and return the exit code of that."""
    for failure in results.failures + results.lost_captures:
        click.echo(f"openpts: {failure}", err=True)
    if interrupted:
        click.echo("openpts: stopped by the operator", err=True)
        return InterruptedRunError.exit_code
    if results.failures:
        return RunFailedError.exit_code
    return RecordError.exit_code if results.lost_captures else 0
