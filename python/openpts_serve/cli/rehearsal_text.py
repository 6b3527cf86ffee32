"""What a rehearsal has found, in lines and as one JSON object."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final, Literal, Self

import click
from msgspec import Struct

from openpts.cli.verdict_lines import cycle_line
from openpts.simulation.scale import ScaleConcern
from openpts.units import MB, format_capacity, format_duration
from openpts.vocabulary.document import Document
from openpts.vocabulary.requests import CycleFinished
from openpts_serve.rehearsal.datasheet import Promise
from openpts_serve.rehearsal.plan_warnings import PlanConcern
from openpts_serve.rehearsal.rehearse import Rehearsal

_PROMISES: Final = {
    "random_write_iops": "4 KiB random write",
    "random_read_iops": "4 KiB random read",
    "sequential_write_bytes_per_s": "sequential write",
    "sequential_read_bytes_per_s": "sequential read",
}


def print_rehearsal(stream: IO[str], rehearsal: Rehearsal, reports: Sequence[Path]) -> None:
    """What to expect, a fact a line."""
    for line in _rehearsal_lines(rehearsal, reports):
        click.echo(line, file=stream)


def _rehearsal_lines(rehearsal: Rehearsal, reports: Sequence[Path]) -> Iterator[str]:
    """The lines: the drive, its expected run, and what would not work."""
    subject = rehearsal.subject
    yield ""
    yield f"rehearsed    {subject.name}, {format_capacity(subject.capacity_bytes)}"
    yield f"on           {rehearsal.target}: {subject.reason}"
    yield f"takes        {_duration_text(rehearsal)}"
    yield (
        f"writes       {format_capacity(rehearsal.written_bytes)}, {rehearsal.drive_writes:.1f} drive writes"
        f", {_tbw_text(rehearsal)}"
    )
    for number, cycle in enumerate(rehearsal.cycles, start=1):
        yield f"steady       {cycle_line(number, cycle, rehearsal.run.manifest.conditions)}"
    for promise in rehearsal.promises:
        yield f"promise      {_promise_text(promise)}"
    for concern in rehearsal.plan_concerns:
        yield f"PLAN         {concern.subject}: {concern.message}"
    if not rehearsal.plan_concerns:
        yield "plan         no problem found"
    for of_scale in rehearsal.scale_concerns:
        yield f"rehearsal    {of_scale.subject}: {of_scale.message}"
    for path in reports:
        yield f"report       {path}"


class RehearsedCycle(Struct, frozen=True):
    """What became of a cycle; ``title`` names it where a test has several.

    ``steady_round`` is None where none was steady; ``ended_by`` says which of several rules ended it.
    """

    title: str
    steady_round: int | None
    last_round: int
    ended_by: str

    @classmethod
    def of(cls, finished: CycleFinished) -> Self:
        """A cycle of the rehearsed run."""
        outcome = finished.outcome
        return cls(finished.title, outcome.steady_round, outcome.last_round, outcome.ended_by)


class RehearsalDocument(Document, frozen=True, kw_only=True, tag="openpts.rehearsal/1"):
    """The same for machines; times in ns, shares as parts of one, None where nothing is rated."""

    simulated: Literal[True]
    drive: str
    capacity_bytes: int
    preset: str
    preset_reason: str
    target: str
    scale: int
    run: str
    duration_ns: int
    longest_ns: int
    written_bytes: int
    drive_writes: float
    tbw_share: float | None
    cycles: tuple[RehearsedCycle, ...]
    promises: tuple[Promise, ...]
    plan_concerns: tuple[PlanConcern, ...]
    scale_concerns: tuple[ScaleConcern, ...]
    reports: tuple[str, ...]

    @classmethod
    def by(cls, rehearsal: Rehearsal, reports: Sequence[Path]) -> Self:
        """The same as the lines."""
        subject = rehearsal.subject
        return cls.of(
            rehearsal,
            simulated=True,
            drive=subject.name,
            capacity_bytes=subject.capacity_bytes,
            preset=subject.preset.name,
            preset_reason=subject.reason,
            run=str(rehearsal.run.folder),
            cycles=tuple(map(RehearsedCycle.of, rehearsal.cycles)),
            reports=tuple(map(str, reports)),
        )


def _duration_text(rehearsal: Rehearsal) -> str:
    text = format_duration(rehearsal.duration_ns)
    if rehearsal.longest_ns > rehearsal.duration_ns:
        text += f"; {format_duration(rehearsal.longest_ns)} if steady state comes in the last round only"
    return text


def _tbw_text(rehearsal: Rehearsal) -> str:
    if rehearsal.tbw_share is None:
        return "rated endurance unknown (--tbw)"
    share_pct = 100 * rehearsal.tbw_share
    digits = f"{share_pct:,.0f}" if share_pct >= 10 else f"{share_pct:.2g}"
    return f"{digits} % of the rated endurance"


def _promise_text(promise: Promise) -> str:
    name = _PROMISES[promise.name]
    if promise.name.endswith("_bytes_per_s"):
        figures = f"{promise.expected / MB:,.0f} MB/s, the data sheet has {promise.rated / MB:,.0f} MB/s"
    else:
        figures = f"{promise.expected:,.0f} IOPS, the data sheet has {promise.rated:,.0f} IOPS"
    return f"{name}: the model expects {figures} ({100 * (promise.expected / promise.rated - 1):+.0f} %)"
