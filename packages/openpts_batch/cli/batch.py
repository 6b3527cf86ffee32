"""A run on several drives at once: `openpts run TEST DRIVE DRIVE...`, and what resumes and reports it."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

import click
from msgspec.structs import replace as changed

from openpts.cli.consent_options import popped
from openpts.cli.console import table_console, table_of
from openpts.cli.detach import begun
from openpts.cli.folder_events import background_listener
from openpts.cli.live_outputs import log_stream
from openpts.cli.procedure_options import choices_of, own_words
from openpts.cli.report import documents_on
from openpts.cli.run_settings import settings_of
from openpts.cli.standard_streams import print_document
from openpts.device.ata_identify import serial_number
from openpts.device.block_device import BlockDevice, whole_drives
from openpts.errors import (
    InterruptedRunError,
    OpenptsError,
    RecordError,
    RunFailedError,
    TargetError,
    UsageError,
)
from openpts.procedures.kit.procedure import Procedure
from openpts.record.batch import (
    DONE,
    INDEX_NAME,
    Batch,
    BatchEntry,
    Suite,
    counts_text,
    is_batch,
    read_batch,
    write_batch,
)
from openpts.record.manifest import RunState
from openpts.record.writer import RunWriter
from openpts.runner.driver import what_is_kept
from openpts.runner.event_lines import RunStartedLine
from openpts.system_files import SystemRoots
from openpts.vocabulary.bandwidth import MemoryBandwidth
from openpts.vocabulary.document import Document
from openpts.vocabulary.purge import Consent
from openpts_batch.batch_index import write_batch_index
from openpts_batch.chosen_drives import ChosenDrive, WrittenDrive, chosen_drives, named_drives, refuse_any
from openpts_batch.cli.batch_display import OF_EACH_RUN, batch_outputs, batch_shown_on
from openpts_batch.executor import BatchEvent, EntryOutput, Executor, batch_claimed, what_is_left
from openpts_batch.side_by_side import SideBySide, new_batch
from openpts_compare.cli.run_limits import RunLimits

_OF_THE_BATCH: Final = (
    "--drives",
    "--stagger",
    "--at-most",
    "--out",
    "--json",
    "--no-report",
    "--confirm-serial",
    "--confirm-device-path",
    *OF_EACH_RUN,
)


class BatchDocument(Document, frozen=True, kw_only=True, tag="openpts.batch/1"):
    """The runs of a batch in ``folder``, as in batch.json; ``suite`` is of several tests on one drive."""

    folder: str
    batch_id: str
    command_line: tuple[str, ...]
    started_at: str
    ended_at: str | None
    at_most: int | None
    stagger_s: float
    host_limits: tuple[str, ...]
    memory: MemoryBandwidth | None
    entries: tuple[BatchEntry, ...]
    suite: Suite | None
    reports: tuple[str, ...]
    report_reason: str | None


def run_asked(
    test: Procedure,
    options: dict[str, Any],
    limits: RunLimits | None,
    *,
    targets: tuple[str, ...],
    drives: str | None,
    stagger_s: float,
    at_most: int | None,
    as_json: bool,
    no_report: bool,
) -> None:
    """Run the test on several drives, each a run of its own in a folder of the batch's.

    Raises RefusedBatchError before anything has started, and at the end the error of the drives that failed.
    """
    stream, roots = log_stream(as_json=as_json), SystemRoots()
    test_words = (test.name, *own_words(test, options, _OF_THE_BATCH))
    if options.get("run_id") is not None:
        raise UsageError("--run-id is for a single drive: each run has an ID of its own")
    agreed = popped(options)
    chosen = _chosen(named_drives(targets, drives, roots), agreed, roots, stream)
    choices = choices_of(test, options)
    for one in chosen:
        settings = settings_of(one.name, choices, Consent(), **options)
        if limits is not None:
            limits.ordered(settings, test)
        settings.requested_conditions(test)
    batch = new_batch(
        [one.request(test_words) for one in chosen],
        at_most=at_most,
        stagger_s=stagger_s,
        command_line=sys.argv[1:],
    )
    out: Path | None = options["out"]
    folder = out or Path("openpts-runs") / f"batch-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{test.name}"
    RunWriter.check_free(folder)
    runner = SideBySide(folder=folder, batch=batch, tune=settings.scenario if settings.tune else None)
    _carry_out(runner, stream, as_json=as_json, no_report=no_report)


def _chosen(
    named: Iterable[WrittenDrive], agreed: dict[str, Any], roots: SystemRoots, stream: IO[str]
) -> list[ChosenDrive]:
    """The drives, listed. Raises RefusedBatchError if one is refused."""
    serials: tuple[str, ...] = agreed.pop("confirm_serials")
    paths: tuple[str, ...] = agreed.pop("confirm_device_paths")
    chosen = chosen_drives(named, Consent(**agreed), serials, paths, roots)
    _print_drives(chosen, stream)
    refuse_any(chosen, serials, paths)
    return chosen


def _print_drives(chosen: Sequence[ChosenDrive], stream: IO[str]) -> None:
    table = table_of(">#", "Drive", "Slot", "Model", "=Serial", "=To test?", left_out=("Slot", "Model"))
    for number, one in enumerate(chosen, start=1):
        slot = one.written.slot if one.drive is None else one.drive.slot
        table.add_row(str(number), one.name, slot or "-", one.model or "-", one.serial or "-", one.verdict)
    table_console(stream).print(table)


def print_prospect(targets: Sequence[str], stream: IO[str]) -> None:
    """Which of these drives can be tested, on what processors, and what of this host would limit them."""
    chosen = chosen_drives(named_drives(targets, None, SystemRoots()), Consent(), (), (), SystemRoots())
    _print_drives(chosen, stream)
    located = [one for one in chosen if one.drive is not None]
    runner = SideBySide(folder=Path(), batch=new_batch([one.request(("",)) for one in located]))
    runner.locate(measured=False)
    _print_host(runner, stream)


def _print_host(runner: SideBySide, stream: IO[str]) -> None:
    if runner.shares is not None:
        for line in runner.shares.words():
            click.echo(line, file=stream)
    for limit in runner.batch.host_limits:
        click.echo(f"this host limits them: {limit}", file=stream)
    if runner.batch.memory is not None:
        click.echo(f"memory: {runner.batch.memory}", file=stream)


def _carry_out(runner: SideBySide, stream: IO[str], *, as_json: bool, no_report: bool) -> None:
    runner.report = None if no_report else documents_on
    runner.locate(measured=True)
    _print_host(runner, stream)
    try:
        batch = run_shown(runner, stream)
    except KeyboardInterrupt:
        if all(entry.state in DONE for entry in runner.batch.entries):
            raise InterruptedRunError(
                f"stopped by the operator: `openpts report {runner.folder}` makes the reports"
            ) from None
        raise
    finally:
        if is_batch(runner.folder):
            write_batch_index(runner.folder, runner.batch)
    if as_json:
        print_document(BatchDocument.of(batch, folder=str(runner.folder)))
    index = runner.folder / INDEX_NAME
    counts = counts_text([entry.state for entry in batch.entries], batch.kind)
    click.echo(f"{counts}\nindex: {index}", file=stream)
    _end(batch, runner.folder, stopped=runner.stopped)


def run_shown(runner: Executor, stream: IO[str]) -> Batch:
    """Carry out a batch, shown on the stream and to what other programs read of it."""
    with (
        batch_outputs(runner.batch.entries) as (publish, output_words),
        background_listener(batch_shown_on(stream, runner.batch)) as show,
    ):

        def on_event(event: BatchEvent) -> None:
            if isinstance(event, EntryOutput) and isinstance(event.event, RunStartedLine):
                begun(runner.folder)
            publish(event)
            show(event)

        runner.listener = on_event
        if isinstance(runner, SideBySide):
            runner.output_words = output_words
        return runner.run()


def _end(batch: Batch, folder: Path, *, stopped: bool) -> None:
    """Raises the error whose exit code the drives' runs ended with, RunFailedError if there are several."""
    if stopped:
        raise InterruptedRunError(f"stopped by the operator; {what_is_kept(folder)}")
    failed = [entry for entry in batch.entries if entry.exit_code or entry.state is not RunState.COMPLETE]
    if not failed:
        return
    codes = {entry.exit_code for entry in failed}
    kind = _error_of(codes.pop()) if len(codes) == 1 else RunFailedError
    first = failed[0]
    raise kind(
        f"{len(failed)} of {len(batch.entries)} runs did not end well: {first.folder}: {first.reason}; "
        f"{folder / INDEX_NAME} lists the state of each"
    )


def _error_of(code: int | None) -> type[OpenptsError]:
    """The class of errors with an exit code; that of failed runs for a process that was killed."""
    classes: list[type[OpenptsError]] = [OpenptsError]
    for one in classes:
        if one.exit_code == code:
            return one
        classes += one.__subclasses__()
    return RunFailedError


def resume_batch(
    folder: Path,
    agreed: dict[str, Any],
    accepted: Mapping[str, bool],
    stream: IO[str],
    *,
    no_report: bool,
    as_json: bool,
) -> None:
    """Continue the drives that are not done. Raises RecordError if none is left, or another does so."""
    roots = SystemRoots()
    with batch_claimed(folder, read_batch(folder), roots):
        runner = _what_is_left(folder, agreed, accepted, roots, stream)
        _carry_out(runner, stream, as_json=as_json, no_report=no_report)


def _what_is_left(
    folder: Path, agreed: dict[str, Any], accepted: Mapping[str, bool], roots: SystemRoots, stream: IO[str]
) -> SideBySide:
    """What carries out the drives that are not done. Raises RecordError if none is left."""
    batch = read_batch(folder)
    entries = list(what_is_left(folder, batch).entries)
    left = [index for index, entry in enumerate(entries) if entry.state not in DONE]
    if not left:
        write_batch(folder, changed(batch, entries=tuple(entries)))
        failed = [folder / entry.folder for entry in entries if entry.state is RunState.FAILED]
        alone = f"; a run that failed is resumed alone: `openpts resume {failed[0]}`" if failed else ""
        raise RecordError(f"{folder} has come to its end: no drive is left to resume{alone}")
    requests = [entries[index].request for index in left]
    named = [
        WrittenDrive(target=_where_now(entries[index], roots), slot=entries[index].request.slot)
        for index in left
    ]
    chosen = _chosen(named, agreed, roots, stream)
    for index, one, before in zip(left, chosen, requests, strict=True):
        request = changed(before, target=one.name)
        entries[index] = changed(entries[index], request=request, state=RunState.WAITING)
    batch = changed(batch, entries=tuple(entries), ended_at=None)
    # the options that each run that continues gets
    agreed_to = {**accepted, **{name: agreed[name] for name in ("erase_signatures", "overwrite_file")}}
    resume_words = tuple(f"--{name.replace('_', '-')}" for name, said in agreed_to.items() if said)
    return SideBySide(folder=folder, batch=batch, resume_words=resume_words)


def _where_now(entry: BatchEntry, roots: SystemRoots) -> str | None:
    """The target of a run; of a drive that has another node since, that one."""
    target, serial = entry.request.target, entry.request.serial
    if target is None or serial is None or not target.startswith(str(roots.dev)):
        return target
    with suppress(TargetError):
        if serial_number(BlockDevice.of_node(Path(target), roots)).value == serial:
            return target
    return next(
        (str(disk.node) for disk in whole_drives(roots) if serial_number(disk).value == serial), target
    )
