"""Files and streams for other programs: what can't be written says so, and what to do."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from openpts.cli.live_outputs import opened_output
from openpts.cli.main import cli
from openpts.errors import UsageError


def test_lines_that_are_lost_on_standard_output_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with opened_output("--events", "-") as write:
            write(b"{}\n")
    assert capsys.readouterr().err == "openpts: --events - is incomplete: No space left on device\n"


def test_a_second_run_needs_a_file_of_its_own(tmp_path: Path) -> None:
    place = str(tmp_path / "diag.jsonl")
    with opened_output("--ocp-diag", place, new=True):
        pass
    refused = pytest.raises(UsageError, match=r"can't write --ocp-diag .*: the file exists; name a new one$")
    with refused, opened_output("--ocp-diag", place, new=True):
        pass


def test_a_service_in_the_place_of_the_file_stays_a_secret(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    words = [
        "run",
        "iops",
        "sim:mlc",
        "--events",
        str(events),
        "--notify",
        "slack://AAAAAAAAA/BBBBBBBBB/cccc",
    ]
    result = CliRunner().invoke(cli, words, standalone_mode=False)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == "--notify takes a file with the URLs of services, a line each, and no URL"
    assert not events.exists()
