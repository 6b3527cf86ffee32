"""`openpts fleet` as it is typed, with hosts over ssh: what programs read of it, and its exit codes."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from docs.schema_files import OUTPUTS
from jsonschema_rs import Draft202012Validator

from openpts.ownership import new_run_id
from tests.support.systemd_host import SystemdHost

PATIENCE_S = 180


def run(program: str, fleet_file: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [program, "fleet", words[0], "--fleet", str(fleet_file), *words[1:]]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def told(program: str, fleet_file: Path, *words: str) -> dict[str, Any]:
    """What a command prints as JSON, which holds to its schema."""
    done = run(program, fleet_file, words[0], "--json", *words[1:])
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    Draft202012Validator(json.loads(OUTPUTS.read_text())).validate(found)
    return found


def test_a_run_from_submission_to_its_folder_here(
    program: str, fleet_file: Path, systemd_hosts: list[SystemdHost], tmp_path: Path
) -> None:
    words = ("--host", "h2", "--slot", "s00", "tp", "--quick")
    (submitted,) = told(program, fleet_file, "submit", *words)["runs"]
    run_id, deadline_s = submitted["run_id"], time.monotonic() + PATIENCE_S
    while told(program, fleet_file, "observe", run_id)["runs"][0]["stage"] != "complete":
        assert time.monotonic() < deadline_s
    assert [host["name"] for host in told(program, fleet_file, "hosts")["hosts"]] == ["h1", "h2"]

    out = str(tmp_path / "results")
    unit = f"openpts-{new_run_id()}"
    systemd_hosts[1].inside("systemd-run", "--quiet", "--collect", f"--unit={unit}", "sleep", "600")
    try:
        refused = run(program, fleet_file, "fetch", run_id, "--out", out)
        left = run(program, fleet_file, "fetch", "--out", out)
    finally:
        systemd_hosts[1].inside("systemctl", "stop", unit)
    assert (refused.returncode, refused.stdout) == (15, "")
    assert "h2 measures" in refused.stderr
    assert left.returncode == 0
    assert "h2 measures: its runs are left there" in left.stderr
    assert not (tmp_path / "results" / run_id).exists()

    fetched = told(program, fleet_file, "fetch", run_id, "--out", out)["runs"]
    assert [(one["run_id"], one["is_new"]) for one in fetched] == [(run_id, True)]
    assert (Path(fetched[0]["folder"]) / "run.db").exists()
    assert run_id in {one["run_id"] for one in told(program, fleet_file, "list")["runs"]}
