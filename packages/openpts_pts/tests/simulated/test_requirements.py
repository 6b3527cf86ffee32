"""`openpts verify --requirements` over the eight tests of the specification, row for row."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from openpts.cli.main import cli
from openpts_pts.evidence.finding import Status
from tests.support.transcript import Transcript

SUITE = ("run", "all", "sim:mlc?capacity=4GB", "--time-scale", "1/500", "--no-report", "--seed", "7")
EVERY = tuple(word for one in Status for word in ("--only", one.replace(" ", "-")))
ASKED = ("verify", "--requirements")


def printed(*words: object) -> str:
    done = CliRunner().invoke(cli, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def rows_of(run: dict[str, Any]) -> str:
    """Every requirement by its status; of those that deviated, what was required and used as well."""
    lines = [f"# {run['test']} {run['revision']}"]
    for status in Status:
        found = [one for one in run["requirements"] if one["status"] == status]
        assert len(found) == sum(run["counts"][status].values())
        lines.append(f"{status}: {' '.join(one['id'] for one in found)}")
    lines += [
        f"{one['id']}: {one['required']} | {one['used']} | {one['note']}"
        for one in run["requirements"]
        if one["status"] == Status.DEVIATED
    ]
    return "\n".join(lines)


@pytest.mark.slow
def test_every_requirement_of_the_eight_tests(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    suite = tmp_path / "suite"
    printed(*SUITE, "--out", suite)
    runs = json.loads(printed(*ASKED, suite, "--json", *EVERY))["runs"]
    assert "\n\n".join(map(rows_of, runs)) + "\n" == snapshot.use_extension(Transcript)
