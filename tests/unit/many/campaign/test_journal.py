"""The folder of a campaign, and that one process at a time carries it out."""

from pathlib import Path

import pytest

from openpts.errors import RecordError
from openpts_many.campaign.journal import carried_out_here


def test_of_two_processes_one_carries_it_out(tmp_path: Path) -> None:
    other = pytest.raises(RecordError, match=f"^another process carries out the campaign in {tmp_path}$")
    with carried_out_here(tmp_path), other, carried_out_here(tmp_path):
        pass


def test_a_folder_that_can_t_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "lot-7"
    with (
        pytest.raises(RecordError, match=f"^can't write the campaign in {folder}: Not a directory$"),
        carried_out_here(folder),
    ):
        pass
