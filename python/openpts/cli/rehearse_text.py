"""A rehearsal as text and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final

import click

from openpts.cli.verdict_lines import cycle_line
from openpts.rehearsal.datasheet import Promise
from openpts.rehearsal.rehearse import Rehearsal
from openpts.units import MB, format_capacity, format_duration

_PROMISES: Final = {
    "random_write_iops": "4 KiB random write",
    "random_read_iops": "4 KiB random read",
    "sequential_write_bytes_per_s": "sequential write",
    "sequential_read_bytes_per_s": "sequential read",
}


def print_rehearsal(stream: IO[str], rehearsal: Rehearsal, reports: Sequence[Path]) -> None:
    """What to expect, a fact a line."""
    for line in rehearsal_lines(rehearsal, reports):
        click.echo(line, file=stream)


def rehearsal_lines(rehearsal: Rehearsal, reports: Sequence[Path]) -> Iterator[str]:
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


def rehearsal_object(rehearsal: Rehearsal, reports: Sequence[Path]) -> dict[str, Any]:
    """The same for machines; times in ns, shares as parts of one."""
    subject = rehearsal.subject
    return {
        "simulated": True,
        "drive": subject.name,
        "capacity_bytes": subject.capacity_bytes,
        "preset": subject.preset.name,
        "preset_reason": subject.reason,
        "target": rehearsal.target,
        "scale": rehearsal.scale,
        "run": str(rehearsal.run.folder),
        "duration_ns": rehearsal.duration_ns,
        "longest_ns": rehearsal.longest_ns,
        "written_bytes": rehearsal.written_bytes,
        "drive_writes": rehearsal.drive_writes,
        "tbw_share": rehearsal.tbw_share,
        "cycles": [{"title": cycle.title, **asdict(cycle.outcome)} for cycle in rehearsal.cycles],
        "promises": [asdict(promise) for promise in rehearsal.promises],
        "plan_concerns": [asdict(concern) for concern in rehearsal.plan_concerns],
        "scale_concerns": [asdict(concern) for concern in rehearsal.scale_concerns],
        "reports": [str(path) for path in reports],
    }


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
