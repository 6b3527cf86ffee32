import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import Safety
from openpts.device.security import Level0, Security
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import fact_of
from openpts_drives import listing as inspect
from openpts_drives.listing import ListedDevice, list_devices


@pytest.fixture(autouse=True)
def _asked_in_this_process(monkeypatch) -> None:
    """Of a tree of files ten processes show nothing; test_query_with_timeout.py is about them."""

    def answers_of(asked, answers, _timeout_s):
        return [inspect.ChildReply([*answers(one)][-1], complete=True) for one in asked]

    monkeypatch.setattr(inspect, "ask_each", answers_of)


def _by_name(roots: SystemRoots) -> dict[str, ListedDevice]:
    return {listing.path.removeprefix(f"{roots.dev}/"): listing for listing in list_devices(roots)}


def test_every_whole_drive_is_listed_in_order(server) -> None:
    names = ["dm-0", "loop0", "nvme0n1", "nvme1n1", "nvme2n1", "sda", "sdb", "sdc", "sdd"]
    assert list(_by_name(server)) == names


def test_numbers_sort_by_their_value(server) -> None:
    for number in (2, 10, 9):
        folder = server.sys / f"block/nbd{number}"
        folder.mkdir()
        (folder / "size").write_text("8")
    names = [name for name in _by_name(server) if name.startswith("nbd")]
    assert names == ["nbd2", "nbd9", "nbd10"]


def test_optical_drives_and_floppies_are_no_drives(server) -> None:
    for name in ("sr0", "fd0"):
        (server.sys / "block" / name).mkdir()
        (server.sys / "block" / name / "size").write_text("2097151")
    assert not {"sr0", "fd0"} & set(_by_name(server))


def test_what_is_known_of_a_drive(server) -> None:
    listing = _by_name(server)["sdb"]
    assert fact_of(listing.facts, "model") == "XS1600LE70084"
    assert fact_of(listing.facts, "serial") == "HLJ00101"
    assert listing.capacity_bytes == 1600321314816
    assert fact_of(listing.facts, "interface") == "SAS, 12.0 Gbit"
    assert listing.logical_sector_bytes == 4096
    assert listing.safety.verdict is Safety.REFUSED
    assert listing.safety.reason.startswith("refused [mounted]")


def test_a_drive_that_cannot_be_opened_is_unknown(server, golden) -> None:
    listing = _by_name(server)["nvme0n1"]
    assert listing.safety.verdict is Safety.UNKNOWN
    assert listing.safety.reason == golden


def test_without_a_list_of_mounts_every_drive_is_unknown(malformed, golden) -> None:
    listings = list_devices(malformed)
    assert [listing.safety.verdict for listing in listings] == [Safety.UNKNOWN, Safety.UNKNOWN]
    assert [listing.safety.reason for listing in listings] == golden


def test_a_machine_without_drives(server) -> None:
    assert list_devices(SystemRoots(server.sys / "nothing", server.proc, server.dev)) == []


def test_what_udev_saw_on_a_drive_speaks_against_it(server, golden, monkeypatch) -> None:
    monkeypatch.setattr(inspect, "read_security", lambda _device: Security(Level0(), "OACS"))
    record = server.run / "udev/data/b259:0"
    record.parent.mkdir(parents=True)
    record.write_text("S:disk/by-id/x\nI:7686393\nE:ID_FS_TYPE=LVM2_member\nG:systemd\n")
    listing = _by_name(server)["nvme0n1"]
    assert [refusal.rule_id for refusal in listing.safety.refusals] == ["signature"]
    assert listing.safety.reason == golden
    record.write_text("S:disk/by-id/x\nI:7686393\nG:systemd\n")
    assert _by_name(server)["nvme0n1"].safety.verdict is Safety.FREE


def test_a_drive_that_may_sleep_is_left_alone(server, golden) -> None:
    sas = BlockDevice.of_name("sdb", server)
    (server.proc / "self/mountinfo").write_text("27 1 0:24 / / rw - tmpfs tmpfs rw\n")
    (sas.folder / "device/vpd_pgb1").write_bytes(bytes.fromhex("00b1003c1c20"))
    listing = _by_name(server)["sdb"]
    assert (listing.media, listing.rotation_rpm) == ("rotational", 7200)
    assert listing.safety.verdict is Safety.UNKNOWN
    assert listing.safety.reason == golden


def test_a_drive_that_the_kernel_put_to_sleep_is_not_asked(server, golden) -> None:
    power = BlockDevice.of_name("nvme0n1", server).folder / "device/power"
    power.mkdir(exist_ok=True)
    (power / "runtime_status").write_text("suspended")
    listing = _by_name(server)["nvme0n1"]
    assert listing.silent == golden
    assert (fact_of(listing.facts, "serial"), listing.purge_methods) == ("S795NC0T100001", ())


def test_another_namespace_in_use_is_a_warning(server, golden) -> None:
    first = BlockDevice.of_name("nvme0n1", server).folder
    second = first.with_name("nvme0n2")
    second.mkdir()
    (second / "size").write_text("8")
    (second / "dev").write_text("259:20")
    with (server.proc / "self/mountinfo").open("a") as mounts:
        mounts.write("90 27 259:20 / /mnt rw - ext4 /dev/nvme0n2 rw\n")
    listing = _by_name(server)["nvme0n1"]
    assert listing.other_namespaces == (f"{server.dev}/nvme0n2",)
    assert listing.warnings == golden
