"""What of a drive is told in which order: a drive that stops answering leaves what came before."""

from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import Safety
from openpts.device.guard.usage import read_usage
from openpts.device.purge.methods import Capability
from openpts.device.security import Level0, Security
from openpts.device.targets.target import BlockTarget
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Facts, HealthReading
from openpts_drives import listing as inspect_module
from openpts_drives.listing import inspect_disk
from openpts_drives.purge import purge_alone as purge_alone_module
from openpts_drives.purge.purge_alone import methods_of


class _Method:
    def __init__(self, name: str) -> None:
        self.name, self.title, self.is_purge = name, name.title(), True


def _record(roots: SystemRoots) -> None:
    (roots.run / "udev/data").mkdir(parents=True)
    (roots.run / "udev/data/b259:0").write_text("I:1\n")


def test_first_the_kernel_then_the_drive_then_the_purge_methods(server, monkeypatch) -> None:
    _record(server)
    methods = (
        (_Method("format"), Capability(True, "OACS", 9.0, ("/dev/nvme0n2",))),
        (_Method("secure-erase"), Capability(False, "no ATA drive", foreign=True)),
    )
    monkeypatch.setattr(inspect_module, "capabilities", lambda _device: methods)
    log = HealthReading("log", {"temperature_c": 71.0, "warning_limit_c": 70.0, "critical_warning": 2.0})
    monkeypatch.setattr(inspect_module, "read_health_of", lambda _device: log)
    monkeypatch.setattr(inspect_module, "read_security", lambda _device: Security(Level0(), "OACS"))
    first, second, third = inspect_disk(BlockDevice.of_name("nvme0n1", server), read_usage(server))
    assert (first.facts["serial"].value, first.safety.verdict, first.health.values) == (
        "S795NC0T100001",
        Safety.UNKNOWN,
        {},
    )
    assert (second.safety.verdict, second.temperature_c, second.purge_methods) == (Safety.FREE, 71.0, ())
    assert second.warnings[-2:] == (
        "the drive's log has a critical warning, 0x02",
        "its temperature is 71 °C, its own limit 70 °C",
    )
    (ability,) = third.purge_methods
    assert (ability.name, ability.duration_s, ability.reaches) == ("format", 9.0, ("/dev/nvme0n2",))


def test_what_has_no_capacity_can_not_be_told_to_be_free(server) -> None:
    device = BlockDevice.of_name("nvme0n1", server)
    (device.folder / "size").write_text("0\n")
    *_, last = inspect_disk(device, read_usage(server))
    assert last.safety.verdict is Safety.UNKNOWN
    assert last.safety.reason.endswith("/nvme0n1 has no capacity: is there a medium in it?")


def test_a_node_that_is_missing_is_said_so(server, golden) -> None:
    *_, last = inspect_disk(BlockDevice.of_name("nvme0n1", server), read_usage(server))
    assert last.safety.verdict is Safety.UNKNOWN
    assert last.safety.reason == golden


@pytest.mark.parametrize("program", ["nvme", "hdparm", "sg_format", "openpts"])
@pytest.mark.parametrize("node", ["/dev/nvme0n1", "/dev/nvme0n9"])
def test_a_drive_that_somebody_is_at_work_on_is_asked_nothing(program, node, server, monkeypatch) -> None:
    """A question that is answered late makes the kernel reset it, say in the middle of a format."""
    device = BlockDevice.of_name("nvme0n1", server)
    sibling = device.folder.with_name("nvme0n9")
    sibling.mkdir()
    (sibling / "size").write_text("8\n")
    _open_in(server, program, node)
    monkeypatch.setattr(inspect_module, "drive_facts", _never_twice(inspect_module.drive_facts))
    *_, last = inspect_disk(device, read_usage(server))
    assert last.silent.startswith("left alone: ")
    assert f"{node.removeprefix('/dev/')} is open in process 4711 ({program})" in last.silent
    with pytest.raises(RefusedError, match=r"refused \[open\].*wait until it has ended"):
        methods_of(str(device.node), to_purge=False, roots=server)


def _open_in(roots: SystemRoots, program: str, node: str) -> None:
    (roots.proc / "4711/fd").mkdir(parents=True)
    (roots.proc / "4711/comm").write_text(f"{program}\n")
    (roots.proc / "4711/fd/5").symlink_to(node)


def _never_twice(ask: Callable[..., Facts]) -> Callable[..., Facts]:
    """What the kernel knows is read once; what the drive answers would be added a second time."""
    asked: list[object] = []

    def once(*words: object) -> Facts:
        assert not asked, "the drive was asked"
        asked.append(words)
        return ask(*words)

    return once


def test_others_that_have_a_drive_open_do_not_keep_it_from_being_asked(server) -> None:
    _open_in(server, "qemu-system-x86", "/dev/nvme0n1")
    *_, last = inspect_disk(BlockDevice.of_name("nvme0n1", server), read_usage(server))
    assert last.silent is None


def test_a_drive_in_use_is_asked_for_a_list_but_not_for_a_purge(server, monkeypatch) -> None:
    _open_in(server, "qemu-system-x86", "/dev/nvme0n1")
    asked: list[BlockDevice] = []
    monkeypatch.setattr(purge_alone_module, "capabilities", lambda device: asked.append(device) or ())
    device = BlockDevice.of_name("nvme0n1", server)
    with pytest.raises(RefusedError, match=r"refused \[open\]"):
        methods_of(str(device.node), to_purge=True, roots=server)
    assert asked == []
    assert methods_of(str(device.node), to_purge=False, roots=server) == ()
    assert asked == [device]


@pytest.fixture(autouse=True)
def nodes_by_name(monkeypatch) -> None:
    """Nodes of drives can't be made here."""
    monkeypatch.setattr(
        BlockDevice, "of_node", staticmethod(lambda path, roots: BlockDevice.of_name(path.name, roots))
    )
    monkeypatch.setattr(purge_alone_module, "parse_target", lambda text: BlockTarget(Path(text)))
