"""The content of a sample of the data that a run wrote, beside what was asked for."""

from collections.abc import Sequence

from openpts.units import format_capacity
from openpts.vocabulary.stimulus import DataCheck
from openpts.vocabulary.workload import data_text
from openpts_pages import cells
from openpts_pages.kit import rows_table
from openpts_pages.model import Cell, Table


# LSI-ENT-02, LSI-GEN-03
def data_checks_table(checks: Sequence[DataCheck], table_id: str) -> Table | None:
    """A row for each pattern; None for a run without data that can be reduced.

    Nothing is verified on a simulated drive, whose model gets the shares: no bytes are made.
    """
    if not checks:
        return None
    return rows_table(
        table_id,
        "Entropy verified",
        "Pattern asked for:<1.6 | Left by compression (%) | Distinct pieces (%) | Sample:0.7 | How:<2",
        ((data_text(check.data), *_check_cells(check)) for check in checks),
    )


def _check_cells(check: DataCheck) -> tuple[Cell, ...]:
    if not check.sampled_bytes:
        nothing = cells.missing("no data made")
        return nothing, nothing, Cell("none"), Cell(check.how)
    return (
        cells.percent(check.compressed_pct),
        cells.percent(check.distinct_pct),
        Cell(format_capacity(check.sampled_bytes)),
        Cell(check.how),
    )
