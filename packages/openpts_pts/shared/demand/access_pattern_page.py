"""The shares of block sizes, access ranges and reads in each measurement period (PTS 13.2 step 2.1; ours)."""

from collections.abc import Sequence
from typing import Final

from openpts.record.reader import Run, StepRecord
from openpts.units import format_block_size
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.stimulus import Stimulus, Zones
from openpts_pages import cells
from openpts_pages.kit import rows_table
from openpts_pages.model import Block, Cell, Page, Row, Table, Verdict
from openpts_pts.shared.demand.distribution import (
    LIMIT_STANDARD_ERRORS,
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


def access_pattern_page(run: Run, page_id: str, title: str) -> Page | None:
    """Counted and wanted shares side by side; None for a pattern of one size over the whole range."""
    periods = [step for step in run.steps if _is_period(step)]
    if not periods:
        return None
    scale = run.manifest.target.scale
    sizes = [shares for step in periods if (shares := period_shares(step.sample, scale).block_sizes)]
    zones = [shares for step in periods if (shares := period_shares(step.sample, scale).zones)]
    if not sizes and not zones:
        reason = Verdict(
            f"Access pattern: n/a (the engine did not count sizes and ranges in the {len(periods)} complete "
            "measurement periods of this run).",
            "fail",
        )
        return Page(page_id, title, (reason,))
    stimulus = _stimulus(periods[0])
    blocks: list[Block] = [_verdict(len(periods), [*sizes, *zones]), Verdict(_DEALT)]
    if sizes:
        names = tuple(format_block_size(size.block_size_bytes) for size in stimulus.block_sizes)
        blocks.append(_shares_table(f"{page_id}-sizes", "Block sizes (Table 13-1)", names, sizes))
    if zones:
        blocks.append(
            _shares_table(f"{page_id}-zones", "Access ranges (Table 13-2)", _zones(stimulus), zones)
        )
    blocks += [_parts_table(f"{page_id}-parts", periods, scale), _reads_table(f"{page_id}-reads", periods)]
    return Page(page_id, title, tuple(blocks))


def _is_period(step: StepRecord) -> bool:
    stimulus = step.sample.step.stimulus
    return (
        stimulus is not None
        and step.place.phase is not Phase.WIPC
        and step.sample.state is StepState.COMPLETE
        and has_shares(stimulus)
    )


def _stimulus(step: StepRecord) -> Stimulus:
    stimulus = step.sample.step.stimulus
    assert stimulus is not None  # noqa: S101 narrows the type: idle gaps are no periods
    return stimulus


def _verdict(periods: int, distributions: Sequence[Shares]) -> Verdict:
    off = sum(not shares.hold for shares in distributions)
    worst = max(abs(shares.errors[shares.worst]) for shares in distributions)
    text = (
        f"{len(distributions) - off} of {len(distributions)} distributions in {periods} measurement periods "
        f"hold: each share within {LIMIT_STANDARD_ERRORS:g} standard errors of its binomial; the farthest is "
        f"off by {worst:.2f}."
    )
    return Verdict(text, "fail" if off else "pass")


def _zones(stimulus: Stimulus) -> list[str]:
    assert isinstance(stimulus.placement, Zones)  # noqa: S101 narrows the type: zones were counted
    names, start_pct = [], 0.0
    for letter, zone in zip(_GROUPS, stimulus.placement.zones, strict=False):
        end_pct = start_pct + zone.range_pct
        names.append(f"LBA Group {letter} ({start_pct:g} to {end_pct:g} %)")
        start_pct = end_pct
    return names


def _shares_table(table_id: str, title: str, names: Sequence[str], periods: Sequence[Shares]) -> Table:
    """All periods together, and the least and the largest share in any of them."""
    total = compare_shares(
        [sum(counts) for counts in zip(*(p.ios for p in periods), strict=True)], periods[0].wanted_pct
    )
    return rows_table(
        table_id,
        f"{title}: {len(periods)} measurement periods",
        "Kind:<1.6 | Wanted (%) | Achieved (%) | Least in a period (%) | Largest in a period (%) | "
        "Farthest (standard errors)",
        (
            (
                name,
                cells.number(total.wanted_pct[kind], 2),
                cells.number(total.shares_pct[kind], 3),
                cells.number(min(period.shares_pct[kind] for period in periods), 3),
                cells.number(max(period.shares_pct[kind] for period in periods), 3),
                cells.number(max((period.errors[kind] for period in periods), key=abs), 2),
            )
            for kind, name in enumerate(names)
        ),
    )


def _parts_table(table_id: str, steps: Sequence[StepRecord], scale: int) -> Table:
    """The chi-square test of each period, summed up by part."""
    rows = []
    for phase, name in _PHASES:
        shares = [period_shares(step.sample, scale) for step in steps if step.place.phase is phase]
        if not shares:
            continue
        of_both = [one for period in shares for one in period.checked]
        rows.append(
            Row(
                Cell(name),
                (
                    Cell(str(len(shares)), float(len(shares))),
                    _fewest(of_both),
                    _least_p([p.block_sizes for p in shares if p.block_sizes]),
                    _least_p([p.zones for p in shares if p.zones]),
                    Cell(
                        str(sum(not one.hold for one in of_both)), float(sum(not one.hold for one in of_both))
                    ),
                ),
            )
        )
    return rows_table(
        table_id,
        "Chi-square test of each measurement period",
        "Phase:<1.6 | Periods | Fewest I/Os | Sizes: least p | Ranges: least p | Not held",
        rows,
        note="p is the probability of a larger chi-square under independent draws; n/a where fewer than 5 "
        "I/Os of a kind are expected.",
    )


def _fewest(shares: Sequence[Shares]) -> Cell:
    if not shares:
        return cells.missing("not counted")
    return cells.number(min(one.total for one in shares), 0)


def _least_p(shares: Sequence[Shares]) -> Cell:
    known = [(one.p_value, one.chi_square) for one in shares if one.p_value is not None]
    if not known:
        return cells.missing("too few I/Os" if shares else "not counted")
    p_value, chi_square = min(known)
    return cells.number(p_value, 4, note=f"chi-square {chi_square:.2f}")


def _reads_table(table_id: str, steps: Sequence[StepRecord]) -> Table:
    rows = []
    for phase, name in _PHASES:
        of_part = [step for step in steps if step.place.phase is phase]
        reads = sum(step.sample.read.ios for step in of_part)
        writes = sum(step.sample.write.ios for step in of_part)
        if not reads + writes:
            continue
        mixes = {round(_stimulus(step).read_pct, 2) for step in of_part}
        rows.append(
            Row(
                Cell(name),
                (
                    Cell(", ".join(f"{pct:g}" for pct in sorted(mixes))),
                    cells.number(100 * reads / (reads + writes), 3),
                ),
            )
        )
    return rows_table(table_id, "Reads", "Phase:<1.6 | Wanted (%) | Achieved (%)", rows)
