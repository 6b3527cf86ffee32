"""A plan for several drives says what a run on them would say before it starts."""

import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from openpts_batch import side_by_side

pytestmark = pytest.mark.on_disk

LIMIT = "slots 4 to 6 share PCIe 3.0 x4"
TOO_MUCH = ("--no-report", "--qd", "256")  # outstanding at once: each run is refused


@pytest.mark.slow
def test_a_plan_says_the_same_of_drives_and_host_as_a_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(side_by_side, "limits_together", lambda *_: (LIMIT,))
    files = [f"file:{name}?size=256MiB" for name in ("a", "b", "c")]
    plan = CliRunner().invoke(cli, ["plan", "iops", *files])
    assert plan.exit_code == 0, plan.output
    assert list(tmp_path.iterdir()) == []
    said = plan.output[plan.output.index("#  Drive") :]
    assert [line.split()[1] for line in said.splitlines()[1:4]] == files
    assert said.endswith(f"this host limits them: {LIMIT}\n")
    run = CliRunner().invoke(cli, ["run", "iops", *files, *TOO_MUCH])
    assert run.output.startswith(said)


def test_at_80_columns_long_names_leave_room_for_serial_and_verdict(monkeypatch, golden) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "file:/srv/scratch/a-file-with-a-name-that-is-as-long-as-those-below-by-path/drive?size=1GiB"
    said = CliRunner().invoke(cli, ["run", "iops", name, "sim:enterprise-tlc", *TOO_MUCH]).output
    heading, *rows = said.splitlines()
    assert heading.split() == ["#", "Drive", "Serial", "To", "test?"]
    assert said == golden
    assert "".join(row[3 : heading.index("Serial")].strip() for row in rows).startswith(name)
    assert all(len(row) <= 80 for row in rows)


def test_a_folder_that_can_t_be_made_is_told(tmp_path) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "batch"
    ended = CliRunner().invoke(cli, ["run", "iops", "sim:mlc", "sim:mlc", "--out", str(out)])
    assert str(ended.exception) == f"can't create the batch's folder {out}: Not a directory"


def test_a_document_has_the_plan_for_one_drive(golden) -> None:
    ended = CliRunner().invoke(cli, ["plan", "iops", "sim:mlc", "sim:mlc", "--json"], standalone_mode=False)
    assert str(ended.exception) == golden
