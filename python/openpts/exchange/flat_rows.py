"""A run as one flat row for spreadsheets and laboratory databases: what it is of, and its measures by key."""

import csv
import io
from collections.abc import Iterable, Sequence

from openpts.exchange.event_stream import fact_of
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.report.csv_files import harmless
from openpts.report.standing import standing_of
from openpts.vocabulary.requests import CycleFinished
from openpts.vocabulary.verdict import SteadyState

Row = dict[str, str | int | float | None]


def run_row(run: Run) -> Row:
    """What the run is of; the columns are the same for every run. ``mark`` says what it is not."""
    manifest, target = run.manifest, run.manifest.target
    standing = standing_of(run)
    return {
        "run": manifest.test_id,
        "test": manifest.conditions.test,
        "profile": manifest.conditions.class_text,
        "state": manifest.state.value,
        "mark": standing.red_line or None,
        "simulated": None if target.simulation is None else target.simulation.preset,
        "conformant": _word(standing.conformant),
        "steady": _steady(run),
        "deviations": len(run.ledger),
        "started_at": manifest.started_at,
        "ended_at": manifest.ended_at,
        "target": target.path,
        "model": fact_of(manifest.dut, "model"),
        "serial": fact_of(manifest.dut, "serial"),
        "firmware": fact_of(manifest.dut, "firmware"),
        "user_capacity_bytes": target.user_capacity_bytes,
        "sector_bytes": target.sector_bytes,
        "seed": manifest.conditions.seed,
        "software": fact_of(manifest.software, "test_software"),
        "operator": manifest.people.operator,
    }


def flat_row(run: Run) -> Row:
    """The same with the run's labels, and ``TEST.KEY (UNIT)`` for each measure.

    A maximum that stands in for a percentile has no value here.
    """
    test = run.manifest.conditions.test
    row = run_row(run)
    row.update({f"label.{name}": value for name, value in sorted(run.manifest.people.labels.items())})
    for one in procedure_of(test).report(run).measures:
        unit = f" ({one.unit})" if one.unit else ""
        row[f"{test}.{one.key}{unit}"] = None if one.stands_in else one.value
    return row


def csv_text(rows: Sequence[Row], *, header: bool) -> str:
    """All rows below the union of their columns, labels before measures; missing values are empty."""
    labels = [name for name in _union(rows) if name.startswith("label.")]
    others = [name for name in _union(rows) if name not in labels]
    fixed = len([name for name in others if "." not in name])
    columns = [*others[:fixed], *labels, *others[fixed:]]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow([harmless(name) for name in columns])
    writer.writerows([[_field(row.get(name)) for name in columns] for row in rows])
    return text.getvalue()


def _union(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _field(value: str | float | None) -> str:
    if value is None:
        return ""
    return harmless(value) if isinstance(value, str) else repr(value)


def _steady(run: Run) -> str | None:
    if run.manifest.conditions.steady_state is SteadyState.NONE:
        return "not looked for"
    finished = run.manifest.state is RunState.COMPLETE
    return _word(not unsteady_cycles(run)) if finished else None


def unsteady_cycles(run: Run) -> tuple[CycleFinished, ...]:
    """Cycles that ended without the steady state that their test looks for."""
    if run.manifest.conditions.steady_state is SteadyState.NONE:
        return ()
    return tuple(cycle for cycle in run.manifest.cycles if cycle.outcome.steady_round is None)


def _word(value: bool) -> str:
    return "yes" if value else "no"
