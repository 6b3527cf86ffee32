"""The index of a batch: what became of each drive, and at its head which did not end well."""

from pathlib import Path

from openpts.record.batch import Batch, BatchEntry
from openpts.record.suite import SuiteState
from openpts.report.batch_index import write_batch_index
from openpts.vocabulary.run_request import RunRequest
from tests.unit.report.test_suite_index import Page


def entry(number: int, state: SuiteState, reason: str | None = None) -> BatchEntry:
    request = RunRequest(run_id=f"{number}", test_words=("iops",), model="X100", serial=f"S{number}")
    return BatchEntry(request=request, folder=f"{number}-S{number}", state=state, reason=reason)


def test_drives_that_did_not_end_well_are_named_at_the_head_and_lead_to_their_rows(tmp_path: Path) -> None:
    states = [SuiteState.COMPLETE] * 20
    entries = [entry(number, state) for number, state in enumerate(states, start=1)]
    entries[4] = entry(5, SuiteState.REFUSED, "in use")
    entries[18] = entry(19, SuiteState.FAILED, "worn out")
    batch = Batch(batch_id="l", started_at="2026-01-01T00:00:00+00:00", entries=tuple(entries))
    html = write_batch_index(tmp_path, batch).read_text()
    page = Page(html)
    assert "IOPS on 20 drives" in page.text
    assert "20 drives: 18 complete, 1 failed, 1 refused:\nX100 S5\n,\nX100 S19\n" in page.text
    assert page.links == ["#row-5", "#row-19"]
    for link, serial in zip(page.links, ("S5", "S19"), strict=True):
        _, _, row = html.partition(f'<tr id="{link.removeprefix("#")}">')
        assert serial in row.partition("</tr>")[0]


def test_a_batch_that_ended_well_says_so(tmp_path: Path) -> None:
    batch = Batch(
        batch_id="l", started_at="2026-01-01T00:00:00+00:00", entries=(entry(1, SuiteState.COMPLETE),)
    )
    page = Page(write_batch_index(tmp_path, batch).read_text())
    assert "1 drive: 1 complete\n" in page.text
    assert page.links == []


def test_the_command_can_be_typed_as_it_stands(tmp_path: Path) -> None:
    words = ("run", "iops", "sim:mlc?seed=1", "--tracking", "RND 4KiB RW0")
    batch = Batch(batch_id="l", started_at="2026-01-01T00:00:00+00:00", command_line=words)
    page = Page(write_batch_index(tmp_path, batch).read_text())
    assert "openpts run iops 'sim:mlc?seed=1' --tracking 'RND 4KiB RW0'\n" in page.text
