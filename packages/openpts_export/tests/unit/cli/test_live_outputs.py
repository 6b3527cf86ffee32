"""Files and streams for other programs: what can't be written says so, and what to do."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry, Counter

from openpts.cli.live_outputs import opened_output
from openpts.cli.main import cli
from openpts.errors import LimitError, UsageError
from openpts_export.outputs import published_metrics


def test_lines_that_are_lost_on_standard_output_are_told(monkeypatch, capsys) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with opened_output("--events", "-") as write:
            write(b"{}\n")
    assert capsys.readouterr().err == "openpts: --events - is incomplete: No space left on device\n"


def test_what_ends_with_an_error_still_says_what_was_lost(capsys) -> None:
    with suppress(LimitError), opened_output("--events", "/dev/full") as write:
        write(b"{}\n")
        raise LimitError("the drive failed 1 of 1 limits")
    assert capsys.readouterr().err == "openpts: --events /dev/full is incomplete: No space left on device\n"


def test_the_textfile_has_the_end_of_a_run_that_ends_with_an_error(tmp_path) -> None:
    place = tmp_path / "run.prom"
    ended = CollectorRegistry()
    deviations = Counter("deviations", "Entries of the ledger.", registry=ended)
    with suppress(LimitError), published_metrics(str(place), ended):
        deviations.inc(3)
        raise LimitError("the drive failed 1 of 1 limits")
    assert "deviations_total 3.0" in place.read_text()


def test_a_second_run_needs_a_file_of_its_own(tmp_path) -> None:
    place = str(tmp_path / "diag.jsonl")
    with opened_output("--ocp-diag", place, new=True):
        pass
    refused = pytest.raises(UsageError, match=r"can't write --ocp-diag .*: the file exists; name a new one$")
    with refused, opened_output("--ocp-diag", place, new=True):
        pass


def test_events_are_appended_to_events_and_to_nothing_else(tmp_path) -> None:
    """A link leads to what is another's; an image may be a drive's, in use where nothing shows it."""
    words = ["run", "tp", "sim:enterprise-tlc?capacity=4GB", "--quick", "--no-report", "--out"]
    events, link, image = tmp_path / "events.jsonl", tmp_path / "link", tmp_path / "image"
    link.symlink_to(events)
    image.write_bytes(bytes(4096))
    for count in (1, 2):
        done = CliRunner().invoke(cli, [*words, str(tmp_path / f"{count}"), "--events", str(events)])
        assert done.exit_code == 0, done.output
        assert events.read_text().count('"stream_started"') == count
    for place, why in ((link, "is a symbolic link"), (image, "holds something else than events")):
        before = place.read_bytes()
        refused = CliRunner().invoke(cli, [*words, str(tmp_path / "3"), "--events", str(place)])
        assert isinstance(refused.exception, UsageError)
        assert why in str(refused.exception)
        assert place.read_bytes() == before
    assert not (tmp_path / "3").exists()
