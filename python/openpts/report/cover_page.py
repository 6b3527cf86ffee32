"""The cover: what was measured, on which drive, and the figures that most readers want first."""

from collections.abc import Sequence

from msgspec.structs import replace

from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, StepRecord
from openpts.report.facts_table import items_table
from openpts.report.header import KINDS, date_and_time, drive_name, of_cycle, purge_method, write_cache
from openpts.report.model import Cell, Column, Page, Section, Table, Verdict
from openpts.report.printable import capitalised, fact_text, person_text, printable
from openpts.report.run_part import RunPart
from openpts.report.simulated_drive import simulation_items
from openpts.report.standing import state_sentence
from openpts.units import format_capacity
from openpts.vocabulary.sample import StepState


def cover_page(part: RunPart) -> Page:
    """Cover and executive summary of a report on one run."""
    run, standing = part.run, part.standing
    ended = Verdict(
        state_sentence(run.manifest), "pass" if run.manifest.state is RunState.COMPLETE else "fail"
    )
    deviations = Verdict(standing.bottom_line, "pass" if standing.conformant else "fail")
    summary = with_pages(part.content.summary, part.sections)
    return Page(
        "cover",
        "Executive summary",
        (
            _drive_table(run),
            ended,
            *failures(run),
            *health_verdicts(part),
            *part.content.verdicts,
            deviations,
            summary,
        ),
        mandatory=True,
    )


def health_verdicts(part: RunPart) -> tuple[Verdict, ...]:
    """What the drive's own log says against the run."""
    return tuple(Verdict(f"{capitalised(alert)}.", "fail") for alert in part.health_alerts)


def with_pages(summary: Table, sections: Sequence[Section]) -> Table:
    """The summary with the page on which each test begins; without pages it stays as it is."""
    if not sections or not sections[0].pages:
        return summary
    link = Cell("", link=sections[0].pages[0].id)
    return replace(
        summary,
        columns=(*summary.columns, Column("Page", align="center", width=0.5)),
        rows=tuple(replace(row, cells=(*row.cells, link)) for row in summary.rows),
    )


def _drive_table(run: Run) -> Table:
    manifest = run.manifest
    return items_table(
        "cover-drive",
        "Device and run",
        [
            *drive_items(run),
            ("Class", manifest.conditions.class_text),
            ("Test run", f"{date_and_time(manifest.started_at)} to {date_and_time(manifest.ended_at)}"),
            ("Purge; write cache", purge_and_cache(manifest)),
            *host_items(manifest),
            ("Test ID No.", printable(manifest.test_id)),
        ],
    )


def drive_items(run: Run) -> list[tuple[str, str]]:
    """The drive: name, numbers, size, what stands behind the target, interface."""
    dut, target = run.manifest.dut, run.manifest.target
    return [
        ("Drive", drive_name(run.manifest)),
        ("S/N, firmware", f"{fact_text(dut, 'serial')}, {fact_text(dut, 'firmware')}"),
        ("User capacity", format_capacity(target.user_capacity_bytes)),
        ("Target", f"{printable(target.name)} - {KINDS[target.kind]}"),
        *simulation_items(run),
        ("Interface", fact_text(dut, "interface")),
    ]


def host_items(manifest: Manifest) -> list[tuple[str, str]]:
    """The machine and the people."""
    people = manifest.people
    return [
        (
            "Simulated on" if manifest.target.simulation else "Host",
            f"{fact_text(manifest.host, 'cpu')}; {fact_text(manifest.host, 'operating_system')}",
        ),
        (
            "Operator, auditor, sponsor",
            ", ".join(person_text(name) for name in (people.operator, people.auditor, people.sponsor)),
        ),
    ]


def purge_and_cache(manifest: Manifest) -> str:
    """How the first cycle's purge and write cache came out."""
    purge, cache = of_cycle(manifest.purges, 1), of_cycle(manifest.write_caches, 1)
    return f"{purge_method(purge)}; {write_cache(cache)}"


def failures(run: Run) -> tuple[Verdict, ...]:
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
