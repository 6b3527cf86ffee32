"""Options of all commands that read traces."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from openpts.cli.number_types import FiniteRange
from openpts.cli.options import FILE, argument, flag, option
from openpts.errors import TraceError, UsageError
from openpts.plugins import Kind, load, offers
from openpts.units import NS_PER_S
from openpts_traces.recipes import shipped_hint
from openpts_traces.treatment import STDIN, OpenOptions, PoissonSpread, RandomSpread, ReadOptions, Within

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
