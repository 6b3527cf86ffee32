"""A run as one flat row for spreadsheets and laboratory databases: what it is of, and its measures by key."""

import csv
import io
from collections.abc import Sequence
from typing import Final, NamedTuple

from openpts.escaped_text import spreadsheet_text
from openpts.procedures.kit.standing import Standing
from openpts.procedures.registry import procedure_of
from openpts.record.frames import Columns, declared_rows, types_of
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.vocabulary.facts import fact_of
from openpts.vocabulary.requests import CycleFinished
from openpts.vocabulary.verdict import SteadyState
from openpts_pts.conformance.conformance import standing_of

_LABEL: Final = "label."
_TEXT, _INT = "VARCHAR", "BIGINT"


class _Judged(NamedTuple):
    run: Run
    standing: Standing


_RUN: Final[Columns] = {
    "run": (_TEXT, "run.manifest.test_id"),
    "test": (_TEXT, "run.manifest.conditions.test"),
    "profile": (_TEXT, "run.manifest.conditions.class_text"),
    "state": (_TEXT, "run.manifest.state.value"),
    "mark": (_TEXT, lambda of: of.standing.red_line or None),
    "simulated": (_TEXT, "run.manifest.target.simulation.preset"),
    "conformant": (_TEXT, lambda of: _word(of.standing.conformant)),
    "steady": (_TEXT, lambda of: _steady(of.run)),
    "deviations": (_INT, lambda of: len(of.run.ledger)),
    "started_at": (_TEXT, "run.manifest.started_at"),
    "ended_at": (_TEXT, "run.manifest.ended_at"),
    "target": (_TEXT, "run.manifest.target.path"),
    "model": (_TEXT, lambda of: fact_of(of.run.manifest.dut, "model")),
    "serial": (_TEXT, lambda of: fact_of(of.run.manifest.dut, "serial")),
    "firmware": (_TEXT, lambda of: fact_of(of.run.manifest.dut, "firmware")),
    "user_capacity_bytes": (_INT, "run.manifest.target.user_capacity_bytes"),
    "sector_bytes": (_INT, "run.manifest.target.sector_bytes"),
    "seed": (_INT, "run.manifest.conditions.seed"),
    "software": (_TEXT, lambda of: fact_of(of.run.manifest.software, "test_software")),
    "operator": (_TEXT, "run.manifest.people.operator"),
}
RUN_COLUMNS: Final = types_of(_RUN)
"""What a run is of, with their SQL types. ``mark`` says what it is not."""

Row = dict[str, str | int | float | None]


def run_row(run: Run) -> Row:
    """``RUN_COLUMNS`` of a run."""
    (row,) = declared_rows(_RUN, [_Judged(run, standing_of(run))])
    return row


def flat_row(run: Run) -> Row:
    """The same with the run's labels, and ``TEST.KEY (UNIT)`` for each measure.

    A maximum that stands in for a percentile has no value here.
    """
    test = run.manifest.conditions.test
    row = run_row(run)
    row.update(labels_of(run))
    for one in procedure_of(test).report(run).measures:
        unit = f" ({one.unit})" if one.unit else ""
        row[f"{test}.{one.key}{unit}"] = one.comparable
    return row


def labels_of(run: Run) -> Row:
    """The run's labels by their columns."""
    return {f"{_LABEL}{name}": value for name, value in run.manifest.people.labels.items()}


def csv_text(rows: Sequence[Row], *, header: bool) -> str:
    """All rows below the union of their columns; missing values are empty.

    Columns of the run come first, then labels and measures.
    """
    names = dict.fromkeys(name for row in rows for name in row if name not in RUN_COLUMNS)
    labels = sorted(name for name in names if name.startswith(_LABEL))
    measures = [name for name in names if not name.startswith(_LABEL)]
    columns = [*RUN_COLUMNS, *labels, *measures]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow([spreadsheet_text(name) for name in columns])
    writer.writerows([[_field(row.get(name)) for name in columns] for row in rows])
    return text.getvalue()


def _field(value: str | float | None) -> str:
    if value is None:
        return ""
    return spreadsheet_text(value) if isinstance(value, str) else repr(value)


def _steady(run: Run) -> str | None:
    if run.manifest.conditions.steady_state is SteadyState.NONE:
        return "not looked for"
    finished = run.manifest.state is RunState.COMPLETE
    return _word(not unsteady_cycles(run)) if finished else None


def unsteady_cycles(run: Run) -> dict[int, CycleFinished]:
    """By their numbers, cycles that ended without the steady state that their test looks for."""
    if run.manifest.conditions.steady_state is SteadyState.NONE:
        return {}
    cycles = enumerate(run.manifest.cycles, start=1)
    return {number: cycle for number, cycle in cycles if cycle.outcome.steady_round is None}


def _word(value: bool) -> str:
    return "yes" if value else "no"
