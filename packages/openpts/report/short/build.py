"""Builds the short report out of the full one: its head, its red lines, some of its figures and tables."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.header import date_and_time, drive_name, purge_method, target_kind
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import Manifest
from openpts.report.build import undigested
from openpts.report.run_part import RunPart, in_order
from openpts.units import format_capacity
from openpts_pages.facts_table import items_table
from openpts_pages.kit import rows_table
from openpts_pages.model import Block, Page, Report, Table, Verdict
from openpts_pages.texts import fact_text

_FOOTER = "Short report of openpts, not in the format of SNIA SSS PTS"


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
        footer=f"{_FOOTER}  |  {full.footer.partition('  |  ')[2]}",
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
    """Table of key values for a test that TKperf does not know."""
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
_TERMS: Final = (
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
    "Steady state: over five Rounds the values of the tracking variable lie within 20 % of their average, "
    "largest minus smallest, and the line that fits them best climbs or falls by no more than 10 % of the "
    "average. A test ends when that holds, or unsteady after the most Rounds that it may have; its results "
    "say which."
)


# TKP-SET-01, 03, 04
def _setup_page(parts: Sequence[RunPart]) -> Page:
    """Device, tool and machine, as the runs' records have them; what words mean, and what is steady."""
    manifests = [part.manifest for part in parts]
    first = manifests[0]
    dut = first.dut

    def all_of(texts: Sequence[str]) -> str:
        return "; ".join(dict.fromkeys(texts))

    items = (
        ("Tested device", drive_name(first)),
        ("S/N, firmware", f"{fact_text(dut, 'serial')}, {fact_text(dut, 'firmware')}"),
        ("User capacity", format_capacity(first.target.user_capacity_bytes)),
        ("Target", f"{first.target.name} - {target_kind(first)}"),
        ("Interface", fact_text(dut, "interface")),
        ("Test software", all_of([fact_text(one.software, "test_software") for one in manifests])),
        ("I/O generator", all_of([_generator(part.manifest) for part in parts])),
        ("Kernel", all_of([fact_text(one.software, "kernel") for one in manifests])),
        ("Operating system", all_of([fact_text(one.host, "operating_system") for one in manifests])),
        ("CPU", all_of([fact_text(one.host, "cpu") for one in manifests])),
        ("Class", all_of([one.conditions.class_text for one in manifests])),
    )
    setup = items_table("short-setup-table", "Device, tool and machine", items)
    terms = items_table("short-terms-table", "General information: terms", _TERMS)
    blocks: tuple[Block, ...] = (setup, *_standings(parts), terms, Verdict(_STEADY_STATE))
    return Page("short-setup", "Set-up", blocks, mandatory=True)


def _generator(manifest: Manifest) -> str:
    facts = manifest.engine
    return ", ".join(fact_text(facts, key) for key in ("engine", "build", "io_path") if key in facts)


def _standings(parts: Sequence[RunPart]) -> tuple[Verdict, ...]:
    """How each run stands to the specification, once for those that stand alike."""
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
    name = part.name.lower().replace(" ", "")
    return items_table(
        f"short-{name}-run",
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
