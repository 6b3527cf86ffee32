"""`openpts capture`: record what reaches a device, while other programs use it."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from openpts.cli.options import FILE, FiniteRange, argument, flag, option, with_options
from openpts.cli.standard_streams import print_document
from openpts.errors import RefusedError, UsageError
from openpts.journal import Journal
from openpts.output_files import refuse_run_folder
from openpts.runner.healing import heal
from openpts.runner.stop_signals import StopSignals
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S, format_capacity, format_duration
from openpts.vocabulary.document import Document
from openpts_traces.capture.capture import CaptureRequest, CaptureResult, OnEvent, capture, measure_cost
from openpts_traces.capture.leftovers import BLOCK_TRACE
from openpts_traces.capture.program import RunningProgram
from openpts_traces.capture.way import CapturedDevice, captured_devices, device_of_file

_LEVELS: Final = ("queue", "issue")
_COMMAND: Final = "openpts.capture.command"
_WAYS: Final = ("blktrace", "tracefs")


class Captured(Document, frozen=True, kw_only=True, tag="openpts.capture/1"):
    """What was captured, by which way to the kernel's events, and which ways could not be used.

    ``cpu_share`` is of one processor, 1 for all of its time. ``notes`` are by subject.
    """

    way: str
    missing: tuple[str, ...]
    buffer_kib: int
    seconds: float
    summary: dict[str, int]
    cpu_share: float
    notes: dict[str, str]
    file: str
    level: str
    devices: tuple[str, ...]
    file_bytes_per_hour: int


class _BeforeCommand(click.Command):
    """What follows ``--`` is a command of its own, and kept apart."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[_COMMAND] = args[:at], args[at + 1 :]
        return super().parse_args(ctx, args)


@click.command("capture", cls=_BeforeCommand)
@with_options
@click.pass_context
def capture_command(  # long: its parameters are the options
    context: click.Context,
    *,
    devices: tuple[str, ...] = argument("DEVICE... [-- COMMAND...]", nargs=-1, required=True),
    seconds: float | None = option(
        "SECONDS",
        "Stop after this time. [default: when COMMAND ends, or at Ctrl-C]",
        FiniteRange(0, 100_000_000, min_open=True),
    ),
    level: str | None = option(
        "",
        "Capture I/Os as they arrive (queue), or requests as the driver gets them (issue). [default: issue, "
        "and queue for devices made of others]",
        click.Choice(_LEVELS),
    ),
    out: Path = option("", "File of the capture, on another device.", FILE, default=Path("capture.parquet")),
    process_names: str | None = option(
        "",
        "Keep names of processes, hashed with a salt that is forgotten, or as they are.",
        click.Choice(("hashed", "plain")),
    ),
    way: str | None = option(
        "", "Use only this way to the kernel's events. [default: the first there is]", click.Choice(_WAYS)
    ),
    buffer_kib: int | None = option(
        "--buffer KIB",
        "Buffer of each processor in the kernel. [default: by the present rate of I/Os]",
        click.IntRange(4, 1 << 20),
    ),
    allow_self: bool = flag("Allow the file on a captured device; its I/Os are marked by process."),
    measure_cost: bool = flag(
        "Measure what capturing costs: the same random reads without, with and without it."
    ),
    as_json: bool = flag("Print one JSON object; the log goes to stderr.", name="--json"),
) -> int:
    """Capture the I/O that reaches block devices while COMMAND, or any other program, uses them.

    Only reads the kernel's events: times, places, lengths and processes, never data. The file holds every
    I/O. Needs root. Several devices are captured at once; of a partition
    its own part of the disk.
    """
    roots, journal = SystemRoots(), Journal.of_machine()
    captured = captured_devices([Path(node) for node in devices], roots)
    request = CaptureRequest(
        captured,
        out.absolute(),
        _level(level, captured),
        process_names or "none",
        buffer_kib,
        _WAYS if way is None else (way,),
        allow_self,
    )
    _check_file(request, roots)

    def say(text: str) -> None:
        click.echo(text, err=True)

    for healing in heal(journal, roots, {BLOCK_TRACE}):
        say(f"note: {healing.text}")
    if measure_cost:
        return _print_cost(request, journal, roots, seconds, as_json)
    program = RunningProgram(context.meta.get(_COMMAND, ()))
    with StopSignals() as stop, program:
        until = _until(seconds, program, stop)
        result = capture(request, journal, roots, until, on_event=_progress(say), begun=program.start)
    _print_result(request, result, as_json)
    return program.status


def _level(level: str | None, devices: tuple[CapturedDevice, ...]) -> str:
    made = [device.block.node for device in devices if not device.has_requests]
    if level == "issue" and made:
        raise UsageError(f"--level issue: {made[0]} passes I/Os on and has no requests: use --level queue")
    return level or ("queue" if made else "issue")


def _check_file(request: CaptureRequest, roots: SystemRoots) -> None:
    if request.file.exists():
        raise UsageError(f"{request.file} exists: name another file with --out")
    refuse_run_folder(request.file)
    if not request.file.parent.is_dir():
        raise UsageError(f"{request.file.parent} is no folder: make it, or name another with --out")
    own = device_of_file(request.devices, request.file, roots)
    if own is not None and not request.marks_itself:
        raise RefusedError(
            f"{request.file} is on {own.node}, which is to be captured: its own I/O would be in the capture. "
            "Name a file on another device with --out, or accept that with --allow-self"
        )


def _until(seconds: float | None, program: RunningProgram, stop: StopSignals) -> Callable[[], bool]:
    end_s = None if seconds is None else time.monotonic() + seconds

    def continues() -> bool:
        is_over = end_s is not None and time.monotonic() >= end_s
        return not (stop.wished or is_over or program.has_ended())

    return continues


def _progress(say: Callable[[str], None]) -> OnEvent:
    lost, is_terminal = 0, sys.stderr.isatty()

    def on_event(seconds: float, summary: dict[str, int]) -> None:
        nonlocal lost
        if summary["lost"] > lost:
            say(f"warning: {summary['lost'] - lost:,} events lost: the kernel's buffer was full (--buffer)")
            lost = summary["lost"]
        if is_terminal:
            line = f"{seconds:8.0f} s  {summary['ios']:,} I/Os  {format_capacity(summary['bytes'])}"
            say(f"{line}  {summary['in_flight']} in flight  {lost:,} lost")

    return on_event


def _print_result(request: CaptureRequest, result: CaptureResult, as_json: bool) -> None:
    summary = result.summary
    per_hour = summary["file_bytes"] / max(result.seconds, 1e-9) * 3600
    if as_json:
        devices = tuple(str(device.block.node) for device in request.devices)
        place = {"file": str(request.file), "level": request.level, "file_bytes_per_hour": round(per_hour)}
        print_document(Captured.of(result, devices=devices, **place))
        return
    nodes = ", ".join(str(device.block.node) for device in request.devices)
    ios = f"{summary['ios']:,} I/Os, {format_capacity(summary['bytes'])}"
    click.echo(
        f"{nodes}: {ios} in {format_duration(round(result.seconds * NS_PER_S))}, {request.level} level"
    )
    click.echo(f"way: {result.way}, {result.buffer_kib:,} KiB for each processor")
    for missing in result.missing:
        click.echo(f"note: not used: {missing}")
    click.echo(
        f"in flight: {summary['began_before']:,} at the start, {summary['in_flight']:,} at the end; "
        f"failed: {summary['failed']:,}; lost: {summary['lost']:,} events"
    )
    for subject in ("suspended", "clock", "own I/O"):
        if subject in result.notes:
            click.echo(f"note: {result.notes[subject]}")
    click.echo(
        f"cost: {result.cpu_share:.1%} of a processor, {format_capacity(round(per_hour))} per hour; "
        f"{request.file}, {format_capacity(summary['file_bytes'])}"
    )


def _print_cost(
    request: CaptureRequest, journal: Journal, roots: SystemRoots, seconds: float | None, as_json: bool
) -> int:
    cost = measure_cost(request, journal, roots, seconds or 5.0)
    if as_json:
        print_document(cost)
        return 0
    click.echo(f"{'':<10}{'IOPS':>12}{'p99 us':>12}{'CPU us/IO':>12}")
    for name, phase in (("without", cost.before), ("with", cost.during), ("without", cost.after)):
        click.echo(f"{name:<10}{phase.iops:>12,.0f}{phase.p99_us:>12,.1f}{phase.cpu_us_per_io:>12.2f}")
    click.echo(
        f"cost: IOPS {-cost.iops_loss:+.1%}, p99 {cost.p99_gain_us:+,.1f} us, "
        f"CPU {cost.cpu_gain_us:+.2f} us per I/O; lost: {cost.lost:,} events; "
        f"the capture itself: {cost.cpu_share:.1%} of a processor"
    )
    return 0
