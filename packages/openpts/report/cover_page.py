"""The front of a report: cover, executive summary, trend figures."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from openpts.analysis.latency import nines_percentile
from openpts.procedures.kit.header import date_and_time, of_cycle, purge_method, write_cache
from openpts.procedures.kit.standing import state_sentence
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import Manifest, RunState
from openpts.report.run_part import RunPart
from openpts.report.setup_page import purpose_tables
from openpts_pages.facts_table import items_table
from openpts_pages.kit import rows_table
from openpts_pages.measure import Measured, Style, cover_table, key_values_table
from openpts_pages.model import (
    Answer,
    Axis,
    Block,
    Cell,
    Column,
    Figure,
    Page,
    Section,
    Series,
    Table,
    Verdict,
)
from openpts_pages.texts import NOT_STATED, capitalised, fact_text

_MOST: Final = 3
_MOST_TICKS: Final = 4
_MOST_SERIES: Final = 6
_LEAD_HEIGHT_PX: Final = 260
_WIDTH_PX: Final = 240
_HEIGHT_PX: Final = 190


def lead_figure(part: RunPart) -> Figure | None:
    """The first of the plots that the test has for its summary, or of its report, titled by its finding.

    A matrix keeps its height, as its cells have texts.
    """
    names = [name for _, name in sorted(procedure_of(part.test).trends.items())]
    found = [figure for name in names if (figure := _found(part, name)) is not None]
    figure = next(iter(found or _figures(part)), None)
    if figure is None:
        return None
    title = capitalised(figure.finding) or figure.title
    series = _at_most(figure.series, _MOST_SERIES)
    shown = f", {len(series)} of {len(figure.series)} shown" if len(series) < len(figure.series) else ""
    return replace(
        figure,
        id=f"lead-{figure.id}",
        title=title,
        alt=f"{title}: {figure.title}{shown}",
        series=series,
        height_px=figure.height_px if figure.kind == "heat" else _LEAD_HEIGHT_PX,
        zoom_group="",
    )


def _at_most(series: Sequence[Series], most: int) -> tuple[Series, ...]:
    """Series with emphasis, and of the others some all over their order."""
    if len(series) <= most:
        return tuple(series)
    others = [place for place, one in enumerate(series) if not one.emphasis]
    left = most - (len(series) - len(others))
    kept = {others[round(n * (len(others) - 1) / max(left - 1, 1))] for n in range(left)}
    return tuple(one for place, one in enumerate(series) if one.emphasis or place in kept)


def trend_figures(parts: Sequence[RunPart]) -> list[Figure]:
    """The first of the plots that the tests have for it, as far as the report has them.

    Several runs of a test have the same plot side by side: where it does not fit for all of them, the next
    one is taken. The first plot is there in any case, of as many runs as fit.
    """
    trends = sorted({trend for part in parts for trend in procedure_of(part.test).trends.items()})
    found: list[Figure] = []
    for _, name in trends:
        of_runs = [figure for part in parts if (figure := _of_run(part, name)) is not None]
        if not found or len(found) + len(of_runs) <= _MOST:
            found += of_runs[:_MOST]
    return found


def _figures(part: RunPart) -> Iterator[Figure]:
    blocks = (block for section in part.sections for page in section.pages for block in page.blocks)
    return (block for block in blocks if isinstance(block, Figure))


def _found(part: RunPart, name: str) -> Figure | None:
    return next((figure for figure in _figures(part) if figure.id == f"{part.prefix}{name}"), None)


def _of_run(part: RunPart, name: str) -> Figure | None:
    figure = _found(part, name)
    if figure is None or figure.kind == "heat":  # too small for the texts of its cells
        return None
    return replace(
        figure,
        id=f"trend-{figure.id}",
        number=f"See {figure.number}{f' {part.name}' if part.prefix else ''}",
        x=_few_ticks(figure.x),
        y=_few_ticks(figure.y),
        y2=None,
        series=tuple(
            replace(series, label="", emphasis=False) for series in figure.series if not series.second_axis
        ),
        rules=(),
        bands=(),
        marks=(),
        width_px=_WIDTH_PX,
        height_px=_HEIGHT_PX,
        zoom_group="",
    )


def _few_ticks(axis: Axis) -> Axis:
    """Every n-th tick from the first on; labels go with their ticks."""
    step = -(-len(axis.ticks) // _MOST_TICKS)
    kept = tuple(axis.ticks[::step]) if step else ()
    labels = tuple(axis.labels[axis.ticks.index(tick)] for tick in kept) if axis.labels else ()
    return replace(axis, ticks=kept, labels=labels)


_STIMULUS: Final = re.compile(
    r"(?P<access>RND|SEQ) (?P<size>[\d.]+ [KM]iB) (?:RW(?P<reads>\d+)|(?P<one>[RW]))(?:,? (?P<what>.*))?"
)
_ACCESS: Final = {"RND": "random", "SEQ": "sequential"}
_WHAT: Final = {
    "ART": "mean response time",
    "MRT": "longest response time",
    "Steady State": "written without a pause",
    "FOB plateau": "fresh out of the box",
    "first minute FOB": "fresh, the first minute",
    "steady from FOB": "from fresh until settled",
    "steady after RND": "after random writes until settled",
    "in the cache": "fresh, in the cache",
    "written until it falls": "written until they get slower",
    "behind the fall": "right after that",
    "end zone": "at the end",
    "histogram": "in the last minutes",
}
_NINES: Final = re.compile(r"(?P<count>\d) 9s")


def card_words(one: Measured) -> str:
    """What a key value is, without terms of the specification, and whether it is the figure that lasts."""
    last = one.steady == "reached" or one.steady.startswith(("reached in ", "found in "))
    known = "not settled" if one.state or one.steady.startswith("not ") else "settled" if last else ""
    name = plain_words(one.explanation or one.cover_label) or one.explanation
    return ", ".join(filter(None, (name, known)))


def plain_words(label: str) -> str:
    """A key value without terms: ``random writes of 4 KiB, 99.9 % are faster`` for ``RND 4 KiB RW0, 3 9s``.

    Empty for names that have none.
    """
    found = _STIMULUS.fullmatch(label)
    if found is None:
        return ""
    reads = int(found["reads"]) if found["reads"] else {"R": 100, "W": 0}[found["one"]]
    access = _ACCESS[found["access"]]
    operations = {0: f"{access} writes", 100: f"{access} reads"}
    what = operations.get(reads, f"{access} I/O, {reads} % reads,")
    figure = found["what"] or ""
    nines = _NINES.search(figure)
    share = f"{nines_percentile(int(nines['count'])):.10g} % are faster" if nines else ""
    figure = next((text for name, text in _WHAT.items() if figure.endswith(name)), share)
    return ", ".join(filter(None, (f"{what} of {found['size']}", figure)))


_MOST_LARGE: Final = 5
_MOST_OF_SEVERAL: Final = 8


def cover_page(part: RunPart, style: Style) -> Page:
    """Cover and executive summary of a report on one run."""
    manifest, standing = part.manifest, part.standing
    ended = Verdict(state_sentence(manifest), "pass" if manifest.state is RunState.COMPLETE else "fail")
    not_conformant = "fail" if manifest.conditions.of_specification else "info"
    deviations = Verdict(standing.bottom_line, "pass" if standing.conformant else not_conformant)
    summary = with_pages(cover_table(part.short_title, part.deviation_count, part.measures), part.sections)
    troubles = (*part.failures, *health_verdicts(part), *part.verdicts)
    if style is Style.SPECIFICATION:
        blocks: tuple[Block, ...] = (
            *run_tables([part]),
            ended,
            *troubles,
            deviations,
            summary,
            *trend_figures([part]),
        )
    else:
        lead = lead_figure(part)
        question = manifest.conditions.question or procedure_of(part.test).question
        blocks = (
            answer([part], question, summary, range(len(summary.rows))),
            *limit_verdicts(part),
            *(() if ended.tone == "pass" else (ended,)),
            *troubles,
            deviations,
            *(() if lead is None else (lead,)),
            summary,
        )
    return Page("cover", "Executive summary", blocks, mandatory=True)


def answer(parts: Sequence[RunPart], question: str, summary: Table, places: Iterable[int]) -> Answer:
    """The question with the first of the key values that were measured, of those at these places."""
    of_several = len(parts) > 1
    explanations = {
        (part.name, one.label) if of_several else (part.short_title, one.cover_label): card_words(one)
        for part in parts
        for one in part.measures
    }
    most = _MOST_OF_SEVERAL if of_several else _MOST_LARGE
    measured = [place for place in places if summary.rows[place].cells[1].value is not None][:most]
    named = [(summary.rows[place].head.text, summary.rows[place].cells[0].text) for place in measured]
    return Answer(
        question, summary.id, tuple(measured), tuple(explanations[name] for name in named), of_several
    )


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


def run_tables(parts: Sequence[RunPart]) -> tuple[Table, ...]:
    """The drive, what it is for, and of several runs how each ended: on the cover or before the set-up."""
    purposes = purpose_tables((part.name, part.purpose) for part in parts)
    return (_drive_table(parts), *purposes, *((_runs_table(parts),) if len(parts) > 1 else ()))


def _drive_table(parts: Sequence[RunPart]) -> Table:
    """Of one run with its ID and the time that a simulated drive was at work."""
    manifests = [part.manifest for part in parts]
    first, single = manifests[0], len(parts) == 1
    begun = min(manifest.started_at for manifest in manifests)
    ended = first.ended_at if single else max(one.ended_at or one.started_at for one in manifests)
    time = f"{date_and_time(begun)} to {date_and_time(ended)}"
    simulated_time = parts[0].simulated_time if single else ""
    caches = (f"{purge_method(one)}; {write_cache(of_cycle(one.write_caches, 1))}" for one in manifests)
    return items_table(
        "cover-drive",
        "Device and run" if single else "Device and runs",
        [
            *parts[0].drive,
            ("Class", _each_once(manifest.conditions.class_text for manifest in manifests)),
            ("Test run", time) if single else ("Test runs", f"{len(parts)}, {time}"),
            *((("Simulated time", simulated_time),) if simulated_time else ()),
            ("Purge; write cache", _each_once(caches)),
            *_host_items(first),
            *((("Test ID No.", first.test_id),) if single else ()),
        ],
    )


def _each_once(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(texts))


def _host_items(manifest: Manifest) -> list[tuple[str, str]]:
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
        *([("Labels", ", ".join(map(" ".join, people.labels.items())))] if people.labels else []),
    ]


def executive_page(parts: Sequence[RunPart], style: Style) -> Page:
    """Drive, dates, a line for each key value, up to three small plots, and how each run ended."""
    tables = [
        with_pages(key_values_table(part.name, part.deviation_count, part.measures), part.sections)
        for part in parts
    ]
    summary = replace(tables[0], rows=tuple(row for table in tables for row in table.rows))
    figures = trend_figures(parts)
    if style is Style.SPECIFICATION:
        *drive, runs = run_tables(parts)
        blocks: tuple[Block, ...] = (*drive, *_verdicts(parts), summary, *figures, runs)
    else:
        question = f"What does this drive do in {len(parts)} tests?"
        large = answer(parts, question, summary, _asked_first(parts))
        limits = (verdict for part in parts for verdict in limit_verdicts(part))
        blocks = (large, *limits, *_verdicts(parts), *figures, summary)
    return Page("cover", "Executive summary", blocks, mandatory=True)


def headlines(of_tests: Iterable[Sequence[Measured]]) -> list[Measured]:
    """What a buyer asks of a drive, as far as it was measured: of several the first.

    Before a single such figure, and where there is none, is the first key value of each test.
    """
    found = [[one for one in of_test if one.is_key and one.value is not None] for of_test in of_tests]
    asked = {one.headline: one for of_test in found[::-1] for one in of_test[::-1] if one.headline}
    firsts = [of_test[0] for of_test in found if of_test] if len(asked) < 2 else []
    return [*firsts, *(one for _, one in sorted(asked.items()) if one not in firsts)]


def _asked_first(parts: Sequence[RunPart]) -> list[int]:
    """The places of what a buyer asks among all key values."""
    keys = [one for part in parts for one in part.measures if one.is_key]
    found = headlines([part.measures for part in parts])
    return [next(n for n, one in enumerate(keys) if one is shown) for shown in found]


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


def _runs_table(parts: Sequence[RunPart]) -> Table:
    return rows_table(
        "cover-runs",
        "Runs",
        "Test:<0.5 | Begun:<0.9 | Ended:<0.9 | How it ended:<0.7 | Deviations:^0.6 | "
        "Shall-requirements:<1.8 | Test ID No.:<1.3",
        (
            (
                part.name,
                date_and_time(part.manifest.started_at),
                date_and_time(part.manifest.ended_at),
                Cell(part.manifest.state, tone="" if part.manifest.state is RunState.COMPLETE else "fail"),
                Cell(str(part.deviation_count), float(part.deviation_count), link="conformance"),
                part.standing.requirements or "not a test of PTS",
                part.manifest.test_id,
            )
            for part in parts
        ),
    )
