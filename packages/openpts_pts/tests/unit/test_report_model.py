import pytest
from msgspec.structs import replace

from openpts.analysis.steady_state import judge
from openpts.procedures.kit.steps import IOPS
from openpts.record.reader import StepRecord, read_run
from openpts.report.build import build_report
from openpts.vocabulary.sample import NOTHING, IoFailure, Phase, StepPlace
from openpts.vocabulary.stimulus import Duration, Step
from openpts_pages.model import Report, Verdict
from openpts_pts.shared.window_page import determination_table, judgements
from tests.support.page_transcript import transcript_of
from tests.support.synthetic_run import Synthetic, write_synthetic_run

# Plot 7-3 of the specification: rows in KiB, columns RW 0, 5, 35, 50, 65, 95, 100.
SAMPLE_TABLE = {
    0.5: (47139.1, 48885.0, 70740.4, 89676.2, 118331.1, 338953.4, 499097.2),
    4: (61969.4, 65324.4, 90078.8, 108316.3, 104022.5, 310634.6, 407395.3),
    8: (31086.5, 32730.9, 44174.2, 43065.4, 67758.7, 171091.2, 207067.5),
    16: (15612.4, 16417.3, 22832.9, 24658.0, 37991.9, 89209.8, 104000.5),
    32: (7813.4, 8237.5, 11537.4, 14568.4, 18790.9, 46002.2, 52149.4),
    64: (3904.7, 4126.0, 5739.5, 7519.0, 9071.1, 22856.6, 26054.5),
    128: (1964.8, 2065.9, 2843.5, 3725.5, 4465.9, 10992.1, 12948.0),
    1024: (248.6, 262.2, 360.8, 469.6, 636.5, 1659.1, 1571.6),
}
READ_PCTS = (0, 5, 35, 50, 65, 95, 100)


def test_cells_reproduce_the_sample_table_of_the_specification(tmp_path) -> None:
    fixed = {
        (read_pct, int(kib * 1024)): iops
        for kib, row in SAMPLE_TABLE.items()
        for read_pct, iops in zip(READ_PCTS, row, strict=True)
    }
    folder = write_synthetic_run(tmp_path / "run", Synthetic(rounds=7, steady_round=7, fixed_iops=fixed))
    run = read_run(folder)
    report = build_report(run, "2025-01-14T15:02:00Z")
    table = report.tables()["iops-iops-table"]
    assert [column.label for column in table.columns] == [
        "0/100", "5/95", "35/65", "50/50", "65/35", "95/5", "100/0",
    ]  # fmt: skip
    for row, (kib, values) in zip(table.rows, SAMPLE_TABLE.items(), strict=True):
        assert row.head.value == kib
        assert [cell.text for cell in row.cells] == [f"{value:,.1f}" for value in values]
    assert dict(header_rows(report))["SS Rounds"] == "3 - 7"
    summary = report.tables()["summary"]
    assert [row.cells[1].text for row in summary.rows] == ["61,969", "104,022", "407,395"]


def header_rows(report: Report) -> list[tuple[str, str]]:
    return [(row.label, row.value) for group in report.sections[0].header.groups for row in group.rows]


def page_blocks(report: Report, page_id: str) -> tuple[object, ...]:
    return next(page.blocks for page in report.pages() if page.id == page_id)


def verdicts(report: Report, page_id: str) -> str:
    return " ".join(block.text for block in page_blocks(report, page_id) if isinstance(block, Verdict))


@pytest.mark.parametrize(
    "case",
    [
        *("steady", "bare", "two rounds", "interrupted", "failed", "preconditioned only", "nothing"),
        *("no half KiB", "not steady", "slow"),
    ],
)
def test_what_is_on_the_pages(reports, transcript, case) -> None:
    assert transcript_of(reports(case)) == transcript


def test_a_flush_that_failed_has_no_place(reports, golden) -> None:
    run = read_run(reports.folder("failed"))
    *steps, last = run.steps
    failure = IoFailure("flush", 0, 0, "Input/output error (EIO)")
    flushed = replace(last, sample=replace(last.sample, failure=failure))
    report = build_report(replace(run, steps=(*steps, flushed)), "2025-01-14T15:02:00Z")
    assert verdicts(report, "cover") == golden


def test_idle_gaps_are_named_and_change_no_figure(reports) -> None:
    run = read_run(reports.folder("steady"))
    wipc, *steps = run.steps
    pause = replace(
        wipc.sample, step=Step.of(None, Duration.seconds(60)), read=NOTHING, write=NOTHING, intervals=()
    )
    gaps = [
        StepRecord(StepPlace(1, Phase.WIPC, 1, 1), pause),
        StepRecord(StepPlace(1, Phase.ROUND, 1, 56), replace(pause, gap_ns=10**12)),
    ]
    report = build_report(replace(run, steps=(gaps[0], wipc, *steps, gaps[1])), "2025-01-14T15:02:00Z")
    tables, expected = report.tables(), reports("steady").tables()
    assert tables["iops-iops-table"] == expected["iops-iops-table"]
    assert tables["iops-preparation-wipc"].rows[:5] == expected["iops-preparation-wipc"].rows[:5]
    largest = tables["iops-preparation-gaps"].rows[1].cells[0].text
    assert largest.endswith("(before round 1, step 57: idle)")


def test_a_size_below_the_sector_is_a_row_with_its_reason(reports) -> None:
    report = reports("no half KiB")
    table = report.tables()["iops-iops-table"]
    assert [cell.text for cell in table.rows[0].cells] == ["n/a"] * 7
    assert table.value_count == 49
    four_kib = next(f for f in report.figures() if f.id == "iops-a1-rw0-plot").series[0]
    whole = next(f for f in reports("steady").figures() if f.id == "iops-a1-rw0-plot").series[1]
    assert (four_kib.label, four_kib.color) == (whole.label, whole.color)


def test_rule_and_band_are_both_printed_where_they_differ(golden) -> None:
    found = judgements(judge(range(1, 6), [100, 100, 115, 100, 100]))
    assert [verdict.text for verdict in found] == golden


def test_constant_values_have_no_correlation() -> None:
    table = determination_table("t", judge(range(1, 6), [100.0] * 5), IOPS, "")
    assert table.rows[4].cells[2].text == "n/a"
