"""What can be known of a target without touching it."""

import pytest

from openpts.device.block_device import BlockDevice
from openpts.errors import TargetError
from openpts.runner import unopened_target
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from tests.data.system_trees import server

pytestmark = pytest.mark.on_disk

__all__ = ["server"]

STEP = Step.of(Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 4, 32, ActiveRange()), Duration.seconds(60))


def rules(target: UnopenedTarget, roots: SystemRoots, purge: PurgeChoice = PurgeChoice.AUTO) -> list[str]:
    return [one.rule_id for one in target.deviations([STEP], purge, False, roots)]


def test_a_drive_is_known_by_sysfs_alone(server) -> None:
    device = BlockDevice.of_name("nvme0n1", server)
    target = UnopenedTarget._drive(device)
    assert target.facts.kind is TargetKind.BLOCK
    assert target.facts.user_capacity_bytes == 7_501_476_528 * 512
    assert target.facts.sector_bytes == device.integer("queue/logical_block_size")
    assert rules(target, server) == []
    assert rules(target, server, PurgeChoice.NONE) == ["PTS-PRG-01"]


@pytest.mark.proves("PTS-GEN-05")
@pytest.mark.parametrize(
    ("name", "made"), [("loop0", True), ("dm-0", True), ("nvme2n1", False), ("sdb", False)]
)
def test_what_the_kernel_makes_of_other_storage_is_no_device_itself(server, name, made) -> None:
    """The namespace of an NVMe subsystem with several paths is virtual in sysfs as well, and is a drive."""
    target = UnopenedTarget._drive(BlockDevice.of_name(name, server))
    assert ("PTS-GEN-05" in rules(target, server)) is made


def test_a_drive_is_asked_how_it_can_be_purged(server) -> None:
    """No node of the made-up machine can be opened, so its controller can't be asked."""
    device = BlockDevice.of_name("nvme0n1", server)
    target = UnopenedTarget._drive(device)
    assert target.purge_text(PurgeChoice.AUTO) == "discard (discard of all LBAs (BLKDISCARD))"
    wish = PurgeChoice.parse("discard,overwrite")
    assert target.purge_text(wish).endswith(
        ", else overwrite (one sequential pass of random data (NO PURGE))"
    )
    (device.folder / "queue/discard_max_bytes").write_text("0\n")
    assert target.purge_text(PurgeChoice.AUTO).startswith("would fail: ")


@pytest.mark.parametrize("node", ["/dev/nvme0n1", "/dev/nvme0n9"])
def test_a_drive_that_is_being_erased_is_not_asked(server, monkeypatch, node) -> None:
    """A question that is answered late makes the kernel reset it in the middle of a format."""
    device = BlockDevice.of_name("nvme0n1", server)
    sibling = device.folder.with_name("nvme0n9")
    sibling.mkdir()
    (sibling / "size").write_text("8\n")
    (server.proc / "4711/fd").mkdir(parents=True)
    (server.proc / "4711/comm").write_text("nvme\n")
    (server.proc / "4711/fd/5").symlink_to(node)
    asked: list[object] = []
    monkeypatch.setattr(unopened_target, "choose", lambda *words: asked.append(words))
    told = UnopenedTarget._drive(device).purge_text(PurgeChoice.AUTO)
    assert not asked
    assert told.startswith("not queried: ")
    assert told.endswith("is open in process 4711 (nvme), which may be at work on it")


def test_a_drive_without_a_medium_is_refused(server) -> None:
    device = BlockDevice.of_name("nvme0n1", server)
    (device.folder / "size").write_text("0\n")
    with pytest.raises(TargetError, match="no capacity"):
        UnopenedTarget._drive(device)


def test_a_file_has_the_size_that_it_shall_have_and_stays_as_it_is(tmp_path) -> None:
    roots, path = SystemRoots(), tmp_path / "x"
    assert UnopenedTarget.of(f"file:{path}?size=64MiB", roots).facts.user_capacity_bytes == 64 * MIB
    assert not path.exists()
    path.write_bytes(b"data")
    assert UnopenedTarget.of(f"file:{path}?size=64MiB", roots).facts.user_capacity_bytes == 64 * MIB
    assert UnopenedTarget.of(f"file:{path}", roots).facts.user_capacity_bytes == 4
    assert path.read_bytes() == b"data"
    target = UnopenedTarget.of(f"file:{path}", roots)
    assert rules(target, roots) == ["PTS-GEN-05", "PTS-PRG-03", "PTS-CACHE-01"]
    assert rules(target, roots, PurgeChoice.NONE) == ["PTS-GEN-05", "PTS-PRG-01", "PTS-CACHE-01"]


def test_an_empty_file_without_a_size_is_refused(tmp_path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(TargetError, match="is empty"):
        UnopenedTarget.of(f"file:{tmp_path}/x", SystemRoots())


def test_of_a_mere_capacity_the_rest_is_assumed_and_said() -> None:
    target = UnopenedTarget.of_capacity(10**12)
    assert target.assumed[0] == "sectors of 512 bytes"
    assert rules(target, SystemRoots()) == []
