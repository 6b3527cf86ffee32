"""The figures of a trace, computed in Rust."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openpts import _native
from openpts.errors import TraceError, UsageError
from openpts.units import NS_PER_S

_FOREVER_NS: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Selection:
    """Which I/Os of a trace: its format, the devices by name, the parts, the seconds from and to."""

    format: str | None = None
    devices: tuple[str, ...] = ()
    by: str | None = None
    from_s: float | None = None
    to_s: float | None = None

    @property
    def span_ns(self) -> tuple[int, int]:
        """From and to. Raises UsageError for an empty span."""
        from_ns = round((self.from_s or 0) * NS_PER_S)
        to_ns = _FOREVER_NS if self.to_s is None else round(self.to_s * NS_PER_S)
        if to_ns <= from_ns:
            raise UsageError(f"can't take I/Os from second {self.from_s or 0:g} to before {self.to_s:g}")
        return from_ns, to_ns


def steps_of(capture: Path) -> dict[str, Any]:
    """A capture in steps, with its SHA-256: a step table, or a trace or recipe of which steps are made.

    Raises UsageError if it is none.
    """
    try:
        found: dict[str, Any] = json.loads(_native.capture_steps(capture))
    except ValueError as error:
        raise UsageError(f"cannot apply the capture {capture}: {error}") from error
    return found


def figures_of(trace: Path, selection: Selection = Selection()) -> dict[str, Any]:
    """All figures of the I/Os that are selected. Raises TraceError, and UsageError for an empty span."""
    from_ns, to_ns = selection.span_ns
    try:
        text = _native.characterize(
            [trace],
            format=selection.format,
            devices=list(selection.devices),
            by=selection.by,
            from_ns=from_ns,
            to_ns=to_ns,
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
    from_ns, to_ns = selection.span_ns
    try:
        text = _native.model_trace(
            [trace],
            format=selection.format,
            devices=list(selection.devices),
            from_ns=from_ns,
            to_ns=to_ns,
            streams=list(streams),
            couplings=[(list(numbers), gap_ns) for numbers, gap_ns in couplings],
        )
    except ValueError as error:
        raise TraceError(str(error)) from error
    measured: dict[str, Any] = json.loads(text)
    return measured
