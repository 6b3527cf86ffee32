"""Builds reports from the parts of runs: all pages, or the short form; no clock, no device, no file."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from openpts.procedures.kit.header import date_and_time, drive_name, purge_method, target_kind
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.report.cover_page import cover_page, executive_page, run_tables
from openpts.report.record_files import RecordFile, files_page
from openpts.report.run_part import RunPart, in_order, merged_page, part_of
from openpts.report.sources import default_date
from openpts.run_folder_files import file_name_word
from openpts.units import format_capacity
from openpts.vocabulary.drive_class import CACHE_DISABLED, DriveClass
from openpts_pages.facts_table import items_table
from openpts_pages.kit import rows_table
from openpts_pages.measure import Style
from openpts_pages.model import Block, Page, Report, Section, Table, Verdict
from openpts_pages.texts import brief, fact_text

_FORMAT: Final = "Format of SNIA SSS PTS 2.0.1; not certified by SNIA"
_BEYOND: Final = "Tests that are not part of SNIA SSS PTS; not certified by SNIA"
_LONGEST_STEM: Final = 120
_ANNEX: Final = ("-preparation", "-energy", "-media-writes")  # ends of pages' ids
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
    return replace(report, footer=f"{report.footer}  |  {_digest(report)}")


def _drive(manifest: Manifest) -> Iterator[str]:
    yield drive_name(manifest)
    yield format_capacity(manifest.target.user_capacity_bytes)
    if firmware := fact_text(manifest.dut, "firmware", ""):
        yield f"firmware {firmware}"


def _cache_text(part: RunPart) -> str:
    """Of a drive whose volatile write cache was switched off for its class: users have it otherwise."""
    one = part.manifest
    switched_off = (
        one.conditions.of_specification
        and one.conditions.drive_class is DriveClass.ENTERPRISE
        and any(cache.is_off for cache in one.write_caches)
        and procedure_of(one.conditions.test).caches_of_client
    )
    return CACHE_DISABLED if switched_off else ""


def _held_by(parts: Sequence[RunPart], text_of: Callable[[RunPart], str]) -> Iterator[str]:
    """Each text once; one that does not hold for all runs names those that it holds for."""
    names: dict[str, list[str]] = {}
    for part in parts:
        if text := text_of(part):
            names.setdefault(text, []).append(part.name)
    for text, of_text in names.items():
        yield text if len(of_text) == len(parts) else f"{', '.join(of_text)}: {text}"


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
    kind = "IMPORTED " if first.imported else "SIMULATED " if first.target.simulation else ""
    single = len(parts) == 1
    what = parts[0].title if single else f"{len(parts)} tests"
    form = _FORMAT if any(manifest.conditions.of_specification for manifest in manifests) else _BEYOND
    classes = list(dict.fromkeys(manifest.conditions.class_text for manifest in manifests))
    if len({manifest.conditions.drive_class for manifest in manifests}) > 1:
        classes = list(_held_by(parts, lambda part: part.manifest.conditions.class_text))
    marks = (" / ".join(classes), *_held_by(parts, _cache_text))
    of_specification = style is Style.SPECIFICATION
    if not of_specification:
        parts = [replace(part, sections=tuple(map(_results_first, part.sections))) for part in parts]
    summary = cover_page(parts[0], style) if single else executive_page(parts, style)
    limits = [(part.name, part.limits) for part in parts if part.limits is not None]
    glossary = Page("glossary", "Glossary", (items_table("glossary-terms", "Terms", _TERMS),))
    results = (merged_page(limits),) if limits else ()
    setup = merged_page([(part.name, part.setup) for part in parts])
    if not of_specification:
        setup = replace(setup, blocks=(*run_tables(parts), *setup.blocks))
    annex = (
        setup,
        *_at(parts, "conformance"),
        *_at(parts, "audit"),
        merged_page([(part.name, part.conditions) for part in parts]),
        *_at(parts, ""),
    )
    report = Report(
        title=f"{kind}SSD Performance Test Report: {what}",
        subtitle=f"{', '.join(_drive(first))} - {'; '.join(marks)}",
        run_name=f"{brief(model)} - {test_id if single else ', '.join(part.name for part in parts)}",
        report_date=report_date,
        red_line="; ".join(_held_by(parts, lambda part: part.standing.red_line)),
        footer=f"{form}  |  {test_id if single else f'{what} from {test_id} on'}",
        front=(summary, *results, *(annex if of_specification else ())),
        sections=tuple(section for part in parts for section in part.sections),
        back=(*(() if of_specification else annex), *_at(parts, "back"), glossary),
        deviation_count=sum(part.deviation_count for part in parts),
        stem=_stem(parts),
        paper=paper,
        style=style,
    )
    test_ids = {part.folder: part.manifest.test_id for part in parts}
    return replace(report, back=(*report.back, files_page(report, files, test_ids)))


def _results_first(section: Section) -> Section:
    """The section with how its drive was prepared, and what it took, behind what was measured."""
    return replace(section, pages=tuple(sorted(section.pages, key=lambda page: page.id.endswith(_ANNEX))))


def _at(parts: Sequence[RunPart], place: str) -> Iterator[Page]:
    """The pages that come in by the door, those of all parts with one id as one."""
    found: dict[str, list[tuple[str, Page]]] = {}
    for part in parts:
        for page in part.pages_at(place):
            found.setdefault(page.id, []).append((part.name, page))
    return map(merged_page, found.values())


def _stem(parts: Sequence[RunPart]) -> str:
    """``<model>_<serial>_<UTC date>_<tests>``, in characters that every file system takes."""
    manifest = parts[0].manifest
    names = (
        fact_text(manifest.dut, "model", manifest.target.name),
        fact_text(manifest.dut, "serial", "no-serial"),
        min(part.manifest.started_at for part in parts)[:10],
        "-".join(part.name.lower().replace(" ", "") for part in parts),
    )
    return "_".join(file_name_word(name) or "unknown" for name in names)[:_LONGEST_STEM]


def _digest(report: Report) -> str:
    """Eight digits of a checksum, which distinguish reports, on paper as well."""
    return hashlib.sha256(msgspec.json.encode(report)).hexdigest()[:8]


_SHORT_FOOTER: Final = "Short report of openpts, not in the format of SNIA SSS PTS"


def short_report(parts: Sequence[RunPart], report_date: str, *, paper: str = "a4") -> Report:
    """The short report of the parts that runs of one drive gave; ``report_date`` is ISO 8601, UTC.

    Raises RecordError as ``report_of`` does.
    """
    ordered = in_order(parts)
    full = undigested(ordered, report_date, paper=paper)
    pages = []
    others: list[Block] = []
    for part in ordered:
        if short := procedure_of(part.test).part("short"):
            conditions = part.manifest.conditions
            introduction = Verdict(short.introduction(part.sections, conditions))
            blocks = (introduction, _run_table(part), *short.blocks(part.sections, conditions))
            pages.append(Page(f"short-{_name(part)}", part.title, blocks))
        else:
            others += (_run_table(part), *_by_key_values(part))
    if others:
        pages.append(Page("short-others", "Other tests" if pages else "Tests", tuple(others)))
    return replace(
        full,
        title=full.title.replace("Test Report", "Short Report"),
        footer=f"{_SHORT_FOOTER}  |  {full.footer.partition('  |  ')[2]}",
        red_line="; ".join(line for line in (full.red_line, *_health_lines(ordered)) if line),
        front=(_setup_page(ordered), *pages),
        sections=(),
        back=(),
        style="short",
        stem=f"{full.stem}_short",
    )


def _health_lines(parts: Sequence[RunPart]) -> list[str]:
    """What the full report has on the pages of its tests."""
    return [
        alert if len(parts) == 1 else f"{part.name}: {alert}"
        for part in parts
        for alert in part.health_alerts
    ]


def _by_key_values(part: RunPart) -> list[Block]:
    """For a test that TKperf does not know."""
    return [
        *part.verdicts,
        rows_table(
            f"short-{_name(part)}-values",
            f"{part.title}: key values",
            "Key value:<1.6 | Result | Unit:<0.5",
            ((one.label, one.noted_cell, one.unit) for one in part.measures if one.is_key),
        ),
    ]


def _name(part: RunPart) -> str:
    return part.name.lower().replace(" ", "")


_MOST_NAMED: Final = 4

# TKP-GEN-01
_SHORT_TERMS: Final = (
    (
        "Workload",
        "Share of reads and writes in per cent: 100/0 only reads, 65/35 65 % reads, 0/100 only writes",
    ),
    ("Block size", "Bytes that one I/O moves, base 2: 1 KiB = 1,024 bytes; 0.5 KiB = 512 bytes"),
    (
        "Rates, capacities",
        "Base 10: 1 MB/s = 1,000,000 bytes per second, 1 GB = 1,000,000,000 bytes; what TKperf prints as "
        "MB/s is 1,048,576 bytes per second: divide a rate of this report by 1.048576 to compare it",
    ),
    ("Round", "One pass through all block sizes and workloads of a test; Rounds are counted from 1"),
    ("Measurement window", "The five Rounds in which steady state was found; without it the last five"),
    (
        "Tracking variable",
        "The figure by which steady state is judged, which other reports call the dependent variable",
    ),
    ("Jobs, I/O depth", "Threads that issue I/Os, and I/Os that each of them keeps in flight"),
)

# TKP-SS-01 to 03
_STEADY_STATE: Final = (
    "Steady state: over five Rounds the values of the tracking variable range over no more than 20 % of "
    "their average. The line that fits them best climbs or falls by no more than 10 % of it. A test ends "
    "when that holds, or unsteady after the most Rounds that it may have; its results say which."
)


# TKP-SET-01, 03, 04
def _setup_page(parts: Sequence[RunPart]) -> Page:
    """Device, tool and machine, as the runs' records have them; what words mean, and what is steady."""
    manifests = [part.manifest for part in parts]
    first = manifests[0]
    dut = first.dut

    def all_of(text_of: Callable[[Manifest], str]) -> str:
        return "; ".join(dict.fromkeys(map(text_of, manifests)))

    def generator(one: Manifest) -> str:
        keys = (key for key in ("engine", "build", "io_path") if key in one.engine)
        return ", ".join(fact_text(one.engine, key) for key in keys)

    items = (
        ("Tested device", drive_name(first)),
        ("S/N, firmware", f"{fact_text(dut, 'serial')}, {fact_text(dut, 'firmware')}"),
        ("User capacity", format_capacity(first.target.user_capacity_bytes)),
        ("Target", f"{first.target.name} - {target_kind(first)}"),
        ("Interface", fact_text(dut, "interface")),
        ("Test software", all_of(lambda one: fact_text(one.software, "test_software"))),
        ("I/O generator", all_of(generator)),
        ("Kernel", all_of(lambda one: fact_text(one.software, "kernel"))),
        ("Operating system", all_of(lambda one: fact_text(one.host, "operating_system"))),
        ("CPU", all_of(lambda one: fact_text(one.host, "cpu"))),
        ("Class", all_of(lambda one: one.conditions.class_text)),
    )
    setup = items_table("short-setup-table", "Device, tool and machine", items)
    terms = items_table("short-terms-table", "General information: terms", _SHORT_TERMS)
    blocks: tuple[Block, ...] = (setup, *_standings(parts), terms, Verdict(_STEADY_STATE))
    return Page("short-setup", "Set-up", blocks, mandatory=True)


def _standings(parts: Sequence[RunPart]) -> tuple[Verdict, ...]:
    """What each run may claim of the specification, once for those that may claim the same."""
    names: dict[tuple[str, bool], list[str]] = {}
    for part in parts:
        key = (part.standing.bottom_line, part.standing.conformant)
        names.setdefault(key, []).append(part.name)
    return tuple(
        Verdict(f"{', '.join(of_line)}: {line}", "pass" if conformant else "fail")
        for (line, conformant), of_line in names.items()
    )


# TKP-SET-02, 03
def _run_table(part: RunPart) -> Table:
    """Command line, date and demand of one run."""
    manifest = part.manifest
    return items_table(
        f"short-{_name(part)}-run",
        f"{part.title}: the run",
        (
            ("Command line", " ".join(("openpts", *manifest.command_line))),
            ("Date of the run", date_and_time(manifest.started_at)),
            ("Purge", purge_method(manifest)),
            ("Jobs (TC) and I/O depth (QD)", _demand(part)),
            ("State of the run", manifest.state.value),
            ("Test ID No.", manifest.test_id),
        ),
    )


def _demand(part: RunPart) -> str:
    """TC and QD that the run's steps applied."""
    applied = part.applied
    if not applied:
        return "no step was made"
    if len(applied) <= _MOST_NAMED:
        return "; ".join(f"TC {tc} / QD {qd}" for tc, qd in applied)
    tcs, qds = ([pair[n] for pair in applied] for n in (0, 1))
    return f"{len(applied)} combinations of TC {min(tcs)} to {max(tcs)} and QD {min(qds)} to {max(qds)}"
