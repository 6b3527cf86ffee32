"""What the spread of repeats means: in words, as a cell, for machines and for the ledger."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from openpts.analysis.run_comparison import ADVISED_RUNS, Quality, RunSet
from openpts.vocabulary.deviation import Deviation
from openpts_pages import cells
from openpts_pages.model import Cell

ONE_RUN: Final = "one run: no statement about spread"


def set_words(repeats: RunSet, noun: str = "run") -> tuple[str, ...]:
    """What a set lacks; empty for one that lacks nothing."""
    above = f"{rse_text(repeats)} above {repeats.rule.rse_limit_pct:g} %"
    match repeats.quality:
        case Quality.ONE_RUN:
            return (ONE_RUN.replace("run", noun),)
        case Quality.DISCARDED:
            return (f"set discarded: {above} with {repeats.count} {_many(noun)}",)
        case Quality.MORE_RUNS:
            return (f"{above}: more {_many(noun)} needed", *_count_words(repeats, noun))
        case Quality.ACCEPTED:
            return _count_words(repeats, noun)


def spread_words(repeats: RunSet, noun: str = "run") -> tuple[str, ...]:
    """The relative standard error, and what the set lacks."""
    lacks = set_words(repeats, noun)
    return lacks if repeats.quality is not Quality.ACCEPTED else (rse_text(repeats), *lacks)


# SOL-STAT-02, 03
def _count_words(repeats: RunSet, noun: str) -> tuple[str, ...]:
    counted = f"{repeats.count} {_many(noun)}"
    if repeats.count < ADVISED_RUNS:
        return (f"{counted}, {ADVISED_RUNS} or more advised",)
    return () if repeats.count % 2 else (f"{counted}, an odd number advised",)


def _many(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def rse_text(repeats: RunSet) -> str:
    """The relative standard error: ``RSE 21.8 %``."""
    return "RSE n/a" if repeats.rse_pct is None else f"RSE {cells.fixed(repeats.rse_pct, 1)} %"


def rse_cell(repeats: RunSet | None, noun: str = "run") -> Cell:
    """The relative standard error in per cent, or why there is none."""
    if repeats is None:
        return cells.none()
    if repeats.rse_pct is None:
        return cells.missing(f"one {noun}" if repeats.count == 1 else "mean of 0")
    return cells.percent(repeats.rse_pct, 2)


def repeat_figures(repeats: RunSet) -> Mapping[str, Any]:
    """The values of repeats with their spread, JSON-ready."""
    return {
        "values": list(repeats.values),
        "median": repeats.median,
        "rse_pct": repeats.rse_pct,
        "rse_limit_pct": repeats.rule.rse_limit_pct,
        "quality": repeats.quality,
    }


# SOL-STAT-05, 06
def spread_deviations(sets: Iterable[tuple[str, RunSet]], noun: str = "run") -> Iterator[Deviation]:
    """An entry for each named set that is too far apart for a figure."""
    warm = f"warm {_many(noun)}"
    for name, repeats in sets:
        if repeats.quality not in {Quality.DISCARDED, Quality.MORE_RUNS}:
            continue
        discarded = repeats.quality is Quality.DISCARDED
        yield Deviation(
            rule_id="SOL-STAT-06" if discarded else "SOL-STAT-05",
            clause="Solidigm guide 4.2",
            required=f"{warm} with an RSE of {repeats.rule.rse_limit_pct:g} % or less",
            used=f"{name}: {rse_text(repeats)} of {repeats.count} {warm}",
            effect="the set is discarded" if discarded else f"more {warm} are needed for a figure",
        )
