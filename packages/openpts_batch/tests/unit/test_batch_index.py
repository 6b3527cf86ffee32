"""The index of a batch says what each run is, and what it is not, and which did not end well."""

import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.record.batch import Batch, BatchEntry, read_batch, write_batch
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.report.run_part import part_of
from openpts.report.sources import read_for_report
from openpts.vocabulary.run_request import RunRequest
from openpts.vocabulary.verdict import Better
from openpts_batch import batch_index
from openpts_batch.batch_index import write_batch_index
from openpts_pages.measure import Measured
from openpts_pages.model import Cell
from tests.support.batches import suite_entry, suite_of
from tests.support.made_up_run import made_up_run
from tests.support.report_cases import CASES
from tests.support.synthetic_run import HOSTILE, Synthetic, write_synthetic_run

COMPLETE = suite_entry("iops", "1-iops", state=RunState.COMPLETE, reports=("report.html",))
SUITE = suite_of(command_line=("run", "all", "/dev/nvme9n1"))


class Page(HTMLParser):
    """The texts of a page, its links, and the elements that could do something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.links, self.tags = "", [], set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in {"href", "src"}]

    def handle_data(self, data: str) -> None:
        self.text += f"{data.strip()}\n" if data.strip() and self.lasttag != "style" else ""


def page_of(folder: Path, suite: Batch) -> Page:
    return Page(write_batch_index(folder, suite).read_text(encoding="utf-8"))


def test_a_complete_run_has_figures_verdict_and_link(tmp_path, golden) -> None:
    write_synthetic_run(tmp_path / "1-iops", CASES["steady"])
    page = page_of(tmp_path, replace(SUITE, entries=(COMPLETE,)))
    assert page.text == golden
    assert page.links == ["1-iops/report.html"]


def test_energy_has_no_rows_of_its_own_and_power_is_among_what_a_buyer_asks(tmp_path) -> None:
    run = made_up_run("iops")
    power = Measured(
        "energy.loads.mean_w", "All loads, mean power", "W", Cell("7.5", 7.5), Better.LOWER, headline=8
    )
    found = (*part_of(run, "2026-11-21T08:00:00Z").measures, power)
    rows = [batch_index.IndexRow(measures=tuple(found))]
    assert batch_index._asked(rows)[-1] == (power.label, "7.5 W")
    assert not [name for name, *_ in batch_index._figures(run, found) if "power" in name]


def test_a_record_is_read_once_and_again_when_it_is_another(tmp_path, monkeypatch) -> None:
    read: list[Path] = []

    def counted(folder: Path) -> Run:
        read.append(folder)
        return read_for_report(folder)

    monkeypatch.setattr(batch_index, "read_for_report", counted)
    suite = replace(SUITE, entries=(COMPLETE,))
    write_synthetic_run(tmp_path / "1-iops", Synthetic(rounds=5, steady_round=5))
    first = page_of(tmp_path, suite).text
    assert page_of(tmp_path, replace(suite, reports=("report.json", "report.html"))).links == [
        "report.html",
        "report.json",
        "1-iops/report.html",
    ]
    assert len(read) == 1
    shutil.rmtree(tmp_path / "1-iops")
    write_synthetic_run(tmp_path / "1-iops", Synthetic(rounds=5, steady_round=None))
    assert page_of(tmp_path, suite).text != first
    assert len(read) == 2


def test_figures_that_are_not_steady_say_so_and_missing_ones_say_why(tmp_path, golden) -> None:
    for number, case in enumerate(("not steady", "preconditioned only"), start=1):
        write_synthetic_run(tmp_path / f"{number}-iops", CASES[case])
    entries = [replace(COMPLETE, folder=f"{number}-iops") for number in (1, 2)]
    unsteady = page_of(tmp_path, replace(SUITE, entries=(entries[0],))).text
    unmeasured = page_of(tmp_path, replace(SUITE, entries=(entries[1],))).text
    assert [unsteady, unmeasured] == golden


def test_what_did_not_run_or_failed_is_told_with_its_reason(tmp_path) -> None:
    write_synthetic_run(tmp_path / "1-iops", CASES["failed"])
    entries = (
        replace(COMPLETE, state=RunState.FAILED, reason="an I/O failed", reports=()),
        suite_entry("tp", "2-tp", state=RunState.REFUSED, reason="the target is in use"),
        suite_entry("lat", "3-lat"),
    )
    page = page_of(tmp_path, replace(SUITE, entries=entries))
    for words in ("failed", "an I/O failed", "refused", "the target is in use", "waiting", "FAILED RUN"):
        assert words in page.text
    assert page.links == []


@pytest.mark.parametrize("cases", [("simulated",), ("simulated", "simulated, shortened")])
def test_simulated_runs_are_marked_once_at_the_head(tmp_path, cases, golden) -> None:
    entries = []
    for number, case in enumerate(cases, start=1):
        write_synthetic_run(tmp_path / f"{number}-iops", CASES[case])
        entries.append(replace(COMPLETE, folder=f"{number}-iops"))
    page = page_of(tmp_path, replace(SUITE, entries=tuple(entries)))
    assert page.text == golden


def test_names_can_not_break_out_of_the_page(tmp_path) -> None:
    write_synthetic_run(tmp_path / "1-iops", CASES["hostile"])
    entry = replace(COMPLETE, state=RunState.FAILED, reason=HOSTILE)
    page = page_of(tmp_path, suite_of(entry, target=HOSTILE, command_line=(HOSTILE,)))
    assert not page.tags & {"script", "img", "iframe", "svg"}
    assert "<script>alert(1)</script>" in page.text


def test_a_record_that_can_not_be_read_leaves_the_page_whole(tmp_path) -> None:
    (tmp_path / "1-iops").mkdir()
    (tmp_path / "1-iops/run.db").write_bytes(b"no database, but long enough to be looked at" * 50)
    page = page_of(tmp_path, replace(SUITE, entries=(COMPLETE,)))
    assert "IOPS" in page.text


def test_a_suite_is_read_back_as_it_was_written(tmp_path) -> None:
    suite = replace(SUITE, entries=(COMPLETE,), ended_at="2025-01-15T08:11:00Z")
    for written in (SUITE, suite):
        write_batch(tmp_path, written)
        assert read_batch(tmp_path) == written
    assert [path.name for path in tmp_path.iterdir()] == ["batch.json"]


def test_a_folder_that_is_no_suite_is_told(tmp_path) -> None:
    with pytest.raises(RecordError, match=r"can't read .*batch.json"):
        read_batch(tmp_path)
    with pytest.raises(RecordError, match="can't write"):
        write_batch(tmp_path / "none", SUITE)


def drive(number: int, state: RunState, reason: str | None = None) -> BatchEntry:
    request = RunRequest(run_id=f"{number}", test_words=("iops",), model="X100", serial=f"S{number}")
    return BatchEntry(request=request, folder=f"{number}-S{number}", state=state, reason=reason)


def test_drives_that_did_not_end_well_are_named_at_the_head_and_lead_to_their_rows(tmp_path, golden) -> None:
    states = [RunState.COMPLETE] * 20
    entries = [drive(number, state) for number, state in enumerate(states, start=1)]
    entries[4] = drive(5, RunState.REFUSED, "in use")
    entries[18] = drive(19, RunState.FAILED, "worn out")
    batch = Batch(batch_id="l", started_at="2026-01-01T00:00:00+00:00", entries=tuple(entries))
    html = write_batch_index(tmp_path, batch).read_text()
    page = Page(html)
    assert page.text.partition("\nDrive\n")[0] == golden
    assert page.links == ["#row-5", "#row-19"]
    for link, serial in zip(page.links, ("S5", "S19"), strict=True):
        _, _, row = html.partition(f'<tr id="{link.removeprefix("#")}">')
        assert serial in row.partition("</tr>")[0]


def test_a_batch_that_ended_well_says_so(tmp_path, golden) -> None:
    batch = Batch(
        batch_id="l", started_at="2026-01-01T00:00:00+00:00", entries=(drive(1, RunState.COMPLETE),)
    )
    page = Page(write_batch_index(tmp_path, batch).read_text())
    assert page.text == golden
    assert page.links == []


def test_the_command_can_be_typed_as_it_stands(tmp_path) -> None:
    words = ("run", "iops", "sim:mlc?seed=1", "--tracking", "RND 4KiB RW0")
    batch = Batch(batch_id="l", started_at="2026-01-01T00:00:00+00:00", command_line=words)
    page = Page(write_batch_index(tmp_path, batch).read_text())
    assert "openpts run iops 'sim:mlc?seed=1' --tracking 'RND 4KiB RW0'\n" in page.text
