"""The words with which a run of a lot is started: those of the operator, with what is the drive's own."""

from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.lot.located_drive import LocatedDrive
from openpts.lot.run_words import run_words
from openpts.system_files import SystemRoots
from openpts.vocabulary.run_request import RunRequest

FOLDER = Path("lot/1-x")
DISK = BlockDevice(Path("/sys/block/none"), SystemRoots())


def words(
    request: tuple[str, ...], device: BlockDevice | None = None, serial: str | None = None
) -> tuple[str, ...]:
    asked = RunRequest(run_id="ID", test_words=request, serial=serial, labels={"batch": "7"})
    return tuple(run_words(asked, LocatedDrive("TARGET", ("x",), device), FOLDER, ("--cpus", "0"), ()))


OURS = ("--run-id", "ID", "--out", "lot/1-x", "--cpus", "0", "--label=batch=7", "TARGET")


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
def test_the_serial_number_confirms_a_drive(
    device: BlockDevice | None, serial: str | None, confirmed: bool
) -> None:
    found = words(("iops",), device, serial)
    assert ("--confirm-serial" in found) is confirmed
    if confirmed:
        assert found[found.index("--confirm-serial") + 1] == serial
