"""The file of a campaign: what it may say, where it is wrong, and what may not change."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from openpts.config_files.written_file import WrittenFileError
from openpts_many.campaign.campaign_file import parse_campaign, read_campaign, refuse_changes

SMALL = """\
repetitions = 2

[[drives]]
slot = "bay1"
serial = "S1"

[[drives]]
target = "sim:theory"

[[tests]]
test = "iops"
options = ["--quick"]
"""
WRONG = """\
repetitions = 0
ordre = "blocked"
order = "at random"

[[drives]]
slot = "bay1"

[[drives]]
target = "/dev/nvme0n1"

[[drives]]
target = "sim:theory"
host = "h1"
labels = { "9th" = "x", condition = "hot" }

[[drives]]
target = "sim:theory"
host = "h1"

[[tests]]
test = "iopz"
options = ["--quick", "--out=here"]

[[conditions]]
name = "hot"

[[conditions]]
name = "hot"
"""


def complaints(text: str) -> tuple[str, ...]:
    with pytest.raises(WrittenFileError) as caught:
        parse_campaign(text.encode(), "lot-7.toml")
    return caught.value.complaints


def test_a_small_file_is_enough() -> None:
    campaign = parse_campaign(SMALL.encode(), "lot-7.toml")
    assert campaign.run_count == 4
    assert [drive.name for drive in campaign.drives] == ["S1 in bay1", "sim:theory"]


def test_everything_wrong_is_told_with_its_place(snapshot: SnapshotAssertion) -> None:
    assert complaints(WRONG) == snapshot(name="shape")
    shaped = WRONG.replace("= 0", "= 1").replace('ordre = "blocked"\n', "").replace("at random", "randomised")
    assert complaints(shaped) == snapshot(name="sense")


def test_a_file_that_makes_too_many_runs_is_refused() -> None:
    drives = "".join(f'[[drives]]\ntarget = "sim:theory?seed={n}"\n' for n in range(101))
    (told,) = complaints(f'repetitions = 1000\n{drives}[[tests]]\ntest = "iops"\n')
    assert told == "lot-7.toml:1:1: this makes 101,000 runs, and 100,000 are the most"


def test_a_changed_file_is_refused_with_each_change(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "lot-7.toml"
    path.write_text(SMALL)
    before = read_campaign(path)
    path.write_text(SMALL.replace("= 2", "= 3").replace('"S1"', '"S2"'))
    with pytest.raises(WrittenFileError) as caught:
        refuse_changes(before, path)
    assert [one.removeprefix(str(tmp_path)) for one in caught.value.complaints] == snapshot


def test_comments_and_how_the_rest_is_carried_out_may_change(tmp_path: Path) -> None:
    path = tmp_path / "lot-7.toml"
    path.write_text(SMALL)
    before = read_campaign(path)
    path.write_text(f'# a word\nat_most = 4\ninterrupted = "repeat"\n{SMALL}')
    now = refuse_changes(before, path)
    assert (now.at_most, now.interrupted) == (4, "repeat")
