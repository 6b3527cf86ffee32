"""A purge by itself tells what it puts back before."""

import pytest
from click.testing import CliRunner

from openpts.journal import Journal
from openpts_drives.cli.purge import purge
from openpts_host.changes import HOST_SETTING, UNTIL_THE_END
from tests.support.processes import die, dies

pytestmark = pytest.mark.on_disk


def test_what_a_killed_run_has_left_is_put_back_and_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "state"))
    gone = tmp_path / "gone"
    subject = {"means": "file", "place": str(gone), "wanted": "2", "until": UNTIL_THE_END, "group": "1"}

    def change_and_die() -> None:
        Journal.of_machine().add(HOST_SETTING, subject, {"value": "0"})
        die()

    dies(change_and_die)
    answer = CliRunner().invoke(purge, [f"file:{tmp_path}/x?size=16MiB"])
    assert answer.exit_code == 0, answer.output
    assert answer.output.splitlines()[0] == f"{gone}: gone with its device, nothing left to restore"
    assert Journal.of_machine().entries() == ()
