"""`openpts self-check` as a user types it: a verdict, a kept line, and its chart."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openpts.analysis import steady_state
from openpts_line.cli.self_check import self_check


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_sound_instrument_passes_and_is_kept(state: Path) -> None:
    assert "no self-check of this host is kept" in CliRunner().invoke(self_check, ["--history"]).output
    found = json.loads(CliRunner().invoke(self_check, ["--seconds", "0.1", "--json"]).stdout)
    assert (found["schema"], found["verdict"]) == ("openpts.self-check/1", "passed")
    assert [check["verdict"] for check in found["checks"] if check["verdict"] == "failed"] == []
    assert len(found["checks"]) == 9
    assert found["kept"] == str(state / "self-checks.jsonl")
    charts = json.loads(CliRunner().invoke(self_check, ["--history", "--json"]).stdout)["charts"]
    assert {chart["checks"] for chart in charts} == {1}


def test_a_fault_of_the_analysis_stops_it(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady_state, "SLOPE_LIMIT", 0.11)
    ended = CliRunner().invoke(self_check, ["--seconds", "0.1", "--json"])
    found = json.loads(ended.stdout)
    assert ended.exit_code != 0
    assert (found["verdict"], found["exit_code"]) == ("failed", 1)
    assert "analysis" in found["error"]
    kept = json.loads((state / "self-checks.jsonl").read_text())
    assert (kept["verdict"], bool(kept["faults"])) == ("failed", True)
