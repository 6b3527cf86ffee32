"""The words with which a run of a batch is started: those of the operator, with what is the drive's own."""

from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.chosen_drives import LocatedDrive
from openpts_batch.side_by_side import run_words
from tests.support.synthetic_run import Synthetic, write_synthetic_run

FOLDER = Path("batch/1-x")
DISK = BlockDevice(Path("/sys/block/none"), SystemRoots())


def words(
    request: tuple[str, ...], device: BlockDevice | None = None, serial: str | None = None
) -> tuple[str, ...]:
    asked = RunRequest(run_id="ID", test_words=request, serial=serial, labels={"batch": "7"})
    return tuple(run_words(asked, LocatedDrive("TARGET", ("x",), device), FOLDER, ("--cpus", "0"), ()))


OURS = ("--cpus", "0", "--run-id", "ID", "--out", "batch/1-x", "--label=batch=7", "TARGET")


def test_the_target_is_the_last_word_behind_arguments_of_the_test() -> None:
    assert words(("workload", "job.fio", "--quick")) == (
        *("run", "workload", "job.fio", "--quick", "--events", "-", "--no-report"),
        *OURS,
    )


def test_a_program_of_the_operators_stays_behind_all_else() -> None:
    found = words(("app", "--runs", "2", "--", "make", "--out", "x"))
    assert found[-4:] == ("--", "make", "--out", "x")
    assert found[-5] == "TARGET"


@pytest.mark.parametrize(
    ("device", "serial", "confirmed"), [(DISK, "S1", True), (DISK, None, False), (None, "SIM0001", False)]
)
def test_the_serial_number_confirms_a_drive(device, serial, confirmed) -> None:
    found = words(("iops",), device, serial)
    assert ("--confirm-serial" in found) is confirmed
    if confirmed:
        assert found[found.index("--confirm-serial") + 1] == serial


def test_a_run_that_goes_on_has_the_consents_with_which_it_began(tmp_path) -> None:
    """One that was spelt with = was lost, and what a program of the operator's takes is no consent."""
    write_synthetic_run(tmp_path / "run", Synthetic())
    asked = RunRequest(
        run_id="ID",
        test_words=(
            *("app", "--confirm-namespace=/dev/nvme0n2", "--confirm-serial", "S1", "--erase-signatures"),
            *("--runs", "2", "--", "mkfs", "--overwrite-file", "--confirm-serial=X"),
        ),
    )
    found = run_words(asked, LocatedDrive("TARGET", ("x",)), tmp_path / "run", (), ("--accept-interruption",))
    assert found[4:] == [
        *("--events", "-", "--no-report"),
        *("--confirm-namespace=/dev/nvme0n2", "--confirm-serial=S1", "--erase-signatures"),
        "--accept-interruption",
    ]
