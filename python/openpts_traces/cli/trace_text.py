"""What came of traces, as lines and as an object; and a line of progress."""

import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

import click

from openpts.cli.printed_document import print_document
from openpts.cli.terminal import draw_over, wrapped
from openpts.escaped_text import visible
from openpts.units import NS_PER_S
from openpts.vocabulary.document import Document
from openpts_traces import treatment
from openpts_traces.treatment import Count, Damage, Gap, Header, Treated

DAMAGED_EXIT_CODE: Final = 11
"""Records were damaged or lost, and the others were used."""

_REDRAW_S: Final = 0.2
_MOST_DEVICES: Final = 20


class TraceDocument(Document, frozen=True, kw_only=True, tag="openpts.trace/1"):
    """What came of a trace: ``out`` is the file that was written, ``losses`` what it has no place for.

    ``clean``: no record was damaged or lost. ``meaning`` is that of the class of its times, in words.
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
    header: Header


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
