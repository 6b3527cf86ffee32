"""Builds a report from the records of runs: records in, report model out; no clock, no device, no file."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from openpts.procedures.kit.header import drive_name
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.report.cover_page import cover_page, executive_page
from openpts.report.record_files import RecordFile, files_page
from openpts.report.run_part import RunPart, in_order, merged_page, part_of
from openpts.report.sources import default_date
from openpts.run_folder_files import file_name_word
from openpts.units import format_capacity
from openpts_pages.facts_table import items_table
from openpts_pages.model import Page, Report
from openpts_pages.style import Style
from openpts_pages.texts import brief, fact_text

_FORMAT: Final = "Format of SNIA SSS PTS 2.0.1; not certified by SNIA"
_BEYOND: Final = "Tests that are not part of SNIA SSS PTS; not certified by SNIA"
_LONGEST_STEM: Final = 120
_TERMS: Final = (
    ("AR", "Active Range: the LBAs that the test may touch, as a share of the user capacity"),
    ("ART", "Average response time: mean time from submission to completion of an I/O"),
    (
        "Confidence level",
        "Share of I/Os that were completed within a response time; the same as a percentile",
    ),
    ("Conformant", "A finished run at full length on a raw drive, with no deviation in its ledger"),
    ("Deviation", "What a run does otherwise than the specification asks, with the effect on comparisons"),
    ("Drive fill", "User data written, in units of the user capacity"),
    ("DUT", "Device under test"),
    ("FOB", "Fresh out of the box: as after a purge"),
    ("GB, MB/s", "Powers of ten: 1 GB = 10^9 bytes"),
    ("IOPS", "I/Os completed per second"),
    ("KiB, MiB", "Powers of two: 1 KiB = 1,024 bytes; sizes of transfers"),
    ("Measurement Window", "The five Rounds over which steady state was found, or the last five"),
    ("MRT", "Maximum response time of all I/Os"),
    ("n 9s", "Percentile of n nines: 3 9s is 99.9 %. Stated only where at least 10^n I/Os were timed"),
    ("Preconditioning", "Writes before the measurement, which bring the drive into a defined state"),
    ("Purge", "Brings the drive as near as possible to the state before its first use"),
    ("QD", "Queue depth: I/Os that each thread keeps in flight"),
    ("RND, SEQ", "Random, sequential"),
    ("Round", "One pass through all test points"),
    ("RW 65", "65 % of the I/Os are reads; 65/35 also gives the share of writes"),
    ("Steady state", "Range at most 20 % and slope at most 10 % of the average over the Measurement Window"),
    ("TC", "Thread count"),
    ("TGBW", "Total GB written since the purge"),
    ("TOIO, OIO", "I/Os in flight in total: TC times QD"),
    ("Tracking variable", "The figure by which steady state is judged"),
    ("WCD, WCE", "Volatile write cache disabled, enabled"),
)


def build_report(run: Run, report_date: str = "") -> Report:
    """The report of one run, by default of the date on which it ended; see ``build_combined``."""
    return build_combined((run,), report_date or default_date(run))


def build_combined(runs: Sequence[Run], report_date: str) -> Report:
    """The report of runs of one drive, as data; ``report_date`` is ISO 8601, UTC.

    The same runs and date give an equal report. Raises RecordError for a test whose report openpts does not
    know, and for runs of several drives.
    """
    return report_of([part_of(run, report_date) for run in runs], report_date)


def report_of(
    parts: Sequence[RunPart],
    report_date: str,
    *,
    files: Sequence[RecordFile] = (),
    paper: str = "a4",
    style: Style = Style.FULL,
) -> Report:
    """The report of the parts that its runs gave, for the same date.

    ``files`` are those of the run folders, for the list at its end. Raises RecordError for parts of several
    drives.
    """
    report = undigested(in_order(parts), report_date, files=files, paper=paper, style=style)
    return msgspec.structs.replace(report, footer=f"{report.footer}  |  {_digest(report)}")


def _kind_of(manifest: Manifest) -> str:
    """The first word of the title of what is no measurement of a drive by openpts."""
    if manifest.imported is not None:
        return "IMPORTED "
    return "SIMULATED " if manifest.target.simulation else ""


def _drive(manifest: Manifest) -> Iterator[str]:
    yield drive_name(manifest)
    yield format_capacity(manifest.target.user_capacity_bytes)
    if firmware := fact_text(manifest.dut, "firmware", ""):
        yield f"firmware {firmware}"


def undigested(
    parts: Sequence[RunPart],
    report_date: str,
    *,
    files: Sequence[RecordFile] = (),
    paper: str = "a4",
    style: Style = Style.FULL,
) -> Report:
    """The report of parts in their order, before its footer gets the digest."""
    manifests = [part.manifest for part in parts]
    first = manifests[0]
    test_id = brief(first.test_id)
    model = fact_text(first.dut, "model", first.target.name)
    what = parts[0].title if len(parts) == 1 else f"{len(parts)} tests"
    form = _FORMAT if any(manifest.conditions.of_specification for manifest in manifests) else _BEYOND
    classes = " / ".join(dict.fromkeys(manifest.conditions.class_text for manifest in manifests))
    sections = tuple(section for part in parts for section in part.sections)
    summary = cover_page(parts[0], style) if len(parts) == 1 else executive_page(parts, style)
    limits = [(part.name, part.limits) for part in parts if part.limits is not None]
    report = Report(
        title=f"{_kind_of(first)}SSD Performance Test Report: {what}",
        subtitle=f"{', '.join(_drive(first))} - {classes}",
        run_name=f"{brief(model)} - {test_id if len(parts) == 1 else ', '.join(part.name for part in parts)}",
        report_date=report_date,
        red_line=_red_line(parts),
        footer=f"{form}  |  {test_id if len(parts) == 1 else f'{len(parts)} tests from {test_id} on'}",
        front=(
            summary,
            *((merged_page(limits),) if limits else ()),
            _of_all(parts, lambda part: part.setup),
            *_at(parts, "conformance"),
            *_at(parts, "audit"),
            _of_all(parts, lambda part: part.conditions),
            *_at(parts, ""),
        ),
        sections=sections,
        back=(*_at(parts, "back"), glossary_page()),
        deviation_count=sum(part.deviation_count for part in parts),
        stem=_stem(parts),
        paper=paper,
        style=style,
    )
    test_ids = {part.folder: part.manifest.test_id for part in parts}
    return msgspec.structs.replace(report, back=(*report.back, files_page(report, files, test_ids)))


def _at(parts: Sequence[RunPart], place: str) -> Iterator[Page]:
    """The pages that come in by the door, those of all parts with one id as one."""
    found: dict[str, list[tuple[str, Page]]] = {}
    for part in parts:
        for page in part.pages_at(place):
            found.setdefault(page.id, []).append((part.name, page))
    return map(merged_page, found.values())


def _of_all(parts: Sequence[RunPart], page_of: Callable[[RunPart], Page]) -> Page:
    return merged_page([(part.name, page_of(part)) for part in parts])


def _red_line(parts: Sequence[RunPart]) -> str:
    """The red lines of the report; a line that does not hold for all runs names those that it holds for."""
    names: dict[str, list[str]] = {}
    for part in parts:
        if part.standing.red_line:
            names.setdefault(part.standing.red_line, []).append(part.name)
    return "; ".join(
        line if len(of_line) == len(parts) else f"{', '.join(of_line)}: {line}"
        for line, of_line in names.items()
    )


def _stem(parts: Sequence[RunPart]) -> str:
    """``<model>_<serial>_<UTC date>_<tests>``, in characters that every file system takes."""
    manifest = parts[0].manifest
    words = (
        fact_text(manifest.dut, "model", manifest.target.name),
        fact_text(manifest.dut, "serial", "no-serial"),
        min(part.manifest.started_at for part in parts)[:10],
        "-".join(part.name.lower().replace(" ", "") for part in parts),
    )
    return "_".join(file_name_word(word) or "unknown" for word in words)[:_LONGEST_STEM]


def _digest(report: Report) -> str:
    """Eight digits of a checksum, which distinguish reports, on paper as well."""
    return hashlib.sha256(msgspec.json.encode(report)).hexdigest()[:8]


def glossary_page() -> Page:
    """The page of terms and signs, the same in every report (PTS 2.1, 2.2)."""
    return Page("glossary", "Glossary", (items_table("glossary-terms", "Terms", _TERMS),))
