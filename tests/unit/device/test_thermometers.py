"""Where temperatures are read: only of drives that tell them while they work."""

from openpts.device.block_device import BlockDevice
from openpts.device.gauges import Thermometers, thermometers
from openpts.system_files import SystemRoots
from tests.support.transcript import Golden


def _of(name: str, roots: SystemRoots) -> Thermometers:
    return thermometers(BlockDevice.of_name(name, roots))


def test_composite_and_sensors_of_an_nvme_drive(server: SystemRoots) -> None:
    found = _of("nvme0n1", server)
    # the third one has no label that says what it is
    assert {name: path.read_text() for name, path in found.files.items()} == {
        "temperature_c": "41850\n",
        "temperature_sensor_1_c": "47850\n",
    }
    assert found.source.endswith("nvme0/hwmon3")


def test_kernels_that_hang_it_on_the_pci_function(server: SystemRoots) -> None:
    found = _of("nvme1n1", server)
    assert {name: path.read_text() for name, path in found.files.items()} == {"temperature_c": "35850\n"}


def test_a_drive_that_would_stop_for_the_question_is_not_asked(server: SystemRoots, golden: Golden) -> None:
    found = _of("sda", server)
    assert found.files == {}
    assert found.source == golden


def test_a_kernel_without_hwmon_is_named_as_the_reason(malformed: SystemRoots, golden: Golden) -> None:
    found = _of("nvme0n1", malformed)
    assert found.files == {}
    assert found.source == golden
