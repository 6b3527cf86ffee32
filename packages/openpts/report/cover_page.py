"""The cover: what was measured, on which drive, and the figures that most readers want first."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.header import date_and_time, of_cycle, purge_method, write_cache
from openpts.procedures.kit.standing import state_sentence
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import Manifest, RunState
from openpts.report.plain_words import card_words
from openpts.report.purpose_box import purpose_tables
from openpts.report.run_part import RunPart
from openpts.report.trend_figures import lead_figure, trend_figures
from openpts_pages.facts_table import items_table
from openpts_pages.model import Answer, Block, Cell, Column, Page, Section, Table, Verdict
from openpts_pages.style import Style
from openpts_pages.summary_table import cover_table
from openpts_pages.texts import NOT_STATED, capitalised, fact_text

_MOST_LARGE: Final = 5


def cover_page(part: RunPart, style: Style) -> Page:
    """Cover and executive summary of a report on one run."""
    manifest, standing = part.manifest, part.standing
    ended = Verdict(state_sentence(manifest), "pass" if manifest.state is RunState.COMPLETE else "fail")
    not_conformant = "fail" if manifest.conditions.of_specification else "info"
    deviations = Verdict(standing.bottom_line, "pass" if standing.conformant else not_conformant)
    summary = with_pages(cover_table(part.short_title, part.deviation_count, part.measures), part.sections)
    drive = (_drive_table(part), *purpose_tables([(part.name, part.purpose)]))
    troubles = (*part.failures, *health_verdicts(part), *part.verdicts)
    if style is Style.SPECIFICATION:
        blocks: tuple[Block, ...] = (*drive, ended, *troubles, deviations, summary, *trend_figures([part]))
    else:
        lead = lead_figure(part)
        blocks = (
            answer([part], _question(part), summary, range(len(summary.rows))),
            *limit_verdicts(part),
            *(() if ended.tone == "pass" else (ended,)),
            *troubles,
            deviations,
            *(() if lead is None else (lead,)),
            summary,
            *drive,
        )
    return Page("cover", "Executive summary", blocks, mandatory=True)


def _question(part: RunPart) -> str:
    return part.manifest.conditions.question or procedure_of(part.test).question


def answer(parts: Sequence[RunPart], question: str, summary: Table, places: Iterable[int]) -> Answer:
    """The question with the first of the key values that were measured, of those at these places."""
    of_several = len(parts) > 1
    words = {
        (part.name, one.label) if of_several else (part.short_title, one.cover_label): card_words(one)
        for part in parts
        for one in part.measures
    }
    measured = [place for place in places if summary.rows[place].cells[1].value is not None][:_MOST_LARGE]
    named = [(summary.rows[place].head.text, summary.rows[place].cells[0].text) for place in measured]
    return Answer(question, summary.id, tuple(measured), tuple(words[name] for name in named), of_several)


def limit_verdicts(part: RunPart) -> tuple[Verdict, ...]:
    """What the limits say that the run was ordered with."""
    return tuple(block for block in part.limits.blocks if isinstance(block, Verdict)) if part.limits else ()


def health_verdicts(part: RunPart) -> tuple[Verdict, ...]:
    """The red lines from the drive's own log."""
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


def _drive_table(part: RunPart) -> Table:
    manifest = part.manifest
    return items_table(
        "cover-drive",
        "Device and run",
        [
            *part.drive,
            ("Class", manifest.conditions.class_text),
            ("Test run", f"{date_and_time(manifest.started_at)} to {date_and_time(manifest.ended_at)}"),
            *((("Simulated time", part.simulated_time),) if part.simulated_time else ()),
            ("Purge; write cache", purge_and_cache(manifest)),
            *host_items(manifest),
            ("Test ID No.", manifest.test_id),
        ],
    )


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
            ", ".join(name or NOT_STATED for name in (people.operator, people.auditor, people.sponsor)),
        ),
        *([("Labels", labels)] if (labels := labels_text(people.labels)) else []),
    ]


def labels_text(labels: Mapping[str, str]) -> str:
    """Free labels of a run: ``lot 7, ticket QA-12``."""
    return ", ".join(f"{name} {value}" for name, value in labels.items())


def purge_and_cache(manifest: Manifest) -> str:
    """How the first cycle's purge and write cache came out."""
    return f"{purge_method(manifest)}; {write_cache(of_cycle(manifest.write_caches, 1))}"
