"""A run in a notebook: one line, the table of its cover, its key values as a table for pandas."""

import polars as pl

import openpts
from tests.support.report_cases import Reports


def test_a_run_is_one_line_and_its_key_values_are_a_frame(reports: Reports) -> None:
    folder = reports.folder("five rounds")
    run = openpts.read_run(folder)
    line = repr(run)
    assert "\n" not in line
    assert len(line) < 200 + len(str(folder))
    assert f"iops on {run.manifest.target.path}, complete, {len(run.steps)} steps" in line
    frame = pl.DataFrame(run.key_values(), strict=False)
    expected = [one for one in openpts.measures(run) if one.is_key]
    assert list(frame["key"]) == [one.key for one in expected]
    assert list(frame["value"]) == [one.value for one in expected]
    assert set(frame["unit"]) == {"IOPS"}
    assert openpts.read_runs(folder) == (run,)


def test_a_notebook_shows_the_key_values_of_the_cover(reports: Reports) -> None:
    run = openpts.read_run(reports.folder("five rounds"))
    shown = run._repr_html_()
    first = openpts.measures(run)[0]
    assert shown.count("<tr>") == sum(one.is_key and one.on_cover for one in openpts.measures(run))
    assert f"<td>{first.cover_label or first.label}</td><td>{first.text}</td><td>IOPS</td>" in shown
    assert "<Run" not in shown, "its words are no tags"
