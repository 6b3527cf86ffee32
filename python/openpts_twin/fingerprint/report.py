"""The report of a fingerprint: each of its figures."""

import math
from collections.abc import Iterator
from typing import Final

from openpts.errors import UsageError
from openpts.pages import cells
from openpts.pages.kit import rows_table
from openpts.pages.measure import NOT_MEASURED, Measured, key_of
from openpts.pages.model import Cell, Page, Verdict
from openpts.pages.texts import capitalised
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows
from openpts.procedures.kit.host_limits import busy_host
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology, state_page
from openpts.record.reader import Run
from openpts.units import format_duration
from openpts.vocabulary.better import Better
from openpts.vocabulary.condition_text import data_text
from openpts_twin.fingerprint import FingerprintConditions
from openpts_twin.fingerprint.features import FLASH, Fingerprint, fingerprint_of
from openpts_twin.fingerprint.script import MOST_COLLECTING, PROBES, WINDOW

_TITLE: Final = "Fingerprint"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    try:
        found = fingerprint_of(run)
        text = "`openpts fingerprint` compares these figures with those of other runs."
    except UsageError:
        found, text = {}, f"The run has no fingerprint: {busy_host(run) or 'it was cut off'}."
    return ReportContent(
        verdicts=(Verdict(text),),
        measures=tuple(_measures(found)),
        sections=methodology(
            run, _TITLE, _test_rows(run), lambda: (state_page(run, "Purge and Pass"), _page(found, text))
        ),
        figures=lambda: {name: math.exp(value) for name, value in found.items()},
    )


def _measures(found: Fingerprint) -> Iterator[Measured]:
    for name in dict.fromkeys((FLASH, *found)):
        value = math.exp(found[name]) if name in found else None
        cell = cells.missing(NOT_MEASURED) if value is None else Cell(f"{value:,.6g}", value)
        label, shown = capitalised(name), name == FLASH
        yield Measured(key_of(name), label, "", cell, Better.UNJUDGED, on_cover=shown, cover_label=label)


def _test_rows(run: Run) -> Rows:
    conditions = run.conditions(FingerprintConditions)
    return (
        ("Data Pattern", data_text(conditions.data)),
        ("AR & Amount", f"{conditions.active_range.start_pct:g} to {conditions.active_range.end_pct:g} %"),
        ("Test Stimulus", f"{len(PROBES)} loads"),
        ("Length of a load", format_duration(conditions.probe_ns)),
        ("Pass", "SEQ 128 KiB W, TC 1 / QD 32"),
        ("Stimulus of the sweep", "RND 64 KiB W, TC 1 / QD 32"),
        ("Window of the sweep", f"{100 * WINDOW:g} % of the range"),
        ("Sweep ends", f"at most {MOST_COLLECTING} windows after collection began"),
        ("Bursts", "RND 64 KiB W, TC 1 / QD 8"),
        ("Steady State", NO_STEADY_STATE),
    )


def _page(found: Fingerprint, text: str) -> Page:
    rows = ((name, f"{math.exp(value):,.6g}") for name, value in found.items())
    note = "Times in ns, rates in I/Os or bytes per second, the buffer in bytes, the rest are ratios."
    table = rows_table("fingerprint-figures", "Figures", "Figure:<2 | Value", rows, note=note)
    return Page("fingerprint", _TITLE, (Verdict(text), table), mandatory=True)
