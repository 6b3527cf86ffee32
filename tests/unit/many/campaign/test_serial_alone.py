"""A drive of a campaign that is named by its serial number alone, as in a file of drives of a batch."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from openpts.batch.side_by_side import SideBySide
from openpts.config_files.written_file import WrittenFileError
from openpts.record.manifest import RunState
from openpts.system_files import SystemRoots
from openpts_many.campaign.begun import new_campaign
from openpts_many.campaign.campaign_file import Campaign, CampaignDrive, read_campaign
from openpts_many.campaign.expansion import requests_of
from openpts_many.campaign.on_fleet import in_their_slots
from openpts_many.fleet.port import HostState
from tests.data.system_trees import server

__all__ = ["server"]


def written(folder: Path, *drives: str) -> tuple[Path, Campaign]:
    tables = "".join(f"[[drives]]\n{drive}\n" for drive in drives)
    (folder / "lot-7.toml").write_text(f'{tables}[[tests]]\ntest = "iops"\n')
    return folder / "lot-7.toml", read_campaign(folder / "lot-7.toml")


def test_on_this_host_it_is_the_drive_wherever_it_is(tmp_path: Path, server: SystemRoots) -> None:
    _, campaign = written(tmp_path, 'serial = "HLJ00101"', 'serial = "HLJ0010"')
    assert [drive.name for drive in campaign.drives] == ["HLJ00101", "HLJ0010"]
    batch = new_campaign(campaign, requests_of(campaign))
    runner = SideBySide(folder=tmp_path / "lot-7", batch=batch, roots=server)
    runner.locate(measured=False)
    there, gone = runner.batch.entries
    assert (there.state, there.folder) == (RunState.WAITING, "1-HLJ00101")
    assert runner._drives[0].target == str(server.dev / "sdb")
    assert (gone.state, gone.exit_code) == (RunState.REFUSED, 3)
    assert gone.reason == "serial number HLJ0010 is of no drive: `openpts devices` lists all"


def test_one_that_is_named_once_more_in_a_slot_is_named_twice(tmp_path: Path) -> None:
    with pytest.raises(WrittenFileError) as found:
        written(tmp_path, 'serial = "S1"', 'slot = "b1"\nserial = "S1"', 'serial = "S2"', 'serial = "S3"')
    assert found.value.complaints == (f"{tmp_path}/lot-7.toml:1:3: S1 is named twice",)


HOSTS = (
    HostState("h1", True, "", {"s00": "S1", "s01": "S2", "s02": None, "s03": "S4", "s04": "S4", "s05": ""}),
    HostState("h2", True, "measures 019aa0c1-7d52-7c43-9d1e-0e5c8b3f2a10", {}),
)


def located(folder: Path, *drives: str, hosts: Sequence[HostState] = HOSTS) -> Campaign:
    file, campaign = written(folder, *drives)
    return in_their_slots(campaign, file, lambda: hosts)


def test_on_another_host_it_is_in_the_slot_that_has_it_now(tmp_path: Path) -> None:
    found = located(tmp_path, 'serial = "S2"\nhost = "h1"', 'serial = "S9"\nslot = "s00"\nhost = "h2"')
    assert found.drives == (
        CampaignDrive(serial="S2", host="h1", slot="s01"),
        CampaignDrive(serial="S9", host="h2", slot="s00"),
    )
    first, _ = requests_of(found)
    assert (first.slot, first.labels["slot"]) == ("s01", "s01")


def test_no_host_is_asked_where_all_slots_are_named(tmp_path: Path) -> None:
    file, campaign = written(tmp_path, 'serial = "S9"\nslot = "s00"\nhost = "h2"')
    assert in_their_slots(campaign, file, lambda: pytest.fail("asked")) == campaign


def test_where_its_slot_is_not_known_the_file_has_to_say_it(tmp_path: Path) -> None:
    with pytest.raises(WrittenFileError) as found:
        located(tmp_path, *(f'serial = "{serial}"\nhost = "{host}"' for serial, host in UNKNOWN))
    assert found.value.complaints == tuple(
        f"{tmp_path}/lot-7.toml:{line}:3: {said}"
        for line, said in zip(range(1, 13, 3), COMPLAINTS, strict=True)
    )


UNKNOWN = (("S3", "h1"), ("S4", "h1"), ("S5", "h2"), ("S6", "h3"))
COMPLAINTS = (
    "S3 is in no slot of h1: put it in, or write slot = '...' for where it will be, one of s00, s01, "
    "s02, s03, s04, s05",
    "S4 is in s03 and s04 of h1: write slot = '...' for one of them",
    "where S5 is can't be seen, h2 measures 019aa0c1-7d52-7c43-9d1e-0e5c8b3f2a10: write slot = '...'",
    "the fleet file has no host h3",
)
