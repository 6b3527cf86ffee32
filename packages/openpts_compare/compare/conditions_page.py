"""Under which conditions the runs were made, and the red list of where they differ."""

from collections.abc import Sequence

from openpts.procedures.kit.header import date_and_time
from openpts.units import format_capacity
from openpts_compare.compare.conditions import ComparedConditions, ComparedField
from openpts_compare.compare.contenders import RunComparison
from openpts_pages import cells
from openpts_pages.kit import rows_table
from openpts_pages.model import Block, Cell, Column, Page, Table, Verdict
from openpts_pages.texts import brief, fact_text

PAGE_ID = "conformance"  # the badge of every HTML report leads there


def red_list(comparison: RunComparison, all_conditions: Sequence[ComparedConditions]) -> tuple[Block, ...]:
    """The top of a comparison: the conditions that differ, or that none do."""
    blocks: list[Block] = [*_mixed_labels(comparison)]
    differing = [(one, field) for one in all_conditions for field in one.differing]
    if not differing:
        same = "Host, class, options, kernel and engine are the same in all runs compared."
        return (*blocks, Verdict(same, "pass"))
    count = len(differing)
    noun = "condition differs" if count == 1 else "conditions differ"
    blocks.append(
        Verdict(
            f"NOT MADE ALIKE: {count} {noun} between the runs. That may be the cause of differences in the "
            "figures.",
            "fail",
        )
    )
    blocks += [
        _table(f"{table.test or 'shared'}-differing", f"{_of(table)}: what differs", table, table.differing)
        for table in all_conditions
        if table.differing
    ]
    return tuple(blocks)


def _mixed_labels(comparison: RunComparison) -> list[Verdict]:
    """Labels that hold several drives."""
    sentences = []
    for name in comparison.names:
        drives = dict.fromkeys(
            f"{fact_text(run.manifest.dut, 'model')} {fact_text(run.manifest.dut, 'serial')} "
            f"{format_capacity(run.manifest.target.user_capacity_bytes)}"
            for run in comparison.runs_of(name)
        )
        if len(drives) > 1:
            sentences.append(
                Verdict(
                    f"{name} holds runs of {len(drives)} drives ({', '.join(drives)}): its spread is "
                    "between drives, not between repeated runs of one drive.",
                    "fail",
                )
            )
    return sentences


def conditions_page(comparison: RunComparison, all_conditions: Sequence[ComparedConditions]) -> Page:
    """All fields side by side, and the runs with their records."""
    tables = [_table(table.test or "shared", _of(table), table, table.fields) for table in all_conditions]
    note = Verdict(
        "A field differs where compared runs have different values. Not judged: the identity of a drive "
        "(model, serial number, capacity; firmware if the models differ) and seeds."
    )
    return Page(PAGE_ID, "Conditions of the runs", (_runs_table(comparison), note, *tables), mandatory=True)


def _of(table: ComparedConditions) -> str:
    return f"Conditions of {table.test.upper()}" if table.test else "Conditions of all runs"


def _table(table_id: str, title: str, of: ComparedConditions, fields: Sequence[ComparedField]) -> Table:
    return rows_table(
        f"compare-conditions-{table_id}",
        title,
        (
            Column("Condition", align="left"),
            *(Column(name, align="left", width=1.5) for name in of.names),
            Column("", align="left", width=0.5),
        ),
        ((field.label, *(_cell(texts, field) for texts in field.values), _mark(field)) for field in fields),
    )


def _cell(texts: tuple[str, ...], field: ComparedField) -> Cell:
    return Cell(" | ".join(texts) or "-", tone="fail" if field.differs else "")


def _mark(field: ComparedField) -> Cell:
    if not field.judged:
        return Cell("not judged", tone="missing")
    return Cell("DIFFERS", tone="fail") if field.differs else Cell("same")


def _runs_table(comparison: RunComparison) -> Table:
    rows = (
        (
            test.test.upper(),
            one.name,
            brief(run.manifest.test_id),
            date_and_time(run.manifest.started_at),
            "cold" if run.cold else "warm",
            run.manifest.state.value,
            cells.count(len(run.run.ledger)),
        )
        for test in comparison.tests
        for one in test.contenders
        for run in one.runs
    )
    return rows_table(
        "compare-runs",
        "Runs compared",
        "Test:<0.5 | Drive or label:<1.3 | Test ID No.:<1.6 | Started:<1.35 | Counted as:<0.6 | "
        "State:<0.7 | Deviations:0.6",
        rows,
    )
