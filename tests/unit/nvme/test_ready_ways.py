"""Ways to interrupt a drive, on a made-up sysfs: what is written where, and that a drive is brought back."""

from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.errors import OpenptsError, TargetError, UsageError
from openpts.host.setting_file import HostSettingError
from openpts.journal import Journal, Kind
from openpts.runner.healing import heal
from openpts.system_files import SystemRoots
from openpts.vocabulary.readiness import Interrupt, Way
from openpts_nvme.drivers.ready import ways
from openpts_nvme.drivers.ready.measure import Order
from openpts_nvme.drivers.ready.ways import order_of
from tests.support.nvme_machine import device, roots
from tests.support.processes import die, dies

__all__ = ["device", "roots"]

ADDRESS = "0000:01:00.0"


class MadeUpDrive:
    """A drive in a sysfs that nothing answers in; a removal lets its controller's folder disappear."""

    serial = "S3R1AL"
    fd = -1

    def __init__(self, device: BlockDevice, function: Path) -> None:
        self.device = device
        self.function = function

    @property
    def controller(self) -> Path:
        return self.device.folder.parent

    def namespace(self) -> BlockDevice:
        return self.device


def ordered(drive: MadeUpDrive, way: Way = Way.RESET, command: str | None = None) -> Order:
    order = order_of(Interrupt(1, way, command))
    return order(drive, drive.device.roots)  # type: ignore[arg-type] # has what a way asks for


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
    for name in ("reset_controller", "rescan_controller"):
        (device.folder.parent / name).write_text("")
    return MadeUpDrive(device, function)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """What is written to sysfs: name, value, and how many entries the journal had then."""
    found: list[tuple[str, str, int]] = []
    really, there = ways.write_request, Path.exists

    def write(path: Path, value: str, roots: SystemRoots) -> None:
        found.append((path.name, value, len(Journal.of_machine().entries())))
        really(path, value, roots)
        if (path.name, value) in {("remove", "1"), ("power", "0")}:
            monkeypatch.setattr(Path, "exists", lambda path: path.name != "nvme0" and there(path))

    monkeypatch.setattr(ways, "write_request", write)
    return found


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("reset", [("reset_controller", "1", 0)]),
        ("rescan", [("rescan_controller", "1", 0)]),
        ("flr", [("reset_method", "flr", 0), ("reset", "1", 0), ("reset_method", "flr bus", 0)]),
        ("removal", [("remove", "1", 1), ("rescan", "1", 1)]),
        ("power", [("power", "0", 1), ("power", "1", 1)]),
    ],
)
def test_each_way_writes_to_its_switch_and_takes_its_note_out(
    drive: MadeUpDrive, written: list[tuple[str, str, int]], way: str, expected: list[tuple[str, str, int]]
) -> None:
    order = ordered(drive, Way(way))
    assert written == expected
    assert (order.shutdown_ns is not None) == (way in {"removal", "power"})
    assert Journal.of_machine().entries() == ()


def test_a_drive_whose_removal_fails_is_told_to_come_back_all_the_same(
    drive: MadeUpDrive, written: list[tuple[str, str, int]]
) -> None:
    (drive.function / "remove").unlink()
    with pytest.raises(HostSettingError):
        ordered(drive, Way.REMOVAL)
    assert written == [("remove", "1", 1), ("rescan", "1", 1)]
    assert Journal.of_machine().entries() == ()


@pytest.mark.parametrize(
    ("way", "place"), [("removal", "bus/pci/rescan"), ("power", "bus/pci/slots/7/power")]
)
def test_one_that_was_killed_is_brought_back_by_the_next(drive: MadeUpDrive, way: str, place: str) -> None:
    roots, request = drive.device.roots, drive.device.roots.sys / place
    request.write_text("0")

    def take_away_and_die() -> None:
        ways._wait_until_gone = lambda _controller: die()
        ordered(drive, Way(way))

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
        with pytest.raises(TargetError, match=words):
            ordered(drive, Way(way))


def test_the_operators_own_program(drive: MadeUpDrive) -> None:
    assert ordered(drive, command="true").shutdown_ns is None
    with pytest.raises(TargetError, match="--interrupt-command ended with 1"):
        ordered(drive, command="false")
    for command in ("", "'open"):
        with pytest.raises(UsageError, match="--interrupt-command"):
            ordered(drive, command=command)
    with pytest.raises(OpenptsError, match="no-such-program"):
        ordered(drive, command="no-such-program")


def firmware(
    monkeypatch: pytest.MonkeyPatch, *, frmw: int, status: int = 0
) -> list[tuple[int, tuple[int, ...]]]:
    """A drive whose slot 3 runs; gives the commands that it gets."""
    sent: list[tuple[int, tuple[int, ...]]] = []

    def send(_fd: int, opcode: int, words: tuple[int, ...], **_: object) -> tuple[int, int, bytes]:
        sent.append((opcode, words))
        return status, 0, b""

    monkeypatch.setattr(
        ways, "identify_controller_data", lambda _fd: bytes(260) + bytes([frmw]) + bytes(3835)
    )
    monkeypatch.setattr(
        ways, "read_log", lambda _fd, page, size: bytes([0x13 if page == 3 else 0]) + bytes(size - 1)
    )
    monkeypatch.setattr(ways, "send_admin", send)
    return sent


def test_the_firmware_that_runs_is_activated_again(
    drive: MadeUpDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = firmware(monkeypatch, frmw=0x1E)
    ordered(drive, Way.FIRMWARE)
    # Base Specification, Firmware Commit: slot in bits 2:0, action 3 in bits 5:3: at once, without a reset
    assert sent == [(0x10, (3 | 3 << 3,))]


@pytest.mark.parametrize(
    ("frmw", "status", "words"),
    [(0x0E, 0, "by a reset only"), (0x1E, 0x10B, "slot 3 again: NVMe status 0x10b")],
)
def test_firmware_that_a_drive_does_not_activate_is_refused(
    drive: MadeUpDrive, monkeypatch: pytest.MonkeyPatch, frmw: int, status: int, words: str
) -> None:
    sent = firmware(monkeypatch, frmw=frmw, status=status)
    with pytest.raises(TargetError, match=words):
        ordered(drive, Way.FIRMWARE)
    assert bool(sent) == bool(status)


def test_a_subsystem_that_can_not_be_reset_is_refused(drive: MadeUpDrive) -> None:
    (drive.device.roots.dev / "nvme0").write_bytes(b"")
    with pytest.raises(TargetError, match="can't reset the subsystem of nvme0"):
        ordered(drive, Way.SUBSYSTEM_RESET)
