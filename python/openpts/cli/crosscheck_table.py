"""A comparison of engines as text."""

import math
from collections.abc import Iterator, Sequence
from typing import IO

from rich.table import Table

from openpts.analysis.crosscheck import PairedRatio
from openpts.cli.table_console import table_console
from openpts.runner.crosscheck import Comparison, CrosscheckEvent, CrosscheckStarted
from openpts.units import NS_PER_US, format_capacity
from openpts.vocabulary.facts import Facts

_PIPE_COLUMNS = 140


def event_lines(event: CrosscheckEvent) -> Iterator[str]:
    """Log lines while it runs."""
    if isinstance(event, CrosscheckStarted):
        yield f"target    {event.target.path}, {format_capacity(event.target.user_capacity_bytes)}"
        for engine in (event.first, event.second):
            yield f"{engine['engine'].value:<9} by {path_text(engine)}"
        yield from (f"note      {note}" for note in event.notes)
        return
    first, second = event.first, event.second
    yield (
        f"{event.number:>3}/{event.of} {event.case.name}: {first.iops:,.0f} and {second.iops:,.0f} IOPS, "
        f"{_us(first.mean_latency_ns or 0)} and {_us(second.mean_latency_ns or 0)} us"
    )


def path_text(engine: Facts) -> str:
    """How an engine issues I/O."""
    return str(engine["io_path"].value)


def print_table(stream: IO[str], comparisons: Sequence[Comparison], limit_pct: float) -> None:
    """A row for each figure of each stimulus; means over the pairs are geometric."""
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=False)
    for heading in ("stimulus", "figure"):
        table.add_column(heading, no_wrap=True)
    for heading in ("native", "fio", "difference", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    # at the right, too: a pipe gets no blanks behind it
    table.add_column(f"agrees within {limit_pct:g} %", justify="right", no_wrap=True)
    for comparison in comparisons:
        iops, latency = comparison.iops, comparison.mean_latency_ns
        table.add_row(
            comparison.case.name,
            "IOPS",
            f"{iops.first_mean:,.0f}",
            f"{iops.second_mean:,.0f}",
            *_difference(iops),
            iops.agrees_within(limit_pct),
        )
        table.add_row(
            "",
            "mean latency (us)",
            _us(latency.first_mean),
            _us(latency.second_mean),
            *_difference(latency),
            latency.agrees_within(limit_pct),
        )
    console = table_console(stream, pipe_columns=_PIPE_COLUMNS)
    console.print()
    console.print(table)


def difference_pct(ratio: float) -> float:
    """A ratio as the first figure's difference from the second."""
    return 100 * (ratio - 1)


def _difference(ratio: PairedRatio) -> tuple[str, str]:
    ends = " to ".join(
        "unknown" if math.isinf(end) else f"{difference_pct(end):+.2f}" for end in (ratio.low, ratio.high)
    )
    return f"{difference_pct(ratio.ratio):+.2f} %", f"{ends} %"


def _us(latency_ns: float) -> str:
    return f"{latency_ns / NS_PER_US:,.2f}"
