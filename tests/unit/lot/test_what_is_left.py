"""What a lot that is resumed and a campaign that goes on take up again: both read the records alike."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.cli.lot import resume_lot
from openpts.errors import RecordError
from openpts.lot.lot_runner import new_lot
from openpts.record.lot import Lot, LotEntry, read_lot, write_lot
from openpts.record.manifest import RunState
from openpts.record.suite import SuiteState
from openpts.record.writer import DATABASE_NAME
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.campaign_file import Campaign, CampaignDrive, CampaignTest
from openpts_many.campaign.on_this_host import runner_here
from tests.support.synthetic_run import Synthetic, write_synthetic_run

NOTHING_AGREED = {
    "confirm_serials": (),
    "confirm_device_paths": (),
    "confirm_namespace": (),
    "erase_signatures": False,
    "overwrite_file": False,
}
REQUEST = RunRequest(run_id="ID", test_words=("iops",), target="sim:mlc?capacity=4GB")


def lot_with(folder: Path, noted: SuiteState, recorded: RunState | None) -> Lot:
    """A lot of one run, as it was noted last, whose record may say otherwise."""
    lot = new_lot([REQUEST])
    (entry,) = lot.entries
    lot = replace(lot, entries=(replace(entry, state=noted, exit_code=7 if noted == "failed" else None),))
    if recorded is not None:
        reason = "an I/O failed" if recorded is RunState.FAILED else None
        write_synthetic_run(folder / entry.folder, Synthetic(state=recorded, state_reason=reason))
    folder.mkdir(exist_ok=True)
    write_lot(folder, lot)
    return lot


def of_campaign(folder: Path) -> LotEntry:
    drives, tests = (CampaignDrive(target=str(REQUEST.target)),), (CampaignTest(test="iops"),)
    runner_here(folder, Campaign(drives=drives, tests=tests), [REQUEST], None)
    (entry,) = read_lot(folder).entries
    return entry


def of_lot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> LotEntry:
    """As the lot is when it goes on, or has nothing left."""
    taken: list[Lot] = []
    monkeypatch.setattr("openpts.cli.lot._carry_out", lambda runner, *_, **__: taken.append(runner.lot))
    try:
        with (folder / "log").open("w") as log:
            resume_lot(folder, dict(NOTHING_AGREED), {}, log, no_report=True, as_json=False)
    except RecordError:
        taken.append(read_lot(folder))
    (entry,) = taken[0].entries
    return entry


@pytest.mark.parametrize(
    ("noted", "recorded", "left"),
    [
        (SuiteState.RUNNING, RunState.RUNNING, SuiteState.WAITING),
        (SuiteState.INTERRUPTED, RunState.INTERRUPTED, SuiteState.WAITING),
        (SuiteState.REFUSED, None, SuiteState.WAITING),
        (SuiteState.RUNNING, RunState.COMPLETE, SuiteState.COMPLETE),
        (SuiteState.RUNNING, RunState.FAILED, SuiteState.FAILED),  # the lot took this one up again
        (SuiteState.FAILED, RunState.FAILED, SuiteState.FAILED),
        (SuiteState.FAILED, RunState.INTERRUPTED, SuiteState.FAILED),
        (SuiteState.FAILED, RunState.COMPLETE, SuiteState.COMPLETE),  # it was resumed alone
        (SuiteState.COMPLETE, RunState.COMPLETE, SuiteState.COMPLETE),
    ],
)
def test_what_is_done_and_what_is_left(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    noted: SuiteState,
    recorded: RunState | None,
    left: SuiteState,
) -> None:
    before = lot_with(tmp_path / "lot", noted, recorded)
    lot = of_lot(tmp_path / "lot", monkeypatch)
    write_lot(tmp_path / "lot", before)
    campaign = of_campaign(tmp_path / "lot")
    assert (lot.state, campaign.state) == (left, left)
    assert (lot.reason, lot.exit_code) == (campaign.reason, campaign.exit_code)


def test_what_is_agreed_to_now_is_handed_to_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lot took it for granted, and each run refused."""
    lot_with(tmp_path / "lot", SuiteState.INTERRUPTED, RunState.INTERRUPTED)
    words: list[str] = []
    monkeypatch.setattr(
        "openpts.cli.lot._carry_out", lambda runner, *_, **__: words.extend(runner.resume_words)
    )
    agreed = {**NOTHING_AGREED, "overwrite_file": True}
    with (tmp_path / "log").open("w") as log:
        resume_lot(
            tmp_path / "lot", agreed, {"accept_interruption": True}, log, no_report=True, as_json=False
        )
    assert words == ["--accept-interruption", "--overwrite-file"]


def test_a_damaged_record_of_a_run_that_has_failed_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lot = lot_with(tmp_path / "lot", SuiteState.FAILED, RunState.FAILED)
    (tmp_path / "lot" / lot.entries[0].folder / DATABASE_NAME).write_bytes(b"x" * 4096)
    assert of_lot(tmp_path / "lot", monkeypatch).state is SuiteState.FAILED
    assert of_campaign(tmp_path / "lot").state is SuiteState.FAILED


def test_a_lot_whose_run_had_failed_when_it_was_killed_says_how_that_goes_on(tmp_path: Path) -> None:
    lot_with(tmp_path / "lot", SuiteState.RUNNING, RunState.FAILED)
    with (tmp_path / "log").open("w") as log, pytest.raises(RecordError) as found:
        resume_lot(tmp_path / "lot", dict(NOTHING_AGREED), {}, log, no_report=True, as_json=False)
    alone = f"a run that failed is resumed alone: `openpts resume {tmp_path / 'lot'}/1-mlc`"
    assert str(found.value).endswith(alone)
    (entry,) = read_lot(tmp_path / "lot").entries
    assert (entry.state, entry.reason) == (SuiteState.FAILED, "an I/O failed")
