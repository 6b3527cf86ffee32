"""Ways to interrupt a drive, on a made-up sysfs: what is written where, and that a drive is brought back."""

from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.errors import OpenptsError, TargetError, UsageError
from openpts.host.setting_file import HostSettingError
from openpts.journal import Journal, Kind
from openpts.runner.healing import heal
from openpts.system_files import SystemRoots
from openpts_nvme.ready import ways
from openpts_nvme.ready.ways import WAYS, by_command
from tests.support.nvme_machine import device, roots
from tests.support.processes import die, dies

__all__ = ["device", "roots"]

ADDRESS = "0000:01:00.0"


class MadeUpDrive:
    """A drive in a sysfs that nothing answers in; ``gone`` lets it disappear."""

    serial = "S3R1AL"

    def __init__(self, device: BlockDevice, function: Path) -> None:
        self.device = device
        self.function = function
        self.looks = 2

    @property
    def controller(self) -> Path:
        self.looks -= 1
        if self.looks < 0:
            raise TargetError("gone")
        return self.device.folder.parent

    def namespace(self) -> BlockDevice:
        return self.device


@pytest.fixture
def drive(device: BlockDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUpDrive:
    """On PCI Express, in a slot whose power can be switched."""
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(ways, "_OFF_S", 0.0)
    sys = device.roots.sys
    function = sys / "devices/pci0000:00" / ADDRESS
    slot = sys / "bus/pci/slots/7"
    for folder in (function, slot):
        folder.mkdir(parents=True)
    for name, value in {"remove": "", "reset": "", "reset_method": "flr bus\n"}.items():
        (function / name).write_text(value)
    (sys / "bus/pci/rescan").write_text("")
    (slot / "address").write_text("0000:01:00\n")
    (slot / "power").write_text("1\n")
    (device.folder.parent / "device").symlink_to(function)
    (device.folder.parent / "reset_controller").write_text("")
    return MadeUpDrive(device, function)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """What is written to sysfs: name, value, and how many entries the journal had then."""
    found: list[tuple[str, str, int]] = []
    really = ways.write_request

    def write(path: Path, value: str, roots: SystemRoots) -> None:
        found.append((path.name, value, len(Journal.of_machine().entries())))
        really(path, value, roots)

    monkeypatch.setattr(ways, "write_request", write)
    return found


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("reset", [("reset_controller", "1", 0)]),
        ("flr", [("reset_method", "flr", 0), ("reset", "1", 0), ("reset_method", "flr bus", 0)]),
        ("removal", [("remove", "1", 1), ("rescan", "1", 1)]),
        ("power", [("power", "0", 1), ("power", "1", 1)]),
    ],
)
def test_each_way_writes_to_its_switch_and_takes_its_note_out(
    drive: MadeUpDrive, written: list[tuple[str, str, int]], way: str, expected: list[tuple[str, str, int]]
) -> None:
    drive.looks = 4
    order = WAYS[way].order(drive, drive.device.roots)  # type: ignore[arg-type] it has what a way asks for
    assert written == expected
    assert (order.shutdown_ns is not None) == (way in {"removal", "power"})
    assert Journal.of_machine().entries() == ()


def test_a_drive_whose_removal_fails_is_told_to_come_back_all_the_same(
    drive: MadeUpDrive, written: list[tuple[str, str, int]]
) -> None:
    (drive.function / "remove").unlink()
    with pytest.raises(HostSettingError):
        WAYS["removal"].order(drive, drive.device.roots)  # type: ignore[arg-type] as above
    assert written == [("remove", "1", 1), ("rescan", "1", 1)]
    assert Journal.of_machine().entries() == ()


@pytest.mark.parametrize(
    ("way", "place"), [("removal", "bus/pci/rescan"), ("power", "bus/pci/slots/7/power")]
)
def test_one_that_was_killed_is_brought_back_by_the_next(drive: MadeUpDrive, way: str, place: str) -> None:
    roots, request = drive.device.roots, drive.device.roots.sys / place
    request.write_text("0")

    def take_away_and_die() -> None:
        ways._wait_until_gone = lambda _drive: die()
        WAYS[way].order(drive, roots)  # type: ignore[arg-type] as above

    dies(take_away_and_die)
    (entry,) = Journal.of_machine().left_behind()
    assert entry.kind is Kind.REMOVED_DRIVE
    (healing,) = heal(Journal.of_machine(), roots, {Kind.REMOVED_DRIVE})
    assert healing.put_back
    assert request.read_text() == "1"
    assert Journal.of_machine().entries() == ()


def test_what_the_drive_has_not_is_said(drive: MadeUpDrive) -> None:
    (drive.function / "reset_method").write_text("bus\n")
    (drive.device.roots.sys / "bus/pci/slots/7/power").unlink()
    for way, words in (("flr", "has no Function Level Reset"), ("power", "no slot of this machine")):
        drive.looks = 4
        with pytest.raises(TargetError, match=words):
            WAYS[way].order(drive, drive.device.roots)  # type: ignore[arg-type] as above


def test_the_operators_own_program(drive: MadeUpDrive) -> None:
    assert by_command("true").order(drive, drive.device.roots).shutdown_ns is None  # type: ignore[arg-type] as above
    with pytest.raises(TargetError, match="--command ended with 1"):
        by_command("false").order(drive, drive.device.roots)  # type: ignore[arg-type] as above
    for command in ("", "'open"):
        with pytest.raises(UsageError, match="--command"):
            by_command(command)
    with pytest.raises(OpenptsError, match="no-such-program"):
        by_command("no-such-program")
