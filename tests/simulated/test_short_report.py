"""The short report of a whole suite holds what the full one found, and nothing that it did not."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from openpts.cli.suite import run_all
from openpts.pages.model import Cell, Figure, Page, Report, Table, Verdict
from openpts.plots.svg import draw_figures
from openpts.record.reader import Run
from openpts.report.build import build_combined
from openpts.report.html import render_html
from openpts.report.pdf import render_pdf
from openpts.report.run_part import part_of
from openpts.report.short.build import short_report
from openpts.report.sources import ReportSource, read_for_report
from tests.support.oracle_presets import write_oracle

DATE = "2026-01-02T00:00:00Z"
TKPERF = {"IOPS": 4, "Throughput": 8, "Latency": 6, "Write Saturation": 2}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, ...]:
    folder = tmp_path_factory.mktemp("short")
    target = f"sim:{write_oracle(folder, [20_000.0])}"
    command = [
        target,
        "--time-scale",
        "1/60",
        "--step-seconds",
        "1",
        "--no-report",
        "--out",
        str(folder / "s"),
    ]
    result = CliRunner().invoke(run_all, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    folders = ReportSource.of([folder / "s"]).run_folders
    return tuple(read_for_report(folder) for folder in folders)


@pytest.fixture(scope="module")
def report(runs: tuple[Run, ...]) -> Report:
    return short_report([part_of(run, DATE) for run in runs], DATE)


def page(report: Report, title: str) -> Page:
    (found,) = (one for one in report.pages() if one.title == title)
    return found


def figures(one: Page) -> list[Figure]:
    return [block for block in one.blocks if isinstance(block, Figure)]


def table(report: Report, one: Page, title: str) -> Table:
    (found,) = (block for block in one.blocks if isinstance(block, Table) and block.title.startswith(title))
    return found


def numbers(cells: Iterator[Cell]) -> set[float]:
    return {cell.value for cell in cells if cell.value is not None}


def all_cells(report: Report) -> Iterator[Cell]:
    for one in report.tables().values():
        for row in one.rows:
            yield row.head
            yield from row.cells


@pytest.mark.parametrize(("title", "count"), TKPERF.items())
def test_each_test_has_its_plots_with_a_sentence_below(report: Report, title: str, count: int) -> None:
    blocks = page(report, title).blocks
    places = [n for n, block in enumerate(blocks) if isinstance(block, Figure)]
    assert len(places) == count
    assert all(isinstance(blocks[n + 1], Verdict) for n in places)


def test_no_number_is_new(report: Report, runs: tuple[Run, ...]) -> None:
    full = numbers(all_cells(build_combined(runs, DATE)))
    assert numbers(all_cells(report)) <= full


def test_the_summary_of_iops_goes_from_all_reads_to_all_writes(report: Report) -> None:
    found = table(report, page(report, "IOPS"), "Average IOPS by block size")
    assert [column.label for column in found.columns] == [
        "100/0",
        "95/5",
        "65/35",
        "50/50",
        "35/65",
        "5/95",
        "0/100",
    ]
    assert [row.head.text for row in found.rows] == ["0.5", "4", "8", "16", "32", "64", "128", "1024"]
    mirrored = report.tables()["iops-iops-table"]
    assert [row.cells[::-1] for row in found.rows] == [row.cells for row in mirrored.rows]


def test_steady_state_is_told_with_rounds_values_and_their_average(report: Report) -> None:
    for title in ("IOPS", "Latency"):
        items = table(report, page(report, title), "Steady State information").rows
        state, rounds, values, average = (row.cells[0].text for row in items)
        assert "Steady State" in state
        assert len(rounds.split(", ")) == len(values.split("; ")) == 5
        shown = [float(value.replace(",", "")) for value in values.split("; ")]
        assert float(average.replace(",", "")) == pytest.approx(sum(shown) / 5, rel=1e-2)


def test_throughput_stands_in_base_10_with_reads_first(report: Report) -> None:
    found = table(report, page(report, "Throughput"), "Average MB/s (base 10)")
    assert [column.label for column in found.columns] == ["Read", "Write"]
    assert [row.head.text for row in found.rows] == ["1024", "128"]
    # the drive's script is 20,000 IOPS for every I/O
    written = [row.cells[1].value for row in found.rows]
    assert written == pytest.approx([20_000 * kib * 1024 / 1e6 for kib in (1024, 128)], rel=0.01)


def test_saturation_tells_how_much_was_written(report: Report) -> None:
    sentences = [
        block.text for block in page(report, "Write Saturation").blocks if isinstance(block, Verdict)
    ]
    assert any("GB written" in text for text in sentences)


def test_tests_that_tkperf_does_not_know_have_their_key_values(report: Report) -> None:
    titles = {block.title for block in page(report, "Other tests").blocks if isinstance(block, Table)}
    assert {title.removesuffix(": key values") for title in titles if title.endswith(": key values")} == {
        "Host Idle Recovery",
        "Cross Stimulus Recovery",
        "Composite Block Size Workload",
        "Demand Intensity / Response Time Histogram",
    }


def test_the_set_up_names_device_tool_machine_and_units(report: Report) -> None:
    rows = {row.head.text: row.cells[0].text for row in report.tables()["short-setup-table"].rows}
    assert rows["Tested device"].endswith("oracle-of-a-test")
    assert rows["Test software"].startswith("openpts ")
    assert "Linux" in rows["Kernel"]
    terms = {row.head.text: row.cells[0].text for row in report.tables()["short-terms-table"].rows}
    assert "base 2" in terms["Block size"]
    assert "Base 10" in terms["Rates, capacities"]
    of_run = {row.head.text: row.cells[0].text for row in report.tables()["short-lat-run"].rows}
    assert of_run["Jobs (TC) and I/O depth (QD)"] == "TC 1 / QD 1"
    assert of_run["Command line"].startswith("openpts")


def test_a_simulated_drive_keeps_its_red_line_and_both_files_can_be_made(report: Report) -> None:
    assert "SIMULATED" in report.red_line
    assert report.title.startswith("SIMULATED")
    drawings = draw_figures(report)
    assert set(drawings) == {figure.id for figure in report.figures()}
    assert render_pdf(report, drawings).startswith(b"%PDF")
    assert report.red_line in render_html(report, drawings)
