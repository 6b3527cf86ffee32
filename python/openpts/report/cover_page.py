"""The cover: what was measured, on which drive, and the figures that most readers want first."""

from openpts.record.manifest import RunState
from openpts.record.reader import Run, StepRecord
from openpts.report import cells
from openpts.report.facts_table import items_table
from openpts.report.header import KINDS, date_and_time, drive_name, of_cycle, purge_method, write_cache
from openpts.report.model import Cell, Column, Page, Row, Table, Verdict
from openpts.report.printable import capitalised, fact_text, person_text, printable
from openpts.report.simulated_drive import simulation_items
from openpts.report.standing import Standing, state_sentence
from openpts.units import format_capacity
from openpts.vocabulary.sample import StepState


def cover_page(run: Run, standing: Standing, verdicts: tuple[Verdict, ...], summary: Table) -> Page:
    """Cover and executive summary of a report on one test."""
    ended = Verdict(
        state_sentence(run.manifest), "pass" if run.manifest.state is RunState.COMPLETE else "fail"
    )
    deviations = Verdict(standing.bottom_line, "pass" if standing.conformant else "fail")
    return Page(
        "cover",
        "Executive summary",
        (_drive_table(run), ended, *_failures(run), *verdicts, deviations, summary),
        mandatory=True,
    )


def summary_table(test: str, state: str, deviations: int, values: tuple[tuple[str, Cell, str], ...]) -> Table:
    """Key values of one test: name, cell and unit of each."""
    return Table(
        id="summary",
        title="Key values",
        head=Column("Test", align="left", width=0.6),
        columns=(
            Column("Key value", align="left", width=1.4),
            Column("Result", width=1),
            Column("Unit", align="left", width=0.5),
            Column("Steady State", align="left", width=1.2),
            Column("Deviations", align="center", width=0.7),
        ),
        rows=tuple(
            Row(
                Cell(test),
                (Cell(name), cell, Cell(unit), Cell(state), Cell(str(deviations), float(deviations))),
            )
            for name, cell, unit in values
        ),
    )


def _drive_table(run: Run) -> Table:
    manifest = run.manifest
    dut, target = manifest.dut, manifest.target
    kind = KINDS[target.kind]
    return items_table(
        "cover-drive",
        "Device and run",
        [
            ("Drive", drive_name(manifest)),
            ("S/N, firmware", f"{fact_text(dut, 'serial')}, {fact_text(dut, 'firmware')}"),
            ("User capacity", format_capacity(target.user_capacity_bytes)),
            ("Target", f"{printable(target.name)} - {kind}"),
            *simulation_items(run),
            ("Interface", fact_text(dut, "interface")),
            ("Class", manifest.conditions.profile.revision),
            ("Test run", f"{date_and_time(manifest.started_at)} to {date_and_time(manifest.ended_at)}"),
            (
                "Purge; write cache",
                f"{purge_method(of_cycle(manifest.purges, 1))}; "
                f"{write_cache(of_cycle(manifest.write_caches, 1))}",
            ),
            (
                "Simulated on" if target.simulation else "Host",
                f"{fact_text(manifest.host, 'cpu')}; {fact_text(manifest.host, 'operating_system')}",
            ),
            (
                "Operator, auditor, sponsor",
                ", ".join(
                    person_text(name)
                    for name in (manifest.people.operator, manifest.people.auditor, manifest.people.sponsor)
                ),
            ),
            ("Test ID No.", printable(manifest.test_id)),
        ],
    )


def _failures(run: Run) -> tuple[Verdict, ...]:
    """Each failed I/O with all that is known of it."""
    return tuple(
        Verdict(_failure_sentence(step), "fail")
        for step in run.steps
        if step.sample.state is StepState.FAILED
    )


def _failure_sentence(step: StepRecord) -> str:
    where = capitalised(str(step.place))
    failure = step.sample.failure
    if failure is None:
        return f"{where} ({step.sample.step}) failed; the reason was not recorded."
    what = printable(failure.operation)
    if failure.length_bytes:  # a flush has neither length nor place
        what += f" of {failure.length_bytes:,} bytes at offset {failure.offset_bytes:,}"
    return f"{where} ({step.sample.step}): {what} failed: {printable(failure.reason)}"


def key_value(value: float | None) -> Cell:
    """A whole number of the summary, or n/a."""
    return cells.missing("not measured") if value is None else cells.number(value, 0)
