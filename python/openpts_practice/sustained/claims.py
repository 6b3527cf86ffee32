"""The page of claims: the data sheet's values beside the measured ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from openpts.pages import cells
from openpts.pages.kit import Cells, rows_table
from openpts.pages.model import Cell, Page, Verdict
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.purpose import Purpose
from openpts_practice.sustained.results import HELD_INTERVALS, KEPT_PCT, ClaimResult

_TITLE = "Claims of the Data Sheet"
_PAGE_ID = "sustained-claims"


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """Where claims come from, or why there are none; ``stands_in`` if the drive's own facts have them."""

    text: str
    stands_in: bool = False


def claims_verdict(claims: Sequence[ClaimResult], source: ClaimSource) -> Verdict:
    """How many claims the drive sustains."""
    if not claims:
        why = f"; {source.text}" if source.text else ""
        return Verdict(f"Claims: n/a (no data-sheet value was given; see --claim{why}).")
    judged = [claim for claim in claims if claim.sustained is not None]
    missed = [claim.name for claim in judged if claim.missed]
    text = f"Claims: {len(judged) - len(missed)} of {len(claims)} sustained"
    if missed:
        text += f"; missed: {', '.join(missed)}"
    if len(judged) < len(claims):
        text += f"; {len(claims) - len(judged)} can't be judged, since run #2 did not measure them"
    return Verdict(f"{text}.", "fail" if missed else "info")


def claims_page(claims: Sequence[ClaimResult], source: ClaimSource, load: str, purpose: Purpose) -> Page:
    """Data-sheet value, fresh, sustained, and how long the load kept it; ``load`` names what was applied.

    ``purpose``: beside the claims is what matters for the declared use.
    """
    if not claims:
        return Page(_PAGE_ID, _TITLE, (claims_verdict(claims, source),), mandatory=True)
    table = rows_table(
        f"{_PAGE_ID}-table",
        "Claims and what was measured",
        "Figure:< | Unit:<0.5 | Data sheet | Run #1 (fresh) | Run #2 (sustained) | "
        "Sustained / data sheet (%) | The load kept it for:<1.4",
        (_row(claim, load) for claim in claims),
        note=f"Claims: {source.text}.",
    )
    lines = [_rule(), claims_verdict(claims, source)]
    if purpose.sentence:
        lines.append(Verdict(purpose.sentence))
    if source.stands_in:
        lines.append(
            Verdict("No data-sheet value was given: the values are those of the drive's own description.")
        )
    return Page(_PAGE_ID, _TITLE, (table, *lines), mandatory=True)


def _rule() -> Verdict:
    return Verdict(
        f"A claim is struck through if run #2 is below {KEPT_PCT:g} % of it. The load kept a claim until the "
        f"mean of {HELD_INTERVALS} intervals in a row first fell below it."
    )


def _row(claim: ClaimResult, load: str) -> Cells:
    return (
        claim.name,
        claim.figure.unit,
        Cell(cells.fixed(claim.claimed, 0), claim.claimed, struck=claim.missed),
        _measured(claim.fresh, missed=claim.missed_fresh),
        _measured(claim.sustained, missed=claim.missed),
        cells.missing("not measured")
        if claim.sustained is None
        else cells.percent(100 * claim.sustained / claim.claimed),
        cells.missing(f"the load is {load}") if claim.held_ns is None else _held(claim.held_ns),
    )


def _measured(value: float | None, *, missed: bool) -> Cell:
    if value is None:
        return cells.missing("not measured")
    return cells.number(value, 0 if value >= 100 else 1, tone="fail" if missed else "")


def _held(held_ns: int) -> Cell:
    return Cell(format_duration(held_ns) if held_ns else "never", held_ns / NS_PER_S)
