"""A run folder of an earlier record version is read as it was by the openpts that wrote it.

tests/data/records has, for each, the run.db of a shortened latency test and, in figures.json, what the last
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
from openpts.errors import RecordError
from openpts.record.last_step import last_step
from openpts.record.reader import read_run
from openpts.record.schema import READABLE_VERSIONS, SCHEMA_VERSION
from openpts.record.writer import CHECKSUM_SECTION, DATABASE_NAME, checksum_of
from openpts.runner.order import Order
from openpts.runner.resumed_run import Resumption
from openpts.vocabulary.consent import Consent

RECORDS = Path(__file__).parents[2] / "data" / "records"
VERSIONS = (4, 5, 6, 7, 8)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def told(version: int) -> dict[str, Any]:
    """What the openpts of that version said."""
    found: dict[str, Any] = json.loads((RECORDS / f"version-{version}" / "figures.json").read_text())
    return found


@pytest.fixture
def run_folder(tmp_path: Path, version: int) -> Path:
    return _run_folder(tmp_path / "run", version)


def _run_folder(folder: Path, version: int) -> Path:
    folder.mkdir()
    stored = RECORDS / f"version-{version}" / "run.db.xz"
    (folder / DATABASE_NAME).write_bytes(lzma.decompress(stored.read_bytes()))
    return folder


def _printed(*words: str | Path) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [*map(str, words), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


def _by_rule(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The order of the ledger's entries has changed since."""
    return sorted(entries, key=lambda entry: str(entry["rule_id"]))


def _without_later_fields(found: Any, told: Any) -> Any:
    """What a version gave out, where later ones give out more of it."""
    if isinstance(told, dict):
        return {name: _without_later_fields(found[name], told[name]) for name in told}
    if isinstance(told, list) and len(found) == len(told):
        return [_without_later_fields(*pair) for pair in zip(found, told, strict=True)]
    return found


def test_each_version_that_can_be_read_has_a_folder_here() -> None:
    assert {*VERSIONS, SCHEMA_VERSION} == READABLE_VERSIONS


def test_its_version_is_that_and_nothing_stood_still(run_folder: Path, version: int) -> None:
    with closing(sqlite3.connect(run_folder / DATABASE_NAME)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    run = read_run(run_folder, interval_histograms=True)
    assert len(run.steps) == 1 + 5 * 9 + 1
    assert not any(step.sample.standstills for step in run.steps)
    assert any(interval.write.histogram for step in run.steps for interval in step.sample.intervals)


def test_its_report_has_the_same_figures_and_is_verified(run_folder: Path, told: dict[str, Any]) -> None:
    found, expected = _printed("report", run_folder, "--no-html", "--no-pdf"), told["figures"]
    for figures in (found, expected):
        figures["deviations"] = _by_rule(figures["deviations"])
    assert _without_later_fields(found, expected) == expected
    verified = _printed("verify", run_folder)
    assert (verified["differences"], verified["files"]) == ([], [])


def test_its_requirements_stand_as_they_did(run_folder: Path, told: dict[str, Any]) -> None:
    """But for those that version 4 met because a comment named them: built in, or not verifiable."""
    stood = told["conformance"]["statuses"]
    found = {
        one["id"]: one["status"] for one in _printed("verify", run_folder, "--requirements")["requirements"]
    }
    if "cannot verify" not in stood.values():
        assert found == stood
        return
    assert set(stood) - set(found) == {"PTS-PRE-03"}  # permits what this run did not do
    assert {(stood[name], status) for name, status in found.items()} == {
        ("met", "met"),
        ("met", "built in"),
        ("met", "not verifiable"),
        ("deviated", "deviated"),
        ("cannot verify", "not verifiable"),
    }


def test_it_can_not_be_resumed_and_says_why(run_folder: Path, version: int) -> None:
    """It is made one that was cut off. Before version 6 a record has no orders; that one lacks tables."""
    with closing(sqlite3.connect(run_folder / DATABASE_NAME, isolation_level=None)) as connection:
        connection.execute("UPDATE manifest SET json = '\"failed\"' WHERE section = 'state'")
        sections = dict(connection.execute("SELECT section, json FROM manifest"))
        changed = (checksum_of(sections), CHECKSUM_SECTION)
        connection.execute("UPDATE manifest SET json = ? WHERE section = ?", changed)
    if version < 6:
        with pytest.raises(RecordError, match="an earlier openpts made its record"):
            Order.to_resume(Resumption(read_run(run_folder)), Consent())
        return
    told = f"has version {version}, and this openpts continues records of version {SCHEMA_VERSION}"
    with pytest.raises(RecordError, match=told):
        last_step(run_folder)


@pytest.mark.with_plugins
def test_it_is_compared_by_the_same_values(
    run_folder: Path, tmp_path: Path, version: int, told: dict[str, Any]
) -> None:
    (test,) = _printed("compare", run_folder, _run_folder(tmp_path / "copy", version))["tests"]
    found = [
        {
            "name": value["name"],
            "unit": value["unit"],
            "warm": value["sets"][0]["warm"],
            "median": value["sets"][0]["median"],
        }
        for value in test["key_values"]
    ]
    names = [value["name"] for value in told["comparison"]]
    assert [value for value in found if value["name"] in names] == told["comparison"]


def test_conditions_that_are_no_longer_known_are_refused_with_what_to_do(
    run_folder: Path, version: int
) -> None:
    with closing(sqlite3.connect(run_folder / DATABASE_NAME)) as connection:
        sections = dict(connection.execute("SELECT section, json FROM manifest"))
        conditions = json.loads(sections["conditions"])
        sections["conditions"] = json.dumps({**conditions, "test": "sustained"})
        if CHECKSUM_SECTION in sections:
            sections[CHECKSUM_SECTION] = checksum_of(sections)
        with connection:
            connection.executemany(
                "UPDATE manifest SET json = ? WHERE section = ?", [(v, k) for k, v in sections.items()]
            )
    with pytest.raises(RecordError) as refused:
        read_run(run_folder)
    assert str(refused.value) == (
        f"can't read {run_folder}: its record has version {version}, and the conditions of its test are not "
        "those that this openpts knows; read it with the openpts that wrote it, or run the test again"
    )
