"""Tables in a real browser, and all that a reader can save of a report."""

import csv
import io
import re
import struct

import msgspec
import pytest

from openpts_pages.csv_files import csv_files
from openpts_pages.model import Report, points_of
from tests.support.report_page import press, saved, show, written
from tests.support.sample_figures import SECONDS, gallery

MARK = "SIMULATED, preset enterprise-tlc, scale 1:67 - not a measurement of a drive"


def test_tables_sort_by_value_and_come_back(tab, reports, tmp_path) -> None:
    show(tab, written(reports("steady"), tmp_path))
    head = "#iops-iops-table .heads th:nth-child(2)"
    first = "document.querySelector('#iops-iops-table tbody tr th').textContent"
    press(tab, f"{head} .sort")
    tab.until(f"{first} === '1024'")
    assert tab.run(f"document.querySelector('{head}').ariaSort") == "ascending"
    press(tab, f"{head} .sort")
    tab.until(f"{first} === '4'")
    assert tab.run(f"document.querySelector('{head}').ariaSort") == "descending"
    press(tab, f"{head} .sort")
    tab.until(f"{first} === '0.5'")
    assert tab.run(f"document.querySelector('{head}').ariaSort") is None


def test_a_long_table_opens_on_demand(tab, gallery_page) -> None:
    show(tab, gallery_page)
    assert "hir-values.csv of the data folder" in tab.run("document.querySelector('#hir-values').textContent")
    press(tab, "#hir-values summary")
    tab.until("document.querySelector('#hir-values tbody')")
    assert tab.run("document.querySelectorAll('#hir-values tbody tr').length") == 3600
    table = gallery().tables()["hir-values"]
    texts = tab.run("[...document.querySelectorAll('#hir-values tbody tr')].map(r => r.cells[1].textContent)")
    assert texts == [row.cells[0].text for row in table.rows]


def parsed(text: str) -> list[list[str | float]]:
    """Rows of a CSV: numbers as such, for 1.0 and 1 are one."""

    def value(field: str) -> str | float:
        try:
            return float(field)
        except ValueError:
            return field

    return [[value(field) for field in row] for row in csv.reader(io.StringIO(text))]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["simulated", "hostile"])
def test_saved_tables_hold_what_the_data_files_hold(tab, reports, tmp_path, case) -> None:
    report = reports(case)
    show(tab, written(report, tmp_path))
    files = csv_files(report)
    for table in ("iops-iops-table", "setup-dut", "conformance-deviations"):
        if table not in report.tables():
            continue
        name, text = saved(tab, f"#{table} caption button:last-child")
        assert name.endswith(f"{table}.csv")
        assert parsed(text) == parsed(files[f"data/{table}.csv"])
    assert "iops-iops-table" in report.tables()
    _, text = saved(tab, "#iops-a7-plot [data-do=csv]")
    assert parsed(text) == parsed(files["data/iops-iops-table.csv"])


def test_a_saved_drawing_stands_alone_and_bears_the_red_line(tab, reports, tmp_path) -> None:
    show(tab, written(reports("simulated"), tmp_path))
    for figure in ("iops-a1-rw0-plot", "iops-a8-plot"):
        tab.run(f"document.getElementById('{figure}').scrollIntoView()")
        name, text = saved(tab, f"#{figure} [data-do=svg]")
        assert name.endswith(f"{figure}.svg")
        words = re.sub(r"\s+", " ", " ".join(re.findall(r">([^<>]+)</text>", text)))
        assert MARK in words
        assert "var(" not in text
        assert 'font-size="11"' in text.partition(">")[0], (
            "most texts of a drawing leave their size to the page"
        )
        assert re.match(r'<svg xmlns="http://www.w3.org/2000/svg"', text)
    name, content = saved(tab, "#iops-a1-rw0-plot [data-do=png]")
    data = content.encode("latin-1")
    assert data.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width > 1400
    assert height > 760


@pytest.mark.slow
def test_long_series_are_thinned_and_keep_their_extremes_unless_wanted_whole(tab, tmp_path) -> None:
    report = gallery()
    values = [y for _, y in points_of(report.figures()[0].series[0], report.tables()["wsat-values"])]
    for full in (False, True):
        folder = tmp_path / str(full)
        folder.mkdir()
        show(tab, written(report, folder, embed_full=full))
        name, text = saved(tab, "[data-do=json]")
        held = msgspec.json.decode(text, type=Report).tables()["wsat-values"]
        if full:
            assert held == report.tables()["wsat-values"]
            continue
        assert name.endswith("report-thinned.json")
        assert len(held.rows) <= 5000
        lows = [row.cells[2].value for row in held.rows]
        highs = [row.cells[4].value for row in held.rows]
        assert min(low for low in lows if low is not None) == min(values)
        assert max(high for high in highs if high is not None) == max(values)
        means = [row.cells[0].value for row in held.rows]
        assert sum(mean or 0 for mean in means) / len(means) == pytest.approx(sum(values) / SECONDS, rel=1e-9)
