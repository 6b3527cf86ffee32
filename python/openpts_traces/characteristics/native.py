"""The figures of a trace, computed in Rust."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from openpts import _native
from openpts.errors import TraceError, UsageError
from openpts_traces.treatment import ALL_TIME, Span


class Selection(Struct, frozen=True):
    """Which I/Os of a trace: its format, the devices by name, the parts, when they were issued."""

    format: str | None = None
    devices: tuple[str, ...] = ()
    by: str | None = None
    time_ns: Span = ALL_TIME


def steps_of(capture: Path) -> dict[str, Any]:
    """A capture in steps, with its SHA-256: a step table, or a trace or recipe of which steps are made.

    Raises UsageError if it is none.
    """
    try:
        found: dict[str, Any] = json.loads(_native.capture_steps(capture))
    except ValueError as error:
        raise UsageError(f"cannot apply the capture {capture}: {error}") from error
    return found


_ALL: Final = Selection()


def figures_of(trace: Path, selection: Selection = _ALL, *, takes_steps: bool = False) -> dict[str, Any]:
    """All figures of the I/Os that are selected.

    With ``takes_steps`` those of a whole step table, too: its ``whole`` is None. Raises TraceError.
    """
    try:
        text = _native.characterize(
            [trace],
            format=selection.format,
            devices=list(selection.devices),
            by=selection.by,
            from_ns=selection.time_ns.start,
            to_ns=selection.time_ns.end,
            takes_steps=takes_steps and selection == Selection(),
        )
    except ValueError as error:
        raise TraceError(str(error)) from error
    figures: dict[str, Any] = json.loads(text)
    return figures


def is_clean(figures: Mapping[str, Any]) -> bool:
    """Whether no record of the trace was damaged or lost."""
    records = figures["trace"]["header"]["records"]
    return not any(records["damaged"].values()) and not records["lost"]


def trains_and_places(
    trace: Path,
    selection: Selection,
    streams: Sequence[tuple[str, int]],
    couplings: Sequence[tuple[Sequence[int], int]],
) -> dict[str, Any]:
    """What a model has beyond the figures, of streams by operation and size; see ``_native.model_trace``.

    Raises TraceError.
    """
    try:
        text = _native.model_trace(
            [trace],
            format=selection.format,
            devices=list(selection.devices),
            from_ns=selection.time_ns.start,
            to_ns=selection.time_ns.end,
            streams=list(streams),
            couplings=[(list(numbers), gap_ns) for numbers, gap_ns in couplings],
        )
    except ValueError as error:
        raise TraceError(str(error)) from error
    measured: dict[str, Any] = json.loads(text)
    return measured
