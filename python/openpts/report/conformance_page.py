"""The conformance page: the printed form of the run's ledger of deviations (PTS 1.1)."""

from openpts.record.reader import Run
from openpts.report.model import Cell, Column, Page, Row, Table, Verdict
from openpts.report.printable import printable
from openpts.report.standing import Standing

_READINGS = (
    (
        "2.1.24, 7.3.4",
        "Three measures of scatter: maximum minus minimum, a ±10 % band, distance from the average.",
        "Definition 2.1.24 decides; the band's pass or fail is printed beside it.",
    ),
    (
        "2.1.24, 7.3.4",
        "Slope may be the coefficient per round or the rise over the window.",
        "The rise of the best linear fit over the window, in % of the average; limits are inclusive.",
    ),
    (
        "7.3",
        "Not steady: the last five Rounds, or their average as Round x.",
        "Round x is the last complete Round, the window x-4 to x; marked as not steady on each page.",
    ),
    (
        "7.1, 7.2",
        "Whether all tracking variables must be steady in the same window.",
        "All of them, in the same five Rounds.",
    ),
    (
        "7.3.6.4, 9.3.6",
        "99.999 % cells are means of five percentiles, which is no percentile of the whole.",
        "Printed as asked if each Round has 100,000 I/Os, else the maximum; the merged one beside it.",
    ),
)


def conformance_page(run: Run, standing: Standing) -> Page:
    """Each deviation with what was required, what was done and what follows for a comparison."""
    ledger: tuple[Table, ...] = (_ledger_table(run),) if run.ledger else ()
    bottom_line = Verdict(standing.bottom_line, "pass" if standing.conformant else "fail")
    return Page("conformance", "Conformance", (*ledger, bottom_line, _readings_table()), mandatory=True)


def _ledger_table(run: Run) -> Table:
    return Table(
        id="conformance-ledger",
        title=f"Deviations from {run.manifest.conditions.profile.revision}",
        head=Column("Rule", align="left", width=0.9),
        columns=(
            Column("Clause", align="left", width=0.6),
            Column("Required", align="left", width=1.5),
            Column("Used", align="left", width=1.5),
            Column("Effect on comparison", align="left", width=2),
        ),
        rows=tuple(
            Row(
                Cell(printable(entry.rule_id)),
                tuple(
                    Cell(printable(text)) for text in (entry.clause, entry.required, entry.used, entry.effect)
                ),
            )
            for entry in run.ledger
        ),
    )


def _readings_table() -> Table:
    return Table(
        id="conformance-readings",
        title="How unclear text of the specification was read",
        head=Column("Clause", align="left", width=0.6),
        columns=(Column("Unclear", align="left", width=1.7), Column("Reading", align="left", width=1.7)),
        rows=tuple(
            Row(Cell(clause), (Cell(unclear), Cell(reading))) for clause, unclear, reading in _READINGS
        ),
    )
