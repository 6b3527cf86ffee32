"""A run folder of record version 4 is read as it was by the openpts that wrote it.

tests/data/records/version-4 holds the run.db of a shortened latency test and, in figures.json, what the last
openpts that wrote this version printed of it: its figures, its requirements, and a comparison with a copy.
"""

import json
import lzma
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from openpts.record.reader import read_run
from openpts.record.writer import DATABASE_NAME

STORED = Path(__file__).parents[2] / "data" / "records" / "version-4"


@pytest.fixture
def told() -> dict[str, Any]:
    """What the openpts of that version said."""
    found: dict[str, Any] = json.loads((STORED / "figures.json").read_text())
    return found


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return _run_folder(tmp_path / "run")


def _run_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / DATABASE_NAME).write_bytes(lzma.decompress((STORED / "run.db.xz").read_bytes()))
    return folder


def _printed(*words: str | Path) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [*map(str, words), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


def _by_rule(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The order of the ledger's entries has changed since."""
    return sorted(entries, key=lambda entry: str(entry["rule_id"]))


def test_its_version_is_that_and_nothing_stood_still(run_folder: Path) -> None:
    with closing(sqlite3.connect(run_folder / DATABASE_NAME)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (4,)
    run = read_run(run_folder, interval_histograms=True)
    assert len(run.steps) == 1 + 5 * 9 + 1
    assert not any(step.sample.standstills for step in run.steps)
    assert any(interval.write.histogram for step in run.steps for interval in step.sample.intervals)


def test_its_report_has_the_same_figures_and_is_verified(run_folder: Path, told: dict[str, Any]) -> None:
    found, expected = _printed("report", run_folder, "--no-html", "--no-pdf"), told["figures"]
    for figures in (found, expected):
        figures["deviations"] = _by_rule(figures["deviations"])
    assert {name: found[name] for name in expected} == expected
    verified = _printed("verify", run_folder)
    assert (verified["differences"], verified["files"]) == ([], [])


def test_its_requirements_stand_as_they_did(run_folder: Path, told: dict[str, Any]) -> None:
    """But for those that were met because a comment named them: they are built in, or not verifiable."""
    stood = told["conformance"]["statuses"]
    found = {one["id"]: one["status"] for one in _printed("conformance", run_folder)["requirements"]}
    assert set(stood) - set(found) == {"PTS-PRE-03"}  # permits what this run did not do
    assert {(stood[name], status) for name, status in found.items()} == {
        ("met", "met"),
        ("met", "built in"),
        ("met", "not verifiable"),
        ("deviated", "deviated"),
        ("cannot verify", "not verifiable"),
    }


def test_it_is_compared_by_the_same_values(run_folder: Path, tmp_path: Path, told: dict[str, Any]) -> None:
    (test,) = _printed("compare", run_folder, _run_folder(tmp_path / "copy"))["tests"]
    found = [
        {
            "name": value["name"],
            "unit": value["unit"],
            "warm": value["sets"][0]["warm"],
            "median": value["sets"][0]["median"],
        }
        for value in test["key_values"]
    ]
    assert found == told["comparison"]
