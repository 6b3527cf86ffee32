"""A run beside a meter whose lines are not all watts: the console says so, and the events."""

import json
from pathlib import Path

from click.testing import CliRunner

from openpts.cli.main import cli
from tests import DATA
from tests.support.transcript import Golden

METER = DATA / "cases/power-command-words/meter.sh"


def power_notes(folder: Path, command: str) -> list[str]:
    events = folder / "events.jsonl"
    words = ["--quick", "--no-report", "--power-command", command, "--events", str(events)]
    words += ["--out", str(folder / "run")]
    done = CliRunner().invoke(cli, ["run", "lat", "sim:enterprise-tlc?capacity=1GB", *words])
    assert done.exit_code == 0, done.output
    notes = [
        event for line in events.read_text().splitlines() if (event := json.loads(line))["kind"] == "note"
    ]
    texts = [note["text"] for note in notes if note["topic"] == "meter_unread"]
    assert all(text in done.output for text in texts)
    return texts


def test_a_meter_that_prints_words_is_named(tmp_path: Path, golden: Golden) -> None:
    (text,) = power_notes(tmp_path, f"sh {METER}")
    assert text.partition("; ")[2] == golden


def test_a_meter_that_prints_watts_is_not(tmp_path: Path) -> None:
    assert not power_notes(tmp_path, "sh -c 'while :; do echo 4.5 W; sleep 0.1; done'")
