"""Reports of all tests at the edges: slow and fast drives, few and many rounds, gaps, strings from hell."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import msgspec
import pytest
from msgspec.structs import replace

from openpts.escaped_text import with_texts
from openpts.fields.conditions import Conditions, at_time_scale
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run, in_visible_texts
from openpts.report.build import build_report
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import Fact, People
from openpts.vocabulary.sample import NOTHING, Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts_pages.model import Figure, Report, Table, points_of
from openpts_pages.pdf import render_pdf
from openpts_pts.shared.demand.conditions import DemandConditions
from tests.support.hostile_run import hostile
from tests.support.interval_samples import operation_of
from tests.support.made_up_run import made_up_run, restless_rate
from tests.support.player import Rate

SPECIFIED = ("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth")
LONG_MODEL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 abcdefghijklmnopqrstuvwxyz"


def same(conditions: Conditions) -> Conditions:
    return conditions


def unchanged(run: Run) -> Run:
    return run


@dataclass(frozen=True)
class Edge:
    """What a run is like: its rate, conditions other than the standard's, what its record then says."""

    rate: Rate | None = None
    adjust: Callable[[Conditions], Conditions] = same
    record: Callable[[Run], Run] = unchanged
    drive_class: DriveClass = DriveClass.ENTERPRISE


def rate_of(iops: float) -> Rate:
    def rate(_stimulus: Stimulus, _phase: Phase, _number: int) -> float:
        return iops

    return rate


def rate_of_latency(seconds: float) -> Rate:
    def rate(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
        return stimulus.toio / seconds

    return rate


def forty_rounds(conditions: Conditions) -> Conditions:
    has = "max_rounds" in conditions.__struct_fields__
    return msgspec.structs.replace(conditions, max_rounds=40) if has else conditions


def one_thread(conditions: Conditions) -> Conditions:
    if isinstance(conditions, DemandConditions):
        return msgspec.structs.replace(conditions, tcs=(1,), precondition_tc=1)
    return msgspec.structs.replace(conditions, tc=1) if hasattr(conditions, "tc") else conditions


def without_half_kib(conditions: Conditions) -> Conditions:
    sizes = getattr(conditions, "block_sizes_bytes", ())
    if 512 not in sizes:
        return conditions
    left = tuple(size for size in sizes if size != 512)
    return msgspec.structs.replace(conditions, block_sizes_bytes=left, skipped_block_sizes_bytes=(512,))


def with_empty_bins(run: Run) -> Run:
    """Histograms of I/Os of 2 us and of 40 s, and of nothing between."""
    measured = operation_of([(2_000, 999), (40_000_000_000, 1)])
    steps = (
        replace(step, sample=replace(step.sample, read=NOTHING, write=measured))
        if step.place.phase is Phase.HISTOGRAM
        else step
        for step in run.steps
    )
    return replace(run, steps=tuple(steps))


def as_read(run: Run) -> Run:
    """With hostile texts, as they come out of a record."""
    return in_visible_texts(hostile(run))


def bare(run: Run) -> Run:
    """No DMI, nothing known of the drive, no purge."""
    manifest = run.manifest
    return replace(
        run,
        manifest=replace(
            manifest, dut={}, host={}, software={}, engine={}, purges=(), write_caches=(), people=People()
        ),
    )


def named(run: Run) -> Run:
    people = People("Žofie Ångström-Nuñez", "Αθηνά Παπαδοπούλου", "Лаборатория №7")
    dut = {**run.manifest.dut, "model": Fact(LONG_MODEL, "made up")}
    return replace(run, manifest=replace(run.manifest, people=people, dut=dut))


EDGES = {
    "five rounds": Edge(),
    "client": Edge(drive_class=DriveClass.CLIENT),
    "12 IOPS": Edge(rate_of(12)),
    "12,000,000 IOPS": Edge(rate_of(12_000_000)),
    "2 us": Edge(rate_of_latency(2e-6)),
    "40 s": Edge(rate_of_latency(40)),
    "25 rounds, not steady": Edge(restless_rate),
    "40 rounds, not steady": Edge(restless_rate, forty_rounds),
    "one thread": Edge(adjust=one_thread),
    "a size skipped": Edge(adjust=without_half_kib),
    "empty bins": Edge(record=with_empty_bins),
    "hostile": Edge(record=as_read),
    "bare": Edge(record=bare),
    "names": Edge(record=named),
}
INNARDS = re.compile(
    r"\b(NaN|nan|inf|Infinity|None|undefined|null)\b|\de[+-]\d|(?<![\d.])-0(\.0*)?(?![\d.])(?! to)"
)


@cache
def report_of(name: str, edge: str) -> Report:
    wanted = EDGES[edge]

    def adjust(conditions: Conditions) -> Conditions:
        adjusted = wanted.adjust(conditions)
        # thousands of steps have the same texts
        return at_time_scale(adjusted, 0.02) if name == "hir" else adjusted

    run = made_up_run(name, wanted.drive_class, rate=wanted.rate, adjust=adjust)
    return build_report(wanted.record(run), "2026-02-03T04:05:06Z")


def axis_texts(figure: Figure) -> list[str]:
    texts = [figure.title, figure.alt, figure.x.title, figure.y.title, *figure.x.labels]
    texts += [series.label for series in figure.series] + [rule.label for rule in figure.rules]
    return texts + [mark.label for mark in figure.marks] + [band.label for band in figure.bands]


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", SPECIFIED)
def test_no_text_shows_a_program_s_innards(name, edge, texts) -> None:
    report = report_of(name, edge)
    found = [*texts(report), *(text for figure in report.figures() for text in axis_texts(figure))]
    for text in found:
        assert not INNARDS.search(text), text
        assert text.isprintable(), ascii(text)


@pytest.mark.full_matrix(most=8)
@pytest.mark.parametrize("name", PROCEDURES)
def test_nothing_of_a_hostile_record_is_invisible(name) -> None:
    def check(text: str) -> str:
        assert text.isprintable(), ascii(text)
        return text

    scale = 0.02 if name == "hir" else 1.0  # thousands of steps have the same texts
    run = in_visible_texts(hostile(made_up_run(name, adjust=lambda whole: at_time_scale(whole, scale))))
    texts_of_record = (run.manifest, run.ledger, run.health, run.sampled, [step.sample for step in run.steps])
    for value in (*texts_of_record, build_report(run, "2026-02-03T04:05:06Z")):
        with_texts(msgspec.to_builtins(value), check, keys=True)


@pytest.mark.full_matrix
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", SPECIFIED)
def test_every_plotted_number_is_in_the_figure_s_table_and_on_its_axes(name, edge) -> None:
    report = report_of(name, edge)
    tables = report.tables()
    for figure in report.figures():
        known = numbers(tables[figure.table_id])
        for axis in (figure.x, figure.y, *([figure.y2] if figure.y2 else [])):
            low, high = axis.domain
            assert low < high, figure.id
            assert all(low - 1e-9 * abs(low) <= tick <= high * (1 + 1e-9) for tick in axis.ticks), figure.id
        if figure.kind != "lines":
            continue
        for series in figure.series:
            for x, y in points_of(series, tables[figure.table_id]):
                assert {x, y} <= known
                axis = figure.y2 if series.second_axis and figure.y2 else figure.y
                slack = 1e-6 * (axis.domain[1] - axis.domain[0])
                shown = axis.domain[0] - slack <= y <= axis.domain[1] + slack
                assert shown or axis.scale in {"log", "nines"}, (figure.id, series.label, y, axis.domain)
        for mark in figure.marks:
            assert figure.x.domain[0] <= mark.x <= figure.x.domain[1], figure.id


def numbers(table: Table) -> set[float]:
    cells = [cell for row in table.rows for cell in (row.head, *row.cells)]
    heads = [column.value for column in table.columns]
    return {value for value in (*heads, *(cell.value for cell in cells)) if value is not None}


@pytest.mark.proves("PTS-IOPS-24..25", "PTS-TP-20..21", "PTS-LAT-25..26", "PTS-FLOW-05")
@pytest.mark.full_matrix
@pytest.mark.parametrize("edge", ["25 rounds, not steady", "40 rounds, not steady"])
@pytest.mark.parametrize("name", ["iops", "tp", "lat", "hir", "cbw", "dirth"])
def test_without_steady_state_each_page_and_the_header_say_so(name, edge) -> None:
    for section in report_of(name, edge).sections:
        assert any(line.startswith("STEADY STATE NOT REACHED") for line in section.alerts)
        fields = [row.value for group in section.header.groups for row in group.rows]
        assert "NOT REACHED" in fields


def two_points(conditions: Conditions) -> Conditions:
    return msgspec.structs.replace(conditions, read_pcts=(0,), block_sizes_bytes=(65536, 4096))


def test_wide_tables_without_rows_are_set_on_paper() -> None:
    """Those of mixes that were not measured have a column for each of many rounds all the same."""
    run = made_up_run("iops", DriveClass.CLIENT, rate=restless_rate, adjust=two_points)
    report = build_report(run, "2026-02-03T04:05:06Z")
    assert any(len(table.columns) > 20 for table in report.tables().values() if not table.rows)
    assert render_pdf(report, {}).startswith(b"%PDF-")
