"""Scores of a candidate beside those of the base: ratios by trace, and their geometric mean."""

from collections.abc import Mapping, Sequence
from statistics import geometric_mean

from openpts.procedures.kit.content import MedianRun
from openpts_pages import cells
from openpts_pages.kit import Col, grid
from openpts_pages.model import Block, Cell, Column
from openpts_traces.replay.passes import ratios

_MEAN = ""


# SCO-AGG-03
def blocks(typical: Sequence[MedianRun]) -> tuple[Block, ...]:
    """A table for each candidate; none without a base."""
    base, *others = typical
    if not base.is_base or "scores" not in base.content.figures():
        return ()
    return tuple(_table(number, base, one) for number, one in enumerate(others, start=1))


def _table(number: int, base: MedianRun, other: MedianRun) -> Block:
    of_base, of_other = _medians(base), _medians(other)
    found = {load: ratios(of_other[load], of_base[load]) for load in of_base if load in of_other}
    traces = list(dict.fromkeys(trace for by_trace in found.values() for trace in by_trace))

    def cell(trace: str, load: str) -> Cell:
        by_trace = found[load]
        value = by_trace.get(trace)
        if trace == _MEAN and by_trace:
            value = geometric_mean(by_trace.values())
        return cells.number_or("not in both", value, 3)

    return grid(
        f"compare-score-{number}",
        f"Scores of {other.name} over those of {base.name}",
        Col("Trace", lambda trace: Cell(trace or "Geometric mean"), align="left", width=1.5),
        [(Column(load), load) for load in found],
        [*traces, _MEAN],
        cell=cell,
        note=f"One run of each, those with the median of the first key value: {other.run.manifest.test_id} "
        f"beside {base.run.manifest.test_id}. Above 1 is better. The mean is geometric: it does not depend "
        "on which of the two is the reference.",
    )


def _medians(one: MedianRun) -> Mapping[str, Mapping[str, float]]:
    """By load and trace, without what was discarded."""
    found: dict[str, dict[str, float]] = {}
    for score in one.content.figures()["scores"]:
        warm = score["warm"]
        if warm is not None and warm["quality"] != "discarded":
            found.setdefault(score["load"], {})[score["trace"]] = warm["median"]
    return found
