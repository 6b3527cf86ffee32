"""The report of profiles of a drive whose every figure is known."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_changes

from openpts.fields.conditions import Conditions
from openpts.pages.model import Page, Report, Table, Verdict
from openpts.procedures.extended.benchmarks.conditions import BenchmarksConditions
from openpts.procedures.extended.benchmarks.report import report as content_of
from openpts.procedures.shared.benchmark.profiles import BENCHMARKS
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import Stimulus
from tests.support.made_up_run import made_up_run

DATE = "2026-02-03T04:05:06Z"


class Rates:
    """Each step of a row 1 % faster than the one before it: 1,000 IOPS for the first."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}

    def __call__(self, _stimulus: Stimulus, phase: Phase, number: int) -> float:
        if phase is not Phase.PROFILE:
            return 1000
        self.seen[number] = self.seen.get(number, -1) + 1
        return 1000 + 10 * self.seen[number]


def run_of(*names: str, passes: float = 0) -> Run:
    def chosen(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, BenchmarksConditions)
        wanted = tuple(BENCHMARKS[name] for name in names)
        return with_changes(conditions, benchmarks=wanted, precondition_passes=passes)

    return made_up_run("benchmarks", rate=Rates(), adjust=chosen)


def report(*names: str) -> Report:
    return build_report(run_of(*names), DATE)


def page(found: Report, page_id: str) -> Page:
    (one,) = [one for one in found.pages() if one.id == page_id]
    return one


def rows_of(table: Table) -> dict[str, list[str]]:
    return {row.head.text: [cell.text for cell in row.cells] for row in table.rows}


def verdicts(one: Page) -> str:
    return " ".join(block.text for block in one.blocks if isinstance(block, Verdict))


def test_the_best_of_three_counts_and_the_warm_up_does_not() -> None:
    found = report("crystaldiskmark")
    table = found.tables()["benchmarks-1-mb-per-s"]
    # steps of a row: warm-up at 1,000 IOPS, passes at 1,010, 1,020 and 1,030
    assert [column.label for column in table.columns] == ["Read (MB/s)", "Write (MB/s)"]
    (read, _write) = table.rows[0].cells
    assert read.value == pytest.approx(1030 * 1048576 / 1e6)
    assert read.note == "median 1,069.5, 1,059.1 to 1,080.0"
    assert rows_of(table)["RND4K Q1T1"] == ["4.2", "4.2"]
    passes = found.tables()["benchmarks-1-definition-passes"]
    assert passes.rows[0].head.text == "SEQ1M Q8T1 Read"
    assert [cell.value for cell in passes.rows[0].cells[:5]] == pytest.approx(
        [3, 1020 * 1.048576, 1010 * 1.048576, 1030 * 1.048576, 1020]
    )


def test_the_definition_is_what_was_applied() -> None:
    found = report("crystaldiskmark")
    table = rows_of(found.tables()["benchmarks-1-definition-table"])
    assert table["SEQ1M Q8T1 Read"] == [
        "SEQ 1024 KiB 100/0", "8 x 1", "1 GiB", "none", "5.00 s", "3 x 5 s", "best", "-",
    ]  # fmt: skip
    assert table["RND4K Q32T1 Write"] == [
        "RND 4 KiB 0/100", "32 x 1", "1 GiB", "5.00 s", "5.00 s", "3 x 5 s", "best", "RND_ONCE",
    ]  # fmt: skip
    assert "not confirmed" not in page(found, "benchmarks-1").title


def test_the_mean_counts_where_the_tool_takes_it() -> None:
    table = report("kdiskmark").tables()["benchmarks-1-mb-per-s"]
    # five passes without a warm-up: 1,000 to 1,040 IOPS
    assert table.rows[0].cells[0].value == pytest.approx(1020 * 1.048576)


def test_each_unit_has_a_table_and_the_first_a_plot() -> None:
    found = report("crystaldiskmark-peak")
    tables = [table for table in found.tables() if table.startswith("benchmarks-1-")]
    assert [t for t in tables if "definition" not in t] == [
        "benchmarks-1-mb-per-s",
        "benchmarks-1-iops",
        "benchmarks-1-microseconds",
    ]
    (figure,) = [one for one in found.figures() if one.id.startswith("benchmarks-1")]
    assert figure.number == "Plot X-BENCHMARKS-1"
    assert figure.x.labels == ("SEQ1M Q8T1", "RND4K Q32T1")
    times = found.tables()["benchmarks-1-microseconds"]
    # 8 outstanding at 1,030 IOPS: the lowest of the passes counts
    assert times.rows[0].cells[0].value == pytest.approx(8e6 / 1030, rel=1e-4)


def test_what_is_not_confirmed_is_marked_and_the_score_too() -> None:
    found = report("as-ssd")
    shown = page(found, "benchmarks-1")
    assert shown.title == "AS SSD (definition not confirmed)"
    assert "Definition not confirmed: length and number of passes" in verdicts(shown)
    score = found.tables()["benchmarks-1-score"]
    assert "not confirmed" in score.title
    # one pass of each row at 1,000 IOPS: 16 MiB and 4 KiB
    seq, rnd = 16 * 1048.576, 4.096
    assert [row.cells[0].value for row in score.rows] == pytest.approx(
        [0.1 * seq + 2 * rnd, 0.1 * seq + 2 * rnd, 0.25 * seq + 5.5 * rnd]
    )


def test_reads_of_places_never_written_are_no_figures_of_the_flash() -> None:
    warning = "Acc.time Read: reads the whole range"
    assert warning in verdicts(page(report("as-ssd"), "benchmarks-1"))
    conditioned = build_report(run_of("as-ssd", passes=1), DATE)
    assert warning not in verdicts(page(conditioned, "benchmarks-1"))


def test_mixes_have_columns_of_their_own_and_lonely_rows_one_for_all() -> None:
    found = report("iometer", "solidigm-mixed", "iometer-file-server")
    columns = [column.label for column in found.tables()["benchmarks-1-mb-per-s"].columns]
    assert columns == [
        "Read (MB/s)", "Mix 75/25 (MB/s)", "Mix 50/50 (MB/s)", "Mix 25/75 (MB/s)", "Write (MB/s)",
    ]  # fmt: skip
    assert rows_of(found.tables()["benchmarks-1-mb-per-s"])["64K"][1] == "-"
    assert [column.label for column in found.tables()["benchmarks-2-iops"].columns] == [
        "Mix 80/20 (IOPS)", "Mix 70/30 (IOPS)",
    ]  # fmt: skip
    assert list(rows_of(found.tables()["benchmarks-3-iops"])) == ["QD1", "QD4", "QD8", "QD64", "QD256"]


def test_rows_without_a_second_direction_have_one_column() -> None:
    def chosen(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, BenchmarksConditions)
        mixed = BENCHMARKS["solidigm-mixed"].rows
        rows = tuple(with_changes(row, name=f"row {n}") for n, row in enumerate(mixed))
        return with_changes(conditions, benchmarks=(with_changes(BENCHMARKS["solidigm-mixed"], rows=rows),))

    table = build_report(made_up_run("benchmarks", adjust=chosen), DATE).tables()["benchmarks-1-iops"]
    assert [column.label for column in table.columns] == ["IOPS"]
    assert list(rows_of(table)) == ["row 0 Mix 80/20", "row 1 Mix 70/30"]


def test_a_row_that_was_not_measured_is_missing() -> None:
    run = run_of("crystaldiskmark-demo")
    rows = [step for step in run.steps if step.place.phase is Phase.PROFILE and step.place.number == 2]
    cut = replace(
        run,
        steps=tuple(
            replace(step, sample=with_changes(step.sample, state=StepState.INTERRUPTED))
            if step in rows
            else step
            for step in run.steps
        ),
    )
    found = build_report(cut, DATE)
    cell = found.tables()["benchmarks-1-mb-per-s"].rows[0].cells[1]
    assert (cell.text, cell.note, cell.tone) == ("n/a", "not measured", "missing")
    assert content_of(cut).verdicts[0].text.startswith("1 of 2 rows measured")
    assert content_of(cut).verdicts[0].tone == "fail"


def test_figures_for_machines() -> None:
    (benchmark,) = content_of(run_of("crystaldiskmark-real-world")).figures["benchmarks"]
    assert benchmark["definition_confirmed"]
    row = benchmark["rows"][0]
    assert (row["name"], row["read_pct"], row["passes"], row["statistic"]) == ("SEQ1M Q1T1", 100, 3, "best")
    assert [shown["unit"] for shown in row["shown"]] == ["MB/s", "IOPS", "us"]
    assert row["shown"][1] == {
        "unit": "IOPS",
        "value": pytest.approx(1030),
        "median": pytest.approx(1020),
        "min": pytest.approx(1010),
        "max": pytest.approx(1030),
    }


def key_rows(*names: str) -> list[str]:
    return [row.cells[0].text for row in report(*names).tables()["summary"].rows]


def test_the_cover_has_reads_and_writes() -> None:
    few = ("crystaldiskmark", "as-ssd")
    benchmarks = [BENCHMARKS[name] for name in few]
    assert key_rows(*few) == [f"{one.title}: {row.title}" for one in benchmarks for row in one.rows]
    many = key_rows(*few, "anvil")
    assert len(many) <= 24
    assert {f"CrystalDiskMark 9.0.1, Default: SEQ1M Q8T1 {way}" for way in ("Read", "Write")} <= set(many)
