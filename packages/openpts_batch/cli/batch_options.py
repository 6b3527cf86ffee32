"""Options of a run that make it one on several drives."""

import re
from collections.abc import Callable
from typing import Any, Final

import click

from openpts.cli.several import Several
from openpts.errors import UsageError
from openpts.fields.parsing import refuse

_TIME: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)?")
_SECONDS: Final = {None: 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}
_LONGEST_S: Final = 86400.0


def _time_s(_context: click.Context, _option: click.Parameter, text: str | None) -> float | None:
    if text is None:
        return None
    match = _TIME.fullmatch(text)
    time_s = float(match[1]) * _SECONDS[match[2]] if match else -1.0
    if not 0 <= time_s <= _LONGEST_S:
        refuse("--stagger", text, "write a time up to 24h, such as 30s or 5min")
    return time_s


BATCH_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option(
        "--drives",
        metavar="FILE|QUERY",
        help="Run on all drives in this TOML file, or that a query selects by slot, model and serial, as "
        "model=SAMSUNG*,slot=3-8. Like several TARGETs, each has a run of its own, and a file FILE-1-SERIAL "
        "for --events and --ocp-diag.",
    ),
    click.option(
        "--stagger",
        "stagger_s",
        metavar="TIME",
        callback=_time_s,
        help="Of several drives, start each so long after the one before.",
    ),
    click.option(
        "--at-most", type=click.IntRange(1), metavar="N", help="Of several drives, run so many at once; all."
    ),
)


def refuse_alone(*, stagger_s: float | None, at_most: int | None) -> None:
    """Raise UsageError for what makes no sense of one drive."""
    for name, value in (("--stagger", stagger_s), ("--at-most", at_most)):
        if value is not None:
            raise UsageError(f"{name} is for several drives: name more than one TARGET, or --drives")


BATCH: Final = Several(
    "batch",
    options="openpts_batch.cli.batch_options:BATCH_OPTIONS",
    refuse_alone="openpts_batch.cli.batch_options:refuse_alone",
    run="openpts_batch.cli.batch:run_asked",
    prospect="openpts_batch.cli.batch:print_prospect",
    resume="openpts_batch.cli.batch:resume_batch",
    resume_suite="openpts_batch.in_turn:resume_suite",
    as_recorded="openpts_batch.executor:as_recorded",
    write_index="openpts_batch.batch_index:write_batch_index",
)
