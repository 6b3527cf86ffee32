"""The report of an x-ray: the findings, then what each was read from."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from openpts.pages import cells
from openpts.pages.kit import Col, page, table
from openpts.pages.measure import Measured
from openpts.pages.model import Cell, Page, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, stimulus_rows
from openpts.procedures.shared.methodology import methodology, state_page
from openpts.record.reader import Run
from openpts.units import GB, MB, format_capacity, format_duration
from openpts.vocabulary.better import Better
from openpts_twin.findings import FINDINGS, Finding
from openpts_twin.xray.pages import SUMMARY, evidence_pages
from openpts_twin.xray.properties import findings_of
from openpts_twin.xray.results import XrayRun, xray_run

_TITLE: Final = "X-Ray"
LABELS: Final = {
    "cache_bytes": "Cache in single-bit cells, empty drive",
    "cache_half_full_bytes": "The same, half of the drive in use",
    "cache_policy": "Size of the cache",
    "page_mapped.idle.folds": "Cache emptied in idle time",
    "page_mapped.mapping.physical_per_user": "Flash behind the user capacity",
    "page_mapped.mapping.unit_pages": "Unit of the map",
    "page_mapped.geometry.chunk_pages": "Pages in a row on one unit of the flash",
    "page_mapped.geometry.dies": "Units that work at the same time",
    "page_mapped.collection.victim": "Blocks that are collected",
    "collects_in_idle": "Collection in idle time",
    "throttles_from_c": "Slowed down by heat from",
    "read_ahead": "Read-ahead",
}
_DECIMALS: Final = {
    "cache_bytes": 2,
    "page_mapped.mapping.physical_per_user": 3,
    "page_mapped.geometry.dies": 0,
}
"""Properties that are compared, as key values, and how exact they are shown."""


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = xray_run(run)
    findings = findings_of(found)
    return ReportContent(
        verdicts=tuple(_verdicts(findings)),
        measures=tuple(_measures(findings)),
        sections=methodology(run, _TITLE, _test_rows(found), lambda: _pages(found, findings)),
        figures=lambda: _list_figures(found, findings),
    )


def _label(one: Finding) -> str:
    return LABELS.get(one.name, one.name)


def _write_value(one: Finding) -> str:
    if one.value is None:
        return "can't tell"
    if isinstance(one.value, bool):
        return "yes" if one.value else "no"
    if one.unit == "bytes" and isinstance(one.value, int):
        return format_capacity(one.value) if one.value else "none"
    return f"{one.value} {one.unit}".strip()


def _verdicts(findings: tuple[Finding, ...]) -> Iterator[Verdict]:
    told = [one for one in findings if one.is_told]
    yield Verdict(f"X-ray: {len(told)} of {len(findings)} properties told.")
    for one in told:
        if one.name in _DECIMALS:
            continue  # a key value
        yield Verdict(f"{_label(one)}: {_write_value(one)} ({one.confidence} confidence).", "info")


def _measures(findings: tuple[Finding, ...]) -> Iterator[Measured]:
    for one in findings:
        if one.name in _DECIMALS:
            number = one.value if isinstance(one.value, int | float) else None
            per, unit, decimals = (GB, "GB", 2) if one.unit == "bytes" else (1, one.unit, _DECIMALS[one.name])
            cell = cells.missing("can't tell") if number is None else cells.number(number / per, decimals)
            label = _label(one)
            yield Measured(one.name, label, unit, cell, Better.UNJUDGED, cover_label=label)


def _pages(found: XrayRun, findings: tuple[Finding, ...]) -> tuple[Page, ...]:
    return (_summary_page(findings), *evidence_pages(found), state_page(found.run, "Purge"))


def _summary_page(findings: tuple[Finding, ...]) -> Page:
    columns: list[Col[Finding]] = [
        Col(
            "Found",
            lambda one: cells.words(_write_value(one), tone="" if one.is_told else "missing"),
            align="left",
        ),
        Col(
            "Confidence",
            lambda one: Cell("-" if one.confidence is None else str(one.confidence)),
            align="left",
        ),
        Col("Evidence", lambda one: Cell(one.evidence), align="left", width=4),
        Col(
            "Name in a preset", lambda one: Cell(one.name if "." in one.name else "-"), align="left", width=2
        ),
    ]
    head: Col[Finding] = Col("Property", lambda one: Cell(_label(one)), align="left", width=2)
    rule = Verdict(
        "High: two readings agree, or one is so clear that noise can't make it. Low: one reading near its "
        "limit. What the evidence does not decide is left open. All of it is what the host sees: a "
        "controller may be built otherwise and behave like this."
    )
    return page(SUMMARY, table(f"{SUMMARY.id}-findings", SUMMARY.title, head, columns, findings), rule)


def _test_rows(found: XrayRun) -> Rows:
    return stimulus_rows(
        found.run,
        ("Test Stimulus 1", "Pairs of RND 4 KiB reads at growing distances"),
        ("Test Stimulus 2", "SEQ 128 KiB W, the drive twice; RND 64 KiB W until spare flash runs out"),
        ("TOIO - TC/QD", "32 - TC 1/QD 32"),
        ("Test Stimulus 3", "RND 4 to 64 KiB W, aligned to their size and half of it"),
        ("Test Stimulus 4", "Bursts of RND 64 KiB W"),
        ("TOIO - TC/QD", "8 - TC 1/QD 8"),
        ("Test Stimulus 5", "RND 64 KiB W to a small part"),
        ("Longest idle time", format_duration(found.asked.longest_idle_ns)),
    )


def _list_figures(found: XrayRun, findings: tuple[Finding, ...]) -> dict[str, Any]:
    """Findings and what they were read from, JSON-ready."""
    return {
        FINDINGS: msgspec.to_builtins(findings),
        "fill": [[one.start_bytes, one.bytes_per_s / MB] for one in found.fill],
        "pairs_of_reads": [[pages, latency_ns / 1e6] for pages, latency_ns in found.pairs_ns],
        "random_mb_per_s": [one.bytes_per_s / MB for one in found.random],
        "again_mb_per_s": [one.bytes_per_s / MB for one in found.again],
        "hot_mb_per_s": [one.bytes_per_s / MB for one in found.hot],
    }
