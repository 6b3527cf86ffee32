"""The shares of block sizes, access ranges and reads in each measurement period (PTS 13.2 step 2.1; ours)."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from openpts.record.reader import Run
from openpts.units import format_block_size
from openpts.vocabulary.sample import Phase, Sample, StepState
from openpts.vocabulary.stimulus import Stimulus, Zones
from openpts_pages import cells
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Cell, Page, Table, Verdict
from openpts_pts.shared.demand.distribution import (
    LIMIT_STANDARD_ERRORS,
    PeriodShares,
    Shares,
    compare_shares,
    has_shares,
    period_shares,
)

_PHASES: Final = (
    (Phase.WDPC, "Preconditioning"),
    (Phase.ROUND_PREWRITE, "Pre-writes of rounds"),
    (Phase.ROUND, "Rounds"),
    (Phase.HISTOGRAM_PREWRITE, "Pre-writes of histograms"),
    (Phase.HISTOGRAM, "Histograms"),
)
_DEALT: Final = (
    "Sizes, ranges and reads come from shuffled decks, with exact shares over each deck of a thread: "
    "deviations are expected to be smaller than those of independent draws, and p-values near 1."
)
_GROUPS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _Period(NamedTuple):
    """A complete measurement period."""

    phase: Phase
    sample: Sample
    stimulus: Stimulus
    shares: PeriodShares


_Parts = Sequence[tuple[str, Sequence[_Period]]]
"""Name and periods of each part of the test that has any."""


def access_pattern_page(run: Run, page_id: str, title: str) -> Page | None:
    """Counted and expected shares side by side; None for a pattern of one size over the whole range."""
    scale = run.manifest.target.scale
    periods = [
        _Period(step.place.phase, step.sample, stimulus, period_shares(step.sample, scale))
        for step in run.steps
        if (stimulus := step.sample.step.stimulus) is not None
        and step.place.phase is not Phase.WIPC
        and step.sample.state is StepState.COMPLETE
        and has_shares(stimulus)
    ]
    if not periods:
        return None
    sizes = [shares for one in periods if (shares := one.shares.block_sizes)]
    zones = [shares for one in periods if (shares := one.shares.zones)]
    if not sizes and not zones:
        reason = Verdict(
            f"Access pattern: n/a (the engine did not count sizes and ranges in the {len(periods)} complete "
            "measurement periods of this run).",
            "fail",
        )
        return Page(page_id, title, (reason,))
    checked = [*sizes, *zones]
    off = sum(not shares.hold for shares in checked)
    worst = max(abs(shares.errors[shares.worst]) for shares in checked)
    verdict = Verdict(
        f"{len(checked) - off} of {len(checked)} distributions in {len(periods)} measurement periods "
        f"hold: each share within {LIMIT_STANDARD_ERRORS:g} standard errors of its binomial; the farthest is "
        f"off by {worst:.2f}.",
        "fail" if off else "pass",
    )
    blocks: list[Block] = [verdict, Verdict(_DEALT)]
    stimulus = periods[0].stimulus
    if sizes:
        names = [format_block_size(size.block_size_bytes) for size in stimulus.block_sizes]
        blocks.append(_shares_table(f"{page_id}-sizes", "Block sizes (Table 13-1)", names, sizes))
    if zones:
        names = _zone_names(stimulus)
        blocks.append(_shares_table(f"{page_id}-zones", "Access ranges (Table 13-2)", names, zones))
    by_phase = [(name, [one for one in periods if one.phase is phase]) for phase, name in _PHASES]
    parts = [(name, own) for name, own in by_phase if own]
    blocks += [_parts_table(f"{page_id}-parts", parts), _reads_table(f"{page_id}-reads", parts)]
    return Page(page_id, title, tuple(blocks))


def _zone_names(stimulus: Stimulus) -> list[str]:
    assert isinstance(stimulus.placement, Zones)  # noqa: S101 narrows the type: zones were counted
    names, start_pct = [], 0.0
    for letter, zone in zip(_GROUPS, stimulus.placement.zones, strict=False):
        end_pct = start_pct + zone.range_pct
        names.append(f"LBA Group {letter} ({start_pct:g} to {end_pct:g} %)")
        start_pct = end_pct
    return names


def _shares_table(table_id: str, title: str, names: Sequence[str], periods: Sequence[Shares]) -> Table:
    """All periods together, and the least and the largest share in any of them."""
    ios = [sum(counts) for counts in zip(*(period.ios for period in periods), strict=True)]
    total = compare_shares(ios, periods[0].expected_pct)

    def row(name: str, kind: int) -> Cells:
        shares_pct = [period.shares_pct[kind] for period in periods]
        return (
            name,
            cells.number(total.expected_pct[kind], 2),
            *(cells.number(pct, 3) for pct in (total.shares_pct[kind], min(shares_pct), max(shares_pct))),
            cells.number(max((period.errors[kind] for period in periods), key=abs), 2),
        )

    return rows_table(
        table_id,
        f"{title}: {len(periods)} measurement periods",
        "Kind:<1.6 | Wanted (%) | Achieved (%) | Least in a period (%) | Largest in a period (%) | "
        "Farthest (standard errors)",
        (row(name, kind) for kind, name in enumerate(names)),
    )


def _parts_table(table_id: str, parts: _Parts) -> Table:
    """The chi-square test of each period, summed up by part."""

    def row(name: str, periods: Sequence[_Period]) -> Cells:
        checked = [shares for one in periods for shares in one.shares.checked]
        off = sum(not shares.hold for shares in checked)
        fewest = cells.missing("not counted")
        if checked:
            fewest = cells.number(min(shares.total for shares in checked), 0)
        return (
            name,
            Cell(str(len(periods)), float(len(periods))),
            fewest,
            _least_p([shares for one in periods if (shares := one.shares.block_sizes)]),
            _least_p([shares for one in periods if (shares := one.shares.zones)]),
            Cell(str(off), float(off)),
        )

    return rows_table(
        table_id,
        "Chi-square test of each measurement period",
        "Phase:<1.6 | Periods | Fewest I/Os | Sizes: least p | Ranges: least p | Not held",
        (row(*part) for part in parts),
        note="p is the probability of a larger chi-square under independent draws; n/a where fewer than 5 "
        "I/Os of a kind are expected.",
    )


def _least_p(shares: Sequence[Shares]) -> Cell:
    known = [(one.p_value, one.chi_square) for one in shares if one.p_value is not None]
    if not known:
        return cells.missing("too few I/Os" if shares else "not counted")
    p_value, chi_square = min(known)
    return cells.number(p_value, 4, note=f"chi-square {chi_square:.2f}")


def _reads_table(table_id: str, parts: _Parts) -> Table:
    def rows() -> Iterator[Cells]:
        for name, periods in parts:
            reads = sum(one.sample.read.ios for one in periods)
            ios = reads + sum(one.sample.write.ios for one in periods)
            mixes = sorted({round(one.stimulus.read_pct, 2) for one in periods})
            if ios:
                yield name, ", ".join(f"{pct:g}" for pct in mixes), cells.number(100 * reads / ios, 3)

    return rows_table(table_id, "Reads", "Phase:<1.6 | Wanted (%) | Achieved (%)", rows())
