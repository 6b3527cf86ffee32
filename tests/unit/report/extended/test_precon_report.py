"""The report of the preconditioning comparison of a drive whose every figure in every state is known."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_changes

from openpts.fields.conditions import Conditions
from openpts.pages.model import Page, Report, Table, Verdict
from openpts.procedures.extended.precon.conditions import DriveState, PreconConditions
from openpts.procedures.extended.precon.report import report as content_of
from openpts.procedures.extended.precon.states import comparison_of
from openpts.procedures.shared.benchmark.profiles import BENCHMARKS, SHORT
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import Stimulus
from tests.support.made_up_run import CAPACITY_BYTES, made_up_run

DATE = "2026-02-03T04:05:06Z"
ROWS = len(SHORT.rows)
FRESH, SEQUENTIAL, RANDOM = DriveState


class ByState:
    """Writes as the deck of LSI has them, x 1000: random 230, 200, 50; sequential 300, 250, 25. Reads 100.

    Courses begin at 6,000 IOPS, or 2,000 in the random state, and settle at 2,000 with the second step.
    """

    def __init__(self) -> None:
        self.begun: set[int] = set()

    def __call__(self, stimulus: Stimulus, phase: Phase, number: int) -> float:
        if phase is Phase.LOAD:
            first = number not in self.begun
            self.begun.add(number)
            return 6000 if first and number != 3 else 2000
        if phase is Phase.CONDITIONING or stimulus.read_pct:
            return 100_000
        state = (number - 1) // ROWS
        return ((230e3, 200e3, 50e3) if stimulus.random_pct else (300e3, 250e3, 25e3))[state]


def run() -> Run:
    def sooner(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, PreconConditions)
        return with_changes(conditions, steady_after_drive_fills=1)

    return made_up_run("precon", rate=ByState(), adjust=sooner)


def report() -> Report:
    return build_report(run(), DATE)


def page(found: Report, page_id: str) -> Page:
    (one,) = [one for one in found.pages() if one.id == page_id]
    return one


def cells_of(table: Table, head: str) -> list[str]:
    (row,) = [row for row in table.rows if row.head.text == head]
    return [cell.text for cell in row.cells]


def test_the_header_says_that_the_test_is_beyond_the_specification() -> None:
    (section,) = report().sections
    assert section.header.bar == "Methodology Report (not part of SNIA PTS)"
    assert not section.header.of_specification
    assert [one.id for one in section.pages] == [
        "precon-preparation", "precon-time", "precon-fills", "precon-rows", "precon-loss", "precon-order",
    ]  # fmt: skip


def test_each_state_from_its_first_minute_to_steady_state() -> None:
    table = report().tables()["precon-states"]
    assert [column.label for column in table.columns] == ["FOB", "after SEQ", "after RND"]
    assert cells_of(table, "First minute (IOPS)") == ["6,000", "6,000", "2,000"]
    assert cells_of(table, "Steady State (IOPS)") == ["2,000"] * 3
    assert cells_of(table, "First minute / Steady State") == ["3.00", "3.00", "1.00"]
    # a round writes 29 + 1 minutes of 8.192 MB/s: 14.7456 GB. 256 GiB are written after 19 of them and the
    # first minute, 1.475 GB: 281.64 GB; the random state is steady with minute 5
    assert cells_of(table, "Time until it was found") == ["9 h 31 min", "9 h 31 min", "2 h 1 min"]
    fills = 60 * (6000 + 19 * 30 * 2000) * 4096 / CAPACITY_BYTES
    (row,) = [row for row in table.rows if row.head.text == "Drive fills until it was found"]
    assert row.cells[0].value == pytest.approx(fills)


def test_the_courses_are_plotted_with_marks_at_each_full_capacity() -> None:
    time, fills = (one for one in report().figures() if one.id.startswith(("precon-time", "precon-fills")))
    assert (time.number, fills.number) == ("Plot X-PRECON-1", "Plot X-PRECON-2")
    assert [series.label for series in time.series] == ["FOB", "after SEQ", "after RND"]
    assert [mark.label for mark in time.marks] == ["1x"]
    assert [rule.label for rule in fills.rules] == ["1 x capacity"]


def test_losses_are_those_of_the_deck_and_the_figure_that_counts_is_told() -> None:
    table = report().tables()["precon-loss-table"]
    assert cells_of(table, "RND 4 KiB QD32 Write") == [
        "13.0", "78.3", "random", "after RND", "50,000", "IOPS",
    ]  # fmt: skip
    assert cells_of(table, "SEQ 128 KiB QD32 Write") == [
        "16.7", "91.7", "sequential", "after SEQ", "32,768.0", "MB/s",
    ]  # fmt: skip
    assert cells_of(table, "RND 4 KiB QD32 Read")[:4] == ["0.0", "0.0", "random", "after RND"]
    (rule,) = [block.text for block in page(report(), "precon-loss").blocks if isinstance(block, Verdict)]
    assert "Fresh figures are maxima" in rule


def test_dumbbells_join_the_states_of_each_row() -> None:
    found = report()
    figures = [one for one in found.figures() if one.id.startswith("precon-rows")]
    assert [one.title for one in figures] == ["Figures by state - MB/s", "Figures by state - IOPS"]
    for figure in figures:
        table = found.tables()[figure.table_id]
        whiskers, *points = figure.series
        assert (whiskers.style, whiskers.by, len(whiskers.lines)) == ("whiskers", "row", len(table.rows))
        assert [(one.style, one.by, one.lines) for one in points] == [
            ("points", "column", (0,)), ("points", "column", (1,)), ("points", "column", (2,)),
        ]  # fmt: skip
    table = found.tables()["precon-rows-iops"]
    assert [cell.value for cell in table.rows[-1].cells] == [230e3, 200e3, 50e3]


def test_many_rows_are_plotted_by_direction() -> None:
    def chosen(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, PreconConditions)
        return with_changes(conditions, benchmark=BENCHMARKS["crystaldiskmark"])

    found = build_report(made_up_run("precon", adjust=chosen), DATE)
    figures = [one for one in found.figures() if one.id.startswith("precon-rows")]
    assert [one.title for one in figures] == [
        "Figures by state - MB/s, Read",
        "Figures by state - MB/s, Write",
    ]
    assert {one.x.labels for one in figures} == {("SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1")}
    assert len(found.tables()["precon-rows-mb-per-s-write"].rows) == 4


def test_what_was_written_before_a_row_is_told() -> None:
    comparison = comparison_of(run())
    fresh = comparison.rows[FRESH]
    assert [one.written_before_bytes for one in fresh[:1]] == [0]
    assert [one.conditioned for one in fresh] == [True, *[False] * 6]
    # three passes of 10 s: 300,000 x 128 KiB a second; 30 % of 100,000 x 4 KiB
    sequential, mixed = 30 * 300_000 * 131_072, 30 * 30_000 * 4096
    assert fresh[4].written_before_bytes == sequential
    assert fresh[5].written_before_bytes == sequential + mixed
    after = comparison.rows[SEQUENTIAL]
    # the mix and each of the random writes disturb what was written in order: the next row has it anew
    assert [after[place].conditioned for place in (4, 5, 6)] == [False, True, True]
    assert [after[place].written_before_bytes for place in (5, 6)] == [0, 0]
    # random rows keep the random state, so the sequential row comes last
    random = comparison.rows[RANDOM]
    assert random[1].written_before_bytes == mixed + 2 * 30 * 50_000 * 4096
    order = [row.head.text for row in report().tables()["precon-order-table"].rows]
    assert order[:5] == [
        "FOB: SEQ 128 KiB QD32 R",
        "FOB: RND 4 KiB QD32 R",
        "FOB: RND 4 KiB QD1 R",
        "FOB: SEQ 128 KiB QD32 W",
        "FOB: RND 4 KiB QD32 R70",
    ]
    assert order[-1] == "After RND: SEQ 128 KiB QD32 W"


def test_a_course_that_never_settles_is_told_on_cover_and_page() -> None:
    calls = iter(range(10**6))

    def restless(_stimulus: Stimulus, phase: Phase, _number: int) -> float:
        return 50_000.0 * (1 + next(calls) // 2 % 2) if phase is Phase.LOAD else 100_000.0

    unsteady = made_up_run("precon", rate=restless)
    verdicts = content_of(unsteady).verdicts
    assert [verdict.tone for verdict in verdicts] == ["fail"] * 3
    assert "STEADY STATE NOT REACHED" in verdicts[0].text
    table = build_report(unsteady, DATE).tables()["precon-states"]
    assert cells_of(table, "Steady State (IOPS)") == ["n/a"] * 3


def test_a_run_that_ended_with_the_fresh_drive() -> None:
    whole = run()
    cut = replace(
        whole,
        manifest=replace(whole.manifest, cycles=whole.manifest.cycles[:1], purges=whole.manifest.purges[:1]),
        steps=tuple(step for step in whole.steps if step.place.cycle == 1),
    )
    found = build_report(cut, DATE)
    assert "n/a (no random writes were begun)" in str(page(found, "precon-time").blocks)
    assert cells_of(found.tables()["precon-loss-table"], "RND 4 KiB QD32 Write")[:2] == ["n/a", "n/a"]
    assert {verdict.tone for verdict in content_of(cut).verdicts} == {"fail"}


def test_another_benchmark_brings_its_own_rows() -> None:
    def chosen(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, PreconConditions)
        return with_changes(conditions, benchmark=with_changes(SHORT, rows=SHORT.rows[:2]))

    figures = content_of(made_up_run("precon", adjust=chosen)).figures
    assert [row["row"] for row in figures["rows"]] == [row.title for row in SHORT.rows[:2]]


def test_figures_for_machines() -> None:
    figures = content_of(run()).figures
    assert figures["courses"]["fresh"]["factor"] == pytest.approx(3)
    assert figures["courses"]["random"]["steady_after_s"] == pytest.approx(2 * 3600 + 60, rel=1e-5)
    write = figures["rows"][-1]
    assert (write["row"], write["counts"]) == ("RND 4 KiB QD32 Write", "random")
    assert (write["fresh"], write["sequential"], write["random"]) == (230e3, 200e3, 50e3)
    assert write["loss_random_pct"] == pytest.approx(78.2609, abs=5e-5)


def cut(elapsed_s: float | None) -> Report:
    """A run that ended with the first step of random writes, after so many seconds of it if not whole."""
    whole = run()
    first = next(at for at, step in enumerate(whole.steps) if step.place.phase is Phase.LOAD)
    last = whole.steps[first]
    if elapsed_s is not None:
        phase = with_changes(last.sample, state=StepState.INTERRUPTED, elapsed_ns=round(elapsed_s * 1e9))
        last = replace(last, sample=phase)
    return build_report(replace(whole, steps=(*whole.steps[:first], last)), DATE)


def sentences(found: Report) -> list[str]:
    return [block.text for block in page(found, "precon-time").blocks if isinstance(block, Verdict)]


def test_a_single_minute_is_a_point_within_the_frame() -> None:
    found = cut(None)
    figures = [figure for figure in found.figures() if figure.id.startswith(("precon-time", "precon-fills"))]
    for figure in figures:
        assert [series.style for series in figure.series] == ["measured"]
        (x,) = [row.head.value for row in found.tables()[figure.table_id].rows]
        assert x is not None
        assert x < figure.x.domain[1]
    assert len(figures) == 2


def test_states_that_were_never_judged_are_not_counted() -> None:
    told = [found.tables()["summary"].rows[0].cells[3].text for found in (report(), cut(None), cut(7))]
    assert told[0].endswith(" of 3 states")
    assert told[1:] == ["reached from 0 of 1 state", "n/a (no minute was judged)"]


def test_random_writes_cut_short_were_begun() -> None:
    assert sentences(cut(7)) == [
        "FOB: n/a (random writes never begun).",
        "After SEQ: n/a (random writes cut short in their first minute).",
        "After RND: n/a (random writes never begun).",
    ]
