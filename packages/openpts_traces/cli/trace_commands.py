"""`openpts trace check` and `convert`: options, the commands, and what they print."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import click

from openpts.cli.options import FILE, NEW_FILE, FiniteRange, argument, flag, group, option, with_options
from openpts.cli.standard_streams import draw_over, print_document, wrapped
from openpts.errors import TraceError, UsageError
from openpts.escaped_text import visible
from openpts.plugins import Kind, load, offers
from openpts.units import KIB, MB, NS_PER_S, format_capacity, format_significant
from openpts.vocabulary.document import Document
from openpts_traces import treatment
from openpts_traces.recipes import shipped_hint
from openpts_traces.treatment import (
    STDIN,
    Count,
    Damage,
    Gap,
    Input,
    OpenOptions,
    PoissonSpread,
    RandomSpread,
    ReadOptions,
    TraceFigures,
    TraceHeader,
    Treated,
    Within,
    outputs,
    write,
)
from openpts_traces.treatment import check as check_trace

ANY_ORDER: Final = "any"
_HIGHEST_REORDER_S: Final = 1e9


def _known_names(_context: click.Context, _argument: click.Parameter, value: tuple[str, ...]) -> Any:
    """Words that name traces. Raises TraceError for one that ships and is typed in another way."""
    for word in value:
        if not Path(word).exists() and (hint := shipped_hint(word)):
            raise TraceError(f"can't read {word}: there is no such file; {hint}")
    return value


PATHS: Final = argument("TRACE...", name="paths", nargs=-1, required=True, callback=_known_names)
DEVICES: Final = option(
    "--device NAME", "Take the I/Os of this device; may be repeated.", name="devices", multiple=True
)
AS_JSON: Final = flag("Print one JSON object.", name="--json as_json")


@dataclass(frozen=True, slots=True)
class ReadArgs:
    """How a trace is read."""

    format_: str | None = option(
        "--format NAME", "Read this format. [default: by the contents]", name="format_"
    )
    level: str | None = option(
        "",
        "Take what arrived at the block layer, or what went to the drive. [default: by the trace]",
        click.Choice(["queue", "issue"]),
    )
    columns: Path | None = option(
        "FILE|NAME", "Read a text by this column map (TOML), or by that of a plug-in.", FILE
    )
    unknown_direction: str = option(
        "", "Treat I/Os without a direction so.", click.Choice(["skip", "read", "write"]), default="skip"
    )
    segments: str = option(
        "",
        "Treat a log whose clock begins again so.",
        click.Choice(["refuse", "concatenate", "merge"]),
        default="refuse",
    )
    iolog2_wait: str = option(
        "",
        "Read waits of fio's iolog version 2 as fio does, or as its manual says.",
        click.Choice(["code", "manual"]),
        default="code",
    )
    spread: str = option(
        "",
        "Place I/Os of one coarse time evenly in its tick, all at its start, or at random.",
        click.Choice(["even", "burst", "poisson"]),
        default="even",
    )
    seed: int = option("N", "Seed of --spread poisson.", click.IntRange(0, 2**63 - 1), default=1)
    reorder: str = option(
        "SECONDS", "Sort I/Os that are out of order by up to so much, or `any`, on disk.", default="1"
    )
    damaged_limit: float = option(
        "PCT", "Refuse a trace with a larger share of damaged records.", FiniteRange(0, 100), default=0.1
    )

    def options(self, devices: tuple[str, ...] = ()) -> OpenOptions:
        """What they say. Raises UsageError, and TraceError for a column map that can't be read."""
        return OpenOptions(
            format=self.format_ or (None if self.columns is None else "columns"),
            read=ReadOptions(
                level=self.level,
                unknown_direction=self.unknown_direction,
                segments=self.segments,
                iolog2_wait_as_manual=self.iolog2_wait == "manual",
                column_map=None if self.columns is None else _text(self.columns),
                spread=RandomSpread(PoissonSpread(self.seed)) if self.spread == "poisson" else self.spread,
            ),
            reorder=_reorder(self.reorder),
            devices=devices,
            damaged_limit=self.damaged_limit / 100,
        )


def _reorder(text: str) -> Within | str:
    if text == ANY_ORDER:
        return ANY_ORDER
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _HIGHEST_REORDER_S:
        raise UsageError(f"invalid --reorder {text!r}: write seconds, such as 1 or 0.5, or {ANY_ORDER}")
    return Within(round(seconds * NS_PER_S))


def _text(path: Path) -> str:
    """The column map in the file, or of the plug-in that has one of that name."""
    offer = None if path.exists() else offers(Kind.TRACE_FORMAT).get(str(path))
    if offer is not None:
        return str(load(offer))
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"can't read the column map {path}: {error}") from error


def named(paths: tuple[str, ...]) -> str:
    """The files of a trace, for messages."""
    names = ["standard input" if path == STDIN else path for path in paths]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


DAMAGED_EXIT_CODE: Final = 11
"""Records were damaged or lost, and the others were used."""

_REDRAW_S: Final = 0.2
_MOST_DEVICES: Final = 20


class TraceDocument(Document, frozen=True, kw_only=True, tag="openpts.trace/1"):
    """What came of a trace: ``out`` is the file that was written, ``losses`` what it has no place for.

    ``clean``: no record was damaged or lost. ``meaning`` is that of the class of its times, in words.
    ``figures`` are there where nothing was written.
    """

    trace: str
    out: str | None
    clean: bool
    ios: Count
    losses: dict[str, Count]
    damages: tuple[Damage, ...]
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]
    meaning: str
    figures: TraceFigures | None
    header: TraceHeader


class ProgressLine:
    """How many I/Os there are so far, in one line that is drawn over; nothing where none can be."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._drawn_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __call__(self, ios: int) -> None:
        """Draw the line again, if it is time."""
        now_s = time.monotonic()
        if now_s - self._drawn_s >= _REDRAW_S:
            self._drawn_s = now_s
            rate = ios / max(now_s - self._began_s, _REDRAW_S)
            draw_over(sys.stderr, f"{ios:,} I/Os, {rate:,.0f}/s")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn_s:
            draw_over(sys.stderr)


def show(treated: Treated, name: str, out: str | None, *, as_json: bool) -> int:
    """Print what came of a trace, and return the exit status."""
    if as_json:
        print_document(TraceDocument.of(treated, trace=name, out=out, clean=treated.is_clean), indent=None)
    else:
        for line in _lines(treated, name, out):
            click.echo(wrapped(visible(line), sys.stdout, indent=f"{'':10}"))
    return 0 if treated.is_clean else DAMAGED_EXIT_CODE


def _lines(treated: Treated, name: str, out: str | None) -> Iterator[str]:
    header = treated.header
    label = treatment.formats().get(header.format)
    yield f"trace     {name}"
    yield f"format    {header.format}{f': {label}' if label else ''}; level: {header.level}"
    yield f"class     {header.class_}: {treated.meaning}"
    devices = header.devices[:_MOST_DEVICES]
    more = len(header.devices) - len(devices)
    yield f"devices   {', '.join(device.name for device in devices)}{f', and {more} more' if more else ''}"
    for change in header.changes:
        yield f"changed   {change.done}"
    yield from _records(treated)
    yield from (f"warning   {warning}" for warning in treated.warnings)
    yield f"I/Os      {treated.ios:,}"
    if treated.figures is not None and treated.ios:
        yield from _figures(treated.figures, treated.ios)
    if out is not None:
        for what, ios in treated.losses.items():
            yield f"not kept  {what} ({ios:,})"
        yield f"written   {out}"


def _records(treated: Treated) -> Iterator[str]:
    records = treated.header.records
    yield (
        f"records   {records.read:,} read = {records.accepted:,} accepted "
        f"+ {records.skipped_total:,} skipped + {records.damaged_total:,} damaged"
    )
    yield from (f"skipped   {count:,}: {what}" for what, count in records.skipped.items())
    yield from (f"damaged   {count:,}: {what}" for what, count in records.damaged.items())
    yield from (f"at        {damage.place} of {damage.file}: {damage.what}" for damage in treated.damages)
    if records.lost:
        yield f"lost      {records.lost:,} by the source itself"
    for gap in treated.gaps:
        yield (
            f"gap       {gap.records:,} on processor {gap.cpu}, from {gap.from_ns / NS_PER_S:.9f} "
            f"to {gap.to_ns / NS_PER_S:.9f} s"
        )
    yield from (f"note      {count:,}: {what}" for what, count in records.notes.items())


def _figures(figures: TraceFigures, ios: int) -> Iterator[str]:
    operations = figures.operations
    moved_bytes = sum(operations[name].bytes for name in ("read", "write") if name in operations)
    transfers = sum(operations[name].ios for name in ("read", "write") if name in operations)
    yield f"bytes     {format_capacity(moved_bytes)} read or written"
    mix = (
        f"{name.replace('_', ' ')} {one.ios / ios:.1%}, {format_capacity(one.bytes)}"
        for name, one in operations.items()
    )
    yield f"mix       {'; '.join(mix)}"
    sizes = ", ".join(f"{size / KIB:g} KiB {count / transfers:.1%}" for size, count in figures.sizes)
    if sizes:
        yield f"sizes     {sizes}"
    seconds = figures.span_ns / NS_PER_S
    yield f"span      {format_significant(seconds)} s, from the first issue to the last"
    if seconds:
        yield (
            f"rate      {ios / seconds:,.0f} I/Os and {moved_bytes / MB / seconds:,.1f} MB per second; "
            f"{figures.most_in_a_second:,} I/Os in the busiest second"
        )
    depth = figures.depth
    yield f"depth     {'unknown' if depth is None else f'{depth.mean:.2f} in flight, at most {depth.max:,}'}"
    if figures.sequential:
        shares = ", ".join(f"{share:.1%} of {name}s" for name, share in figures.sequential.items())
        yield f"in order  {shares} continue one of the last 32 runs"
    if figures.hottest_share is not None:
        error = f" within {figures.footprint_error:.1%}" if figures.footprint_error else ""
        yield f"footprint {format_capacity(figures.footprint_bytes)}{error}, in blocks of 4 KiB"
        yield f"hottest   {figures.hottest_share:.1%} of accesses go to 1 % of these blocks"


@click.command()
@with_options
def check(
    *,
    paths: tuple[str, ...] = PATHS,
    devices: tuple[str, ...] = DEVICES,
    read: ReadArgs = group(ReadArgs),
    as_json: bool = AS_JSON,
) -> int:
    """Read the files of a trace, in this order, and count its records: read = accepted + skipped + damaged.

    Prints the format, where in the stack the trace was taken, the class of its times (A to D, X) and its
    devices. Prints what is damaged with file and line or byte. Prints I/Os and bytes by operation, sizes,
    span, rate, queue depth, sequential share, footprint, hottest per cent. Exits with 11 if
    records are damaged or lost, and with 12 if the trace is refused.
    """
    with ProgressLine() as progress:
        treated = check_trace(Input(paths, read.options(devices)), progress)
    return show(treated, named(paths), None, as_json=as_json)


@click.command()
@with_options
def convert(
    *,
    paths: tuple[str, ...] = PATHS,
    out: Path = option(
        "-o --out FILE", "Write this file, which must not be there yet.", NEW_FILE, required=True
    ),
    to: str = option(
        "--to",
        "Write this format; openpts is the canonical form.",
        click.Choice(outputs()),
        default="openpts",
    ),
    devices: tuple[str, ...] = DEVICES,
    read: ReadArgs = group(ReadArgs),
    as_json: bool = AS_JSON,
) -> int:
    """Write the files of a trace, in this order, as one file in another format.

    What that format has no place for is listed. A trace that is refused leaves no file.
    """
    with ProgressLine() as progress:
        treated = write(Input(paths, read.options(devices)), to, out, progress)
    return show(treated, named(paths), str(out), as_json=as_json)
