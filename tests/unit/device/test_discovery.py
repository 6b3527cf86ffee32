from openpts.device.discovery import DeviceListing, Safety, list_devices
from openpts.system_files import SystemRoots


def _by_name(roots: SystemRoots) -> dict[str, DeviceListing]:
    return {listing.path.removeprefix(f"{roots.dev}/"): listing for listing in list_devices(roots)}


def test_every_whole_drive_is_listed_in_order(server: SystemRoots) -> None:
    names = ["dm-0", "loop0", "nvme0n1", "nvme1n1", "nvme2n1", "sda", "sdb", "sdc", "sdd"]
    assert list(_by_name(server)) == names


def test_numbers_sort_by_their_value(server: SystemRoots) -> None:
    for number in (2, 10, 9):
        folder = server.sys / f"block/nbd{number}"
        folder.mkdir()
        (folder / "size").write_text("8")
    names = [name for name in _by_name(server) if name.startswith("nbd")]
    assert names == ["nbd2", "nbd9", "nbd10"]


def test_optical_drives_and_floppies_are_no_drives(server: SystemRoots) -> None:
    for name in ("sr0", "fd0"):
        (server.sys / "block" / name).mkdir()
        (server.sys / "block" / name / "size").write_text("2097151")
    assert not {"sr0", "fd0"} & set(_by_name(server))


def test_what_is_known_of_a_drive(server: SystemRoots) -> None:
    listing = _by_name(server)["sdb"]
    assert listing.model == "XS1600LE70084"
    assert listing.serial == "HLJ00101"
    assert listing.capacity_bytes == 1600321314816
    assert listing.interface == "SAS, 12.0 Gbit"
    assert listing.sector_bytes == 4096
    assert listing.safety is Safety.REFUSED
    assert listing.reason.startswith("refused [mounted]")


def test_a_drive_that_cannot_be_opened_is_unknown(server: SystemRoots) -> None:
    listing = _by_name(server)["nvme0n1"]
    assert listing.safety is Safety.UNKNOWN
    assert "can't be opened" in listing.reason


def test_without_a_list_of_mounts_every_drive_is_unknown(malformed: SystemRoots) -> None:
    listings = list_devices(malformed)
    assert [listing.safety for listing in listings] == [Safety.UNKNOWN, Safety.UNKNOWN]
    assert all("mountinfo" in listing.reason for listing in listings)


def test_a_machine_without_drives(server: SystemRoots) -> None:
    assert list_devices(SystemRoots(server.sys / "nothing", server.proc, server.dev)) == []
