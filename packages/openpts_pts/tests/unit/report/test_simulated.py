"""What a report says of a drive that does not exist: everywhere that it doesn't, and what it is made from."""

import pytest
from msgspec.structs import replace

from openpts.record.reader import in_visible_texts, read_run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.vocabulary.facts import Fact
from openpts_pages.html import render_html
from openpts_pages.model import Table
from openpts_pages.pdf import render_pdf
from tests.support.page_transcript import transcript_of
from tests.support.report_cases import SIMULATION
from tests.support.synthetic_run import HOSTILE

MARK = "SIMULATED, preset enterprise-tlc, scale 1:67 - not a measurement of a drive"


def rows_of(table: Table) -> dict[str, str]:
    return {row.head.text: row.cells[0].text for row in table.rows}


def test_the_summary_for_machines_is_marked(reports) -> None:
    summary = summarize(read_run(reports.folder("simulated")))
    assert summary["simulated"] == MARK
    assert summary["target"]["simulation"]["seed"] == 1
    real = summarize(read_run(reports.folder("steady")))
    assert real["simulated"] is None
    assert real["target"]["simulation"] is None


def test_every_page_of_the_html_has_the_mark_on_paper_and_on_the_screen(reports) -> None:
    report = reports("simulated")
    html = render_html(report, {})
    assert f"<title>{MARK} | " in html
    # on the screen one line that stays in view; on paper one above each page
    screen, _, rest = html.partition("<nav")
    assert screen.count(f'<p class="alert">{MARK}</p>') == 1
    assert rest.count(f'<p class="alert">{MARK}</p>') == len(report.pages())


@pytest.mark.parametrize("case", ["simulated", "simulated, shortened"])
def test_what_is_on_its_pages(reports, transcript, case) -> None:
    report = reports(case)
    pages = transcript_of(report, "cover", "setup", "iops-preparation")
    assert f"{report.title}\n{pages}" == transcript


def test_geometry_stands_beside_the_preset_and_not_among_the_software(reports) -> None:
    run = read_run(reports.folder("simulated"))
    engine = {**run.manifest.engine, "geometry_superblocks": Fact("804", "model of preset enterprise-tlc")}
    report = build_report(replace(run, manifest=replace(run.manifest, engine=engine)), default_date(run))
    assert rows_of(report.tables()["setup-simulation"])["Geometry: superblocks"] == "804"
    software = rows_of(report.tables()["setup-software"])
    assert not any("eometry" in item for item in software)
    assert any(item.startswith("Engine: ") for item in software)


def test_processors_that_were_not_looked_at_are_a_sentence_and_no_tables(reports) -> None:
    run = read_run(reports.folder("simulated"))
    unseen = tuple(replace(step, sample=replace(step.sample, cpu=None)) for step in run.steps)
    tables = build_report(replace(run, steps=unseen), default_date(run)).tables()
    assert {"iops-cpu-sys", "iops-cpu-iowait"} <= reports("simulated").tables().keys()
    assert not {"iops-cpu-sys", "iops-cpu-iowait"} & tables.keys()
    assert "iops-merged-tail" in tables


def test_a_hostile_preset_stays_text(reports) -> None:
    run = read_run(reports.folder("simulated"))
    hostile = replace(SIMULATION, preset=HOSTILE, summary=HOSTILE, model=HOSTILE, assumed=(HOSTILE,))
    target = replace(run.manifest.target, simulation=hostile)
    read = in_visible_texts(replace(run, manifest=replace(run.manifest, target=target)))
    report = build_report(read, default_date(run))
    html = render_html(report, {})
    assert "<script>alert" not in html
    assert "SIMULATED, preset &lt;script&gt;" in html
    assert render_pdf(report, {}).startswith(b"%PDF")
