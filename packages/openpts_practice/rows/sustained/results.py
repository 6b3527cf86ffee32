"""What remains of the rows of benchmarks and of claims after a load.

Implements: HYP-SUS-02 to 05 (reading AMB-50 of openpts: the formula, not the claims of the talk).
"""

from collections.abc import Sequence
from math import fsum
from typing import Final

from msgspec import Struct

from openpts.analysis.minutes import MeasuredInterval
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.facts import Purpose
from openpts.vocabulary.stimulus import Stimulus
from openpts_pages import cells
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Cell, Page, Verdict
from openpts_practice.rows import FigureUnit, ProfileRow
from openpts_practice.rows.sustained import DATA_SHEET_FIGURES, DataSheetClaim, DataSheetFigure
from openpts_practice.rows.tables import MeasuredRow

KEPT_PCT: Final = 95.0
"""A claim is missed below so many per cent of it: data sheets are rounded."""

HELD_INTERVALS: Final = 10
"""Intervals in a row that are averaged to find how long a claim held: a single dip does not end it."""


class Pair(Struct, frozen=True):
    """A row in both runs. ``benchmark`` is the title of its own where the test has several, else empty."""

    benchmark: str
    fresh: MeasuredRow
    sustained: MeasuredRow

    @property
    def row(self) -> ProfileRow:
        """What was measured."""
        return self.fresh.row

    @property
    def name(self) -> str:
        """What no other row of the test is called."""
        return f"{self.benchmark}: {self.row.title}" if self.benchmark else self.row.title

    def values(self, unit: FigureUnit) -> tuple[float | None, float | None]:
        """What the benchmark would show of run #1 and of run #2."""
        return self.fresh.value(unit), self.sustained.value(unit)

    # HYP-SUS-02
    def ratio_pct(self, unit: FigureUnit) -> float | None:
        """Sustained performance: run #2 in per cent of run #1, and of response times run #1 of run #2.

        So less than 100 is always a loss.
        """
        fresh, sustained = self.values(unit)
        if fresh is None or sustained is None:
            return None
        of, base = (fresh, sustained) if unit.is_time else (sustained, fresh)
        return 100 * of / base if base else None


class ClaimResult(Struct, frozen=True):
    """A claim beside what was measured of it, in its unit; None where it was not measured.

    ``name`` is that of the row that measures it, else the claim's own. ``held_ns`` is how long the load kept
    it; None if the load is not of the claim's figure.
    """

    name: str
    figure: DataSheetFigure
    claimed: float
    fresh: float | None = None
    sustained: float | None = None
    held_ns: int | None = None

    @property
    def missed_fresh(self) -> bool:
        """Whether not even the fresh drive comes near."""
        return self.fresh is not None and self.fresh < self.claimed * KEPT_PCT / 100

    @property
    def missed(self) -> bool:
        """Whether the drive does not sustain the claim."""
        return self.sustained is not None and self.sustained < self.claimed * KEPT_PCT / 100


def claim_result(
    claim: DataSheetClaim, pairs: Sequence[Pair], pieces: Sequence[MeasuredInterval], load: Stimulus | None
) -> ClaimResult:
    """A claim held against the row of its order and operation that has the most I/Os outstanding."""
    figure = DATA_SHEET_FIGURES[claim.figure]
    of_figure = [pair for pair in pairs if figure.is_of(pair.row)]
    if not of_figure:
        return ClaimResult(figure.title, figure, claim.value)
    pair = max(of_figure, key=lambda pair: pair.row.tc * pair.row.qd)
    is_load = load is not None and figure.is_of(load) and load.block_sizes == pair.row.block_sizes
    fresh, sustained = pair.values(figure.unit)
    kept_ns = held_ns(pieces, figure, claim.value) if is_load else None
    return ClaimResult(pair.name, figure, claim.value, fresh, sustained, kept_ns)


def held_ns(pieces: Sequence[MeasuredInterval], figure: DataSheetFigure, claimed: float) -> int:
    """How long the load kept a value: until the first ten intervals in a row whose mean is below it.

    The time goes to the first interval below the value among these ten. With fewer intervals than that, their
    mean decides for all.
    """
    if not pieces:
        return 0
    rates = [(piece, figure.of(piece.measured)) for piece in pieces]
    count = min(HELD_INTERVALS, len(rates))
    for start in range(len(rates) - count + 1):
        window = rates[start : start + count]
        if fsum(rate for _, rate in window) < claimed * count:
            return next(piece.start_ns for piece, rate in window if rate < claimed)
    return pieces[-1].end_ns


_TITLE = "Claims of the Data Sheet"
_PAGE_ID = "sustained-claims"


class ClaimSource(Struct, frozen=True):
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
