"""A plan for several drives says what a run on them would say before it starts."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from openpts.lot import lot_runner

LIMIT = "slots 4 to 6 share PCIe 3.0 x4"
TOO_MUCH = ("--no-report", "--qd", "256")  # outstanding at once: each run is refused


def test_a_plan_says_the_same_of_drives_and_host_as_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lot_runner, "limits_together", lambda *_: (LIMIT,))
    files = [f"file:{name}?size=256MiB" for name in ("a", "b", "c")]
    plan = CliRunner().invoke(cli, ["plan", "iops", *files])
    assert plan.exit_code == 0, plan.output
    assert list(tmp_path.iterdir()) == []
    said = plan.output[plan.output.index("#  Drive") :]
    assert [line.split()[1] for line in said.splitlines()[1:4]] == files
    if len(os.sched_getaffinity(0)) == 2:
        assert "processors 0-1 for 3 drives at once" in said
    assert said.endswith(f"this host limits them: {LIMIT}\n")
    run = CliRunner().invoke(cli, ["run", "iops", *files, *TOO_MUCH])
    assert run.output.startswith(said)


def test_a_document_has_the_plan_for_one_drive() -> None:
    ended = CliRunner().invoke(cli, ["plan", "iops", "sim:mlc", "sim:mlc", "--json"], standalone_mode=False)
    assert "name one TARGET" in str(ended.exception)
