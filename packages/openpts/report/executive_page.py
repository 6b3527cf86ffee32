"""The executive summary of a report on several runs: one drive, its key values, the state of each test."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.header import date_and_time
from openpts.procedures.kit.standing import state_sentence
from openpts.record.manifest import RunState
from openpts.report.cover_page import (
    answer,
    health_verdicts,
    host_items,
    limit_verdicts,
    purge_and_cache,
    with_pages,
)
from openpts.report.purpose_box import purpose_tables
from openpts.report.run_part import RunPart
from openpts.report.trend_figures import trend_figures
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Cell, Page, Table, Verdict
from openpts_pages.style import Style
from openpts_pages.summary_table import key_values_table

_QUESTION: Final = "What does this drive do in {} tests?"


def executive_page(parts: Sequence[RunPart], style: Style) -> Page:
    """Drive, dates, a line for each key value, up to three small plots, and how each run ended."""
    summary, drive = _key_values(parts), _drive_table(parts)
    purposes = purpose_tables((part.name, part.purpose) for part in parts)
    figures, runs = trend_figures(parts), _runs_table(parts)
    if style is Style.SPECIFICATION:
        blocks: tuple[Block, ...] = (drive, *purposes, *_verdicts(parts), summary, *figures, runs)
    else:
        large = answer(parts, _QUESTION.format(len(parts)), summary, _first_of_each(summary))
        limits = (verdict for part in parts for verdict in limit_verdicts(part))
        blocks = (large, *limits, *_verdicts(parts), *figures, summary, runs, drive, *purposes)
    return Page("cover", "Executive summary", blocks, mandatory=True)


def _first_of_each(summary: Table) -> list[int]:
    """Where each test's first key value with a value is."""
    tests = [row.head.text if row.cells[1].value is not None else "" for row in summary.rows]
    return [tests.index(test) for test in dict.fromkeys(tests) if test]


def _drive_table(parts: Sequence[RunPart]) -> Table:
    manifests = [part.manifest for part in parts]
    begun = min(manifest.started_at for manifest in manifests)
    ended = max(manifest.ended_at or manifest.started_at for manifest in manifests)
    return items_table(
        "cover-drive",
        "Device and runs",
        [
            *parts[0].drive,
            ("Class", _each_once(manifest.conditions.class_text for manifest in manifests)),
            ("Test runs", f"{len(parts)}, {date_and_time(begun)} to {date_and_time(ended)}"),
            ("Purge; write cache", _each_once(purge_and_cache(manifest) for manifest in manifests)),
            *host_items(manifests[0]),
        ],
    )


def _each_once(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(texts))


def _verdicts(parts: Sequence[RunPart]) -> list[Verdict]:
    """What every reader has to know before a figure: runs that did not end well, and what may be claimed."""
    complete = [part for part in parts if part.manifest.state is RunState.COMPLETE]
    troubles = [
        Verdict(f"{part.name}: {sentence}", "fail")
        for part in parts
        if part not in complete
        for sentence in (state_sentence(part.manifest), *(one.text for one in part.failures))
    ]
    alerts = [
        Verdict(f"{part.name}: {alert.text}", "fail") for part in parts for alert in health_verdicts(part)
    ]
    of_specification = [part for part in parts if part.manifest.conditions.of_specification]
    conformant = [part.name for part in of_specification if part.standing.conformant]
    verdicts = [
        Verdict(f"{len(complete)} of {len(parts)} runs were completed.", "fail" if troubles else "pass"),
        *troubles,
        *alerts,
    ]
    if of_specification:
        names = f": {', '.join(conformant)}" if conformant else ""
        verdicts.append(
            Verdict(
                f"{len(conformant)} of {len(of_specification)} runs are conformant with the specification"
                f"{names}. The conformance page has each deviation.",
                "pass" if len(conformant) == len(of_specification) else "fail",
            )
        )
    return verdicts


def _key_values(parts: Sequence[RunPart]) -> Table:
    """A line for each key value of each run."""
    tables = [
        with_pages(key_values_table(part.name, part.deviation_count, part.measures), part.sections)
        for part in parts
    ]
    return replace(tables[0], rows=tuple(row for table in tables for row in table.rows))


def _runs_table(parts: Sequence[RunPart]) -> Table:
    return rows_table(
        "cover-runs",
        "Runs",
        "Test:<0.5 | Begun:<0.9 | Ended:<0.9 | How it ended:<0.7 | Deviations:^0.6 | "
        "Shall-requirements:<1.8 | Test ID No.:<1.3",
        (_run_row(part) for part in parts),
    )


def _run_row(part: RunPart) -> Cells:
    manifest = part.manifest
    count = part.deviation_count
    return (
        part.name,
        date_and_time(manifest.started_at),
        date_and_time(manifest.ended_at),
        Cell(str(manifest.state), tone="" if manifest.state is RunState.COMPLETE else "fail"),
        Cell(str(count), float(count), link="conformance"),
        part.standing.requirements or "not a test of PTS",
        manifest.test_id,
    )
