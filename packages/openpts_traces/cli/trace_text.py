"""What came of a trace, as lines and as an object; and a line of progress."""

import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

import click

from openpts.cli.printed_document import print_document
from openpts.cli.terminal import draw_over, wrapped
from openpts.escaped_text import visible
from openpts.units import KIB, MB, NS_PER_S, format_capacity, format_significant
from openpts.vocabulary.document import Document
from openpts_traces import treatment
from openpts_traces.treatment import Count, Damage, Gap, TraceFigures, TraceHeader, Treated

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
