"""Temperature, link, bus errors and interrupts of a drive of a made-up machine."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.guard.rules import quiet_refusals
from openpts.device.guard.usage import read_usage
from openpts.device.identity import drive_facts
from openpts.device.link import hardware_folder, nvme_controller_folder, pci_functions
from openpts.device.nvme_subsystem import NvmeSubsystem
from openpts.gauge import Gauge, Values
from openpts.system_files import SystemRoots
from openpts_drives.gauges import (
    Thermometers,
    disks_below,
    drive_gauges,
    foreign_gauge,
    others_gauge,
    thermometers,
)

Gauges = dict[str, Gauge]

AER = """RxErr 3
BadTLP 0
TOTAL_ERR_{} {}
"""


@pytest.fixture
def functions(server: SystemRoots) -> tuple[Path, ...]:
    return pci_functions(hardware_folder(BlockDevice.of_name("nvme0n1", server)))


@pytest.fixture
def gauges(server: SystemRoots) -> Callable[[], Gauges]:
    """Anew each time: of the files that are there then."""
    return lambda: {g.name: g for g in drive_gauges(BlockDevice.of_name("nvme0n1", server))}


def read(gauge: Gauge, at_ns: int = 0) -> Values:
    return gauge.understand([path.read_bytes() if path.exists() else b"" for path in gauge.paths], at_ns)


@pytest.fixture
def ana(server: SystemRoots) -> Callable[..., BlockDevice]:
    """A drive that nvme-tcp reaches by paths of these access states (ANA), as Linux 6.1 lays them out."""

    def drive(*states: str) -> BlockDevice:
        subsystem = server.sys / "devices/virtual/nvme-subsystem/nvme-subsys7"
        for place in (subsystem, server.sys / "devices/virtual/nvme-fabrics/ctl"):
            shutil.rmtree(place, ignore_errors=True)
        (subsystem / "nvme7n1").mkdir(parents=True)
        (subsystem / "nvme7n1/dev").write_text("259:77\n")
        for place_of, target in (("class/nvme-subsystem", subsystem), ("class/block", subsystem / "nvme7n1")):
            (server.sys / place_of).mkdir(parents=True, exist_ok=True)
            link = server.sys / place_of / target.name
            link.unlink(missing_ok=True)
            link.symlink_to(target)
        for number, state in enumerate(states, 7):
            folder = server.sys / f"devices/virtual/nvme-fabrics/ctl/nvme{number}"
            (folder / f"nvme7c{number}n1").mkdir(parents=True)
            (folder / f"nvme7c{number}n1/ana_state").write_text(f"{state}\n")
            (folder / "state").write_text("live\n")
            (folder / "transport").write_text("tcp\n")
            (subsystem / folder.name).symlink_to(folder)
        return BlockDevice.of_name("nvme7n1", server)

    return drive


@pytest.mark.proves("PTS-HIR-19")
def test_only_the_temperature_takes_a_command_to_the_drive(gauges) -> None:
    assert [name for name, gauge in gauges().items() if gauge.asks_drive] == ["temperature"]


def test_the_link_is_told_as_rate_and_width(gauges, functions) -> None:
    link = gauges()["PCIe link"]
    assert read(link) == {"link_gt_per_s": 16.0, "link_width": 4}
    (functions[0] / "current_link_speed").write_text("2.5 GT/s PCIe\n")
    (functions[0] / "current_link_width").write_text("1\n")
    assert read(link) == {"link_gt_per_s": 2.5, "link_width": 1}
    (functions[0] / "current_link_speed").write_text("Unknown\n")
    assert read(link) == {"link_width": 1}


def test_bus_errors_are_those_of_the_drive_and_of_the_port_above(gauges, functions) -> None:
    for present in (path for function in functions for path in function.glob("aer_dev_*")):
        present.unlink()
    assert gauges()["PCIe errors"].what is None
    for number, function in enumerate(functions[:2]):
        for kind, total in {"correctable": "COR", "nonfatal": "NONFATAL", "fatal": "FATAL"}.items():
            (function / f"aer_dev_{kind}").write_text(AER.format(total, 10 * number + len(kind)))
    assert read(gauges()["PCIe errors"]) == {
        "aer_correctable_errors": 11,
        "aer_nonfatal_errors": 8,
        "aer_fatal_errors": 5,
        "aer_port_correctable_errors": 21,
        "aer_port_nonfatal_errors": 18,
        "aer_port_fatal_errors": 15,
    }
    (functions[0] / "aer_dev_fatal").write_text("nonsense\n")
    assert "aer_fatal_errors" not in read(gauges()["PCIe errors"])


def test_interrupts_are_those_of_the_drives_vectors(gauges, functions, server) -> None:
    assert gauges()["interrupts"].what is None
    for vector in (30, 31):
        (functions[0] / "msi_irqs").mkdir(exist_ok=True)
        (functions[0] / f"msi_irqs/{vector}").write_text("msix\n")
    for irq in (30, 31, 32):
        (server.sys / f"kernel/irq/{irq}").mkdir(parents=True)
        (server.sys / f"kernel/irq/{irq}/per_cpu_count").write_text("100,200\n")
    interrupts = gauges()["interrupts"]
    assert read(interrupts) == {}
    (server.sys / "kernel/irq/31/per_cpu_count").write_text("100,1200\n")
    (server.sys / "kernel/irq/32/per_cpu_count").write_text("9999,9999\n")
    assert read(interrupts, 2 * 10**9) == {"interrupts_per_s": 500}
    (server.sys / "kernel/irq/30/per_cpu_count").unlink()
    assert read(interrupts, 3 * 10**9) == {}


def test_temperatures_are_in_degrees(gauges, server) -> None:
    hwmon = BlockDevice.of_name("nvme0n1", server).folder.parent / "hwmon3"
    hwmon.mkdir(exist_ok=True)
    for present in hwmon.glob("temp*"):
        present.unlink()
    (hwmon / "temp1_input").write_text("41850\n")
    (hwmon / "temp2_input").write_text("-5000\n")
    (hwmon / "temp2_label").write_text("Sensor 1\n")
    temperature = gauges()["temperature"]
    assert read(temperature) == {"temperature_c": 41.85, "temperature_sensor_1_c": -5.0}
    (hwmon / "temp1_input").write_text("\n")
    assert read(temperature) == {"temperature_sensor_1_c": -5.0}


@pytest.mark.parametrize("text", ["-273150", "-273000"])
def test_nought_kelvin_is_a_temperature_that_is_not_told(text, gauges, server) -> None:
    hwmon = BlockDevice.of_name("nvme0n1", server).folder.parent / "hwmon3"
    hwmon.mkdir(exist_ok=True)
    (hwmon / "temp1_input").write_text(f"{text}\n")
    assert "temperature_c" not in read(gauges()["temperature"])


def test_a_drive_on_another_bus_is_not_asked_for_its_temperature(server, golden) -> None:
    gauges = {gauge.name: gauge for gauge in drive_gauges(BlockDevice.of_name("sda", server))}
    assert gauges["temperature"].paths == ()
    assert gauges["temperature"].source == golden


def test_segments_sent_again_are_of_a_drive_behind_tcp(server, gauges) -> None:
    assert "segments sent again" not in gauges()
    controller = nvme_controller_folder(BlockDevice.of_name("nvme0n1", server))
    assert controller is not None
    (controller / "transport").write_text("tcp\n")
    snmp = server.proc / "net/snmp"
    snmp.parent.mkdir(parents=True, exist_ok=True)
    snmp.write_text(
        "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 2955 0\nUdp: In\nUdp: 9\n"
    )
    assert read(gauges()["segments sent again"]) == {"link_errors_tcp": 2955}
    snmp.write_text("Tcp: RtoAlgorithm\n")
    assert read(gauges()["segments sent again"]) == {}


def test_paths_are_those_that_take_commands_whichever_they_are_by_now(server) -> None:
    drive = BlockDevice.of_name("nvme2n1", server)
    subsystem = server.sys / "devices/virtual/nvme-subsystem/nvme-subsys2"
    (server.sys / "class/nvme-subsystem").mkdir(parents=True, exist_ok=True)
    (server.sys / "class/nvme-subsystem/nvme-subsys2").symlink_to(subsystem)
    assert NvmeSubsystem.of(drive).paths_fact(drive) is None
    assert "paths" not in {gauge.name for gauge in drive_gauges(drive)}

    def controller(name: str, **attributes: str) -> None:
        folder = server.sys / "devices/virtual/nvme-fabrics/ctl" / name
        folder.mkdir(parents=True)
        for attribute, value in attributes.items():
            (folder / attribute).write_text(f"{value}\n")
        (subsystem / name).symlink_to(folder)

    (subsystem / "nvme2/state").write_text("live\n")
    (subsystem / "iopolicy").write_text("numa\n")
    controller("nvme7", transport="tcp", address="traddr=10.0.0.1,trsvcid=4420", state="connecting")
    told = NvmeSubsystem.of(drive).paths_fact(drive)
    assert told.value == (
        "nvme2 (pcie, -, live); nvme7 (tcp, traddr=10.0.0.1,trsvcid=4420, connecting); I/O policy numa"
    )
    assert drive_facts(drive, server, None, "").get("paths") == told
    gauge = next(gauge for gauge in drive_gauges(drive) if gauge.name == "paths")
    assert gauge.ask is not None

    def live() -> Values:
        assert gauge.ask is not None
        return gauge.understand([gauge.ask()], 0)

    assert live() == {"paths_live": 1}
    controller("nvme8", state="live")
    assert live() == {"paths_live": 2}
    for name in ("nvme7", "nvme8"):
        (subsystem / name).unlink()
    assert live() == {"paths_live": 1}


def test_a_path_takes_io_where_the_drive_says_so(ana) -> None:
    drive = ana("optimized", "non-optimized", "change")
    told = NvmeSubsystem.of(drive).paths_fact(drive)
    assert told.value == (
        "nvme7 (tcp, -, live, optimized); nvme8 (tcp, -, live, non-optimized); nvme9 (tcp, -, live, change); "
        "I/O policy unknown"
    )

    def counted() -> Values:
        (gauge,) = (gauge for gauge in drive_gauges(drive) if gauge.name == "paths")
        assert gauge.ask is not None
        return gauge.understand([gauge.ask()], 0)

    assert counted() == {"paths_live": 2, "paths_optimized": 1}
    ana("inaccessible", "non-optimized", "persistent-loss")
    assert counted() == {"paths_live": 1, "paths_optimized": 0}
    (NvmeSubsystem.of(drive).controllers[1] / "state").write_text("connecting\n")
    assert counted() == {"paths_live": 0, "paths_optimized": 0}


def test_a_drive_that_no_path_reaches_is_refused_before_it_is_read(ana, server) -> None:
    def refused(*states: str) -> list[str]:
        return [one.rule_id for one in quiet_refusals(ana(*states), read_usage(server))]

    assert refused("inaccessible", "non-optimized") == []
    assert refused("optimized") == []
    assert refused("inaccessible") == refused("inaccessible", "change", "persistent-loss") == ["reach"]


# major minor name reads merged sectors ms writes merged sectors ms in-flight ms ms discards merged sectors ms
DISK_LINE = "   8       0 {} {} 0 {} 9 {} 0 {} 9 0 9 9 0 0 0 0 0 0\n"


def line(name: str, reads: int, read_sectors: int, writes: int, written_sectors: int) -> str:
    return DISK_LINE.format(name, reads, read_sectors, writes, written_sectors)


def others(server: SystemRoots, *ours: str) -> Gauge:
    (server.proc / "diskstats").touch()
    return others_gauge([BlockDevice.of_name(name, server) for name in ours], server)


def test_all_other_drives_are_summed_up_without_partitions_and_what_is_made_of_drives(server, golden) -> None:
    gauge = others(server, "nvme0n1")
    names = ("nvme0n1", "nvme1n1", "nvme1n1p2", "sda", "dm-0", "nvme2c2n1", "not-there")
    before = "".join(line(name, 0, 0, 0, 0) for name in names)
    after = "".join(line(name, 10, 2000, 30, 4000) for name in names)
    assert gauge.understand([before.encode()], 0) == {}
    # nvme1n1 and sda
    assert gauge.understand([after.encode()], 2 * 10**9) == {
        "others_read_bytes_per_s": 2 * 2000 * 512 / 2,
        "others_write_bytes_per_s": 2 * 4000 * 512 / 2,
        "others_ios_per_s": 2 * 40 / 2,
    }
    assert str(gauge.what) == golden


@pytest.mark.parametrize("text", ["", "8 0 sda", "8 0 sda x y z a b c d e f g\n", "\n\n"])
def test_lines_that_make_no_sense_count_nothing(text, server) -> None:
    gauge = others(server)
    gauge.understand([b""], 0)
    assert set(gauge.understand([text.encode()], 10**9).values()) == {0}


def test_a_loop_device_lies_on_the_disk_of_its_file(server) -> None:
    device = BlockDevice.of_name("nvme1n1", server)
    assert disks_below(device, device.node, server) == (device,)
    assert disks_below(None, Path("/srv/my data/x"), server)[0].name == "sdb"


def stat(reads: int, writes: int, discards: int) -> bytes:
    return f"1 0 {reads} 9 1 0 {writes} 9 0 9 9 1 0 {discards} 9 0 0\n".encode()


def test_what_the_kernel_counts_beyond_the_engines_own_is_foreign(server) -> None:
    device, own = BlockDevice.of_name("nvme0n1", server), 0
    (device.folder / "stat").write_bytes(stat(0, 0, 0))
    gauge = foreign_gauge(device, lambda: own, 4096)
    assert gauge.resolution == 4096
    own = 600 * 512
    assert gauge.understand([stat(100, 200, 300)], 0) == {"foreign_bytes": 0}
    assert gauge.understand([stat(100, 200, 308)], 0) == {"foreign_bytes": 4096}
    own = 700 * 512  # asked for later than the kernel's count was read
    assert gauge.understand([stat(100, 200, 308)], 0) == {"foreign_bytes": 4096}
    assert gauge.understand([stat(200, 200, 316)], 0) == {"foreign_bytes": 8192}
    assert gauge.understand([b"1 2 3"], 0) == {}


def test_a_kernel_that_does_not_count_is_told(server, golden) -> None:
    device = BlockDevice.of_name("nvme0n1", server)
    assert foreign_gauge(device, lambda: 0, 1).what is None
    (device.folder / "stat").write_bytes(stat(0, 0, 0))
    (device.folder / "queue/iostats").write_text("0\n")
    assert foreign_gauge(device, lambda: 0, 1).source == golden


def _of(name: str, roots: SystemRoots) -> Thermometers:
    return thermometers(BlockDevice.of_name(name, roots))


def test_composite_and_sensors_of_an_nvme_drive(server) -> None:
    found = _of("nvme0n1", server)
    # the third one has no label that says what it is
    assert {name: path.read_text() for name, path in found.files.items()} == {
        "temperature_c": "41850\n",
        "temperature_sensor_1_c": "47850\n",
    }
    assert found.source.endswith("nvme0/hwmon3")


def test_kernels_that_hang_it_on_the_pci_function(server) -> None:
    found = _of("nvme1n1", server)
    assert {name: path.read_text() for name, path in found.files.items()} == {"temperature_c": "35850\n"}


def test_a_drive_that_would_stop_for_the_question_is_not_asked(server, golden) -> None:
    found = _of("sda", server)
    assert found.files == {}
    assert found.source == golden


def test_a_kernel_without_hwmon_is_named_as_the_reason(malformed, golden) -> None:
    found = _of("nvme0n1", malformed)
    assert found.files == {}
    assert found.source == golden
