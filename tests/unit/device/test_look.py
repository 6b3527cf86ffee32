"""What of a drive is told in which order: a drive that stops answering leaves what came before."""

import pytest

from openpts.device import look as look_module
from openpts.device.block_device import BlockDevice
from openpts.device.drive_listing import Safety
from openpts.device.look import look
from openpts.device.purge.method import Capability
from openpts.device.usage import read_usage
from openpts.system_files import SystemRoots
from openpts.vocabulary.health import HealthReading


class _Method:
    def __init__(self, name: str) -> None:
        self.name, self.title, self.is_purge = name, name.title(), True


def _record(roots: SystemRoots) -> None:
    (roots.run / "udev/data").mkdir(parents=True)
    (roots.run / "udev/data/b259:0").write_text("I:1\n")


def test_first_the_kernel_then_the_drive_then_the_purge_methods(
    server: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    _record(server)
    methods = (
        (_Method("format"), Capability(True, "OACS", 9.0, ("/dev/nvme0n2",))),
        (_Method("secure-erase"), Capability(False, "no ATA drive", foreign=True)),
    )
    monkeypatch.setattr(look_module, "capabilities", lambda _device: methods)
    log = HealthReading("log", {"temperature_c": 71.0, "warning_limit_c": 70.0, "critical_warning": 2.0})
    monkeypatch.setattr(look_module, "read_health_of", lambda _device: log)
    first, second, third = look(BlockDevice.of_name("nvme0n1", server), read_usage(server))
    assert (first.serial, first.safety, first.health.values) == ("S795NC0T100001", Safety.UNKNOWN, {})
    assert (second.safety, second.temperature_c, second.purge) == (Safety.FREE, 71.0, ())
    assert second.warnings[-2:] == (
        "the drive's log has a critical warning, 0x02",
        "it is at 71 degrees Celsius, its own limit is 70",
    )
    (ability,) = third.purge
    assert (ability.name, ability.duration_s, ability.reaches) == ("format", 9.0, ("/dev/nvme0n2",))


def test_a_node_that_is_missing_is_said_so(server: SystemRoots) -> None:
    *_, last = look(BlockDevice.of_name("nvme0n1", server), read_usage(server))
    assert last.safety is Safety.UNKNOWN
    assert "its node is missing: see udevadm trigger" in last.reason
