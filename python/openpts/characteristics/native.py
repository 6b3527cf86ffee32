"""The figures of a trace, computed in Rust."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openpts import _native
from openpts.errors import TraceError, UsageError

if TYPE_CHECKING:
    from os import PathLike

_NS_PER_S: Final = 10**9
_FOREVER_NS: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Selection:
    """Which I/Os of a trace: its format, the devices by name, the parts, the seconds from and to."""

    format: str | None = None
    devices: tuple[str, ...] = ()
    by: str | None = None
    from_s: float | None = None
    to_s: float | None = None


def figures_of(trace: Path, selection: Selection = Selection()) -> dict[str, Any]:
    """All figures of the I/Os that are selected. Raises TraceError, and UsageError for an empty span."""
    from_ns = round((selection.from_s or 0) * _NS_PER_S)
    to_ns = _FOREVER_NS if selection.to_s is None else round(selection.to_s * _NS_PER_S)
    if to_ns <= from_ns:
        raise UsageError(
            f"can't take I/Os from second {selection.from_s or 0:g} to before {selection.to_s:g}"
        )
    # a folder is a capture of openpts, in files that follow each other
    files: list[PathLike[str]] = [*sorted(trace.glob("*.parquet"))] if trace.is_dir() else [trace]
    try:
        text = _native.characterize(
            files,
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
