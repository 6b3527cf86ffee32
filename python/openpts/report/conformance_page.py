"""The conformance page: the printed form of the run's ledger of deviations (PTS 1.1)."""

from openpts.record.reader import Run
from openpts.report.model import Cell, Column, Page, Row, Table, Verdict
from openpts.report.printable import printable
from openpts.report.readings import readings_for
from openpts.report.standing import Standing


def conformance_page(run: Run, standing: Standing) -> Page:
    """Each deviation with what was required, what was done and what follows for a comparison."""
    ledger: tuple[Table, ...] = (_ledger_table(run),) if run.ledger else ()
    bottom_line = Verdict(standing.bottom_line, "pass" if standing.conformant else "fail")
    counts = Verdict(f"{standing.requirements}. The command openpts conformance lists each of them.")
    return Page(
        "conformance",
        "Conformance",
        (*ledger, bottom_line, counts, _readings_table(run.manifest.conditions.test)),
        mandatory=True,
    )


# PTS-GEN-01
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


def _readings_table(test: str) -> Table:
    return Table(
        id="conformance-readings",
        title="How unclear text of the specification was read",
        head=Column("Clause", align="left", width=0.6),
        columns=(Column("Unclear", align="left", width=1.7), Column("Reading", align="left", width=1.7)),
        rows=tuple(
            Row(Cell(reading.clause), (Cell(reading.unclear), Cell(reading.reading)))
            for reading in readings_for(test)
        ),
    )
