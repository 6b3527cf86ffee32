import pytest

from openpts.host.inventory import host_facts
from openpts.system_files import SystemRoots

KEYS = [
    "system",
    "motherboard",
    "bios",
    "cpu",
    "cpu_clock",
    "cpu_package_power",
    "microcode",
    "memory",
    "memory_modules",
    "operating_system",
    "primary_storage",
    "peripherals",
    "virtualization",
]


def _values(roots: SystemRoots) -> dict[str, str | None]:
    facts = host_facts(roots)
    assert list(facts) == KEYS
    assert all(fact.source for fact in facts.values())
    return {key: fact.value for key, fact in facts.items()}


def test_a_server(server: SystemRoots) -> None:
    assert _values(server) == {
        "system": "Supermicro AS -2015HS-TNR",
        "motherboard": "Supermicro H13SSH",
        "bios": "American Megatrends International, LLC. 1.4 06/09/2023",
        "cpu": "AMD EPYC 9354 32-Core Processor, 2 sockets, 4 cores, 8 threads",
        "cpu_clock": "3,799 MHz at most",
        "cpu_package_power": None,
        "microcode": None,
        "memory": "405.4 GB (base 10)",
        "memory_modules": None,
        "operating_system": "Ubuntu 24.04.1 LTS, Linux 6.8.0-45-generic",
        "primary_storage": "ext4 on WD_BLACK SN850X 1000GB (nvme1n1, 1,000 GB)",
        "peripherals": (
            "storage: Broadcom / LSI Fusion-MPT 24GSAS/PCIe SAS40xx, "
            "Intel Corporation C620 Series Chipset Family SATA Controller [AHCI mode], PCI 1e0f:0007, "
            "Samsung Electronics Co Ltd NVMe SSD Controller PM1743, Sandisk Corp device 5030; "
            "network: Mellanox Technologies MT2892 Family [ConnectX-6 Dx]"
        ),
        "virtualization": "none seen",
    }


def test_a_virtual_machine_on_arm(virtual_machine: SystemRoots) -> None:
    assert _values(virtual_machine) == {
        "system": None,
        "motherboard": None,
        "bios": None,
        "cpu": "ARM implementer 0x41 part 0xd0c, 1 socket, 1 core, 1 thread",
        "cpu_clock": None,
        "cpu_package_power": None,
        "microcode": None,
        "memory": "2.0 GB (base 10)",
        "memory_modules": None,
        "operating_system": "Linux 6.1.0-56-arm64",
        "primary_storage": "btrfs on vda (21 GB)",
        "peripherals": "storage: 2 x PCI 1af4:1042",
        "virtualization": "virtual machine (xen)",
    }


@pytest.mark.proves("SOL-SYS-01")
def test_a_laptop_tells_its_clocks_and_its_power(laptop: SystemRoots) -> None:
    values = _values(laptop)
    assert values["cpu_clock"] == "2,400 MHz base, 4,200 MHz at most"
    assert values["cpu_package_power"] == "15 W long term, 51 W short term"
    assert values["microcode"] == "0xa6"
    assert values["bios"] == "LENOVO N32ET75W (1.51 ) 12/02/2021"


def test_processors_with_two_kinds_of_cores_tell_both(laptop: SystemRoots) -> None:
    policy = laptop.sys / "devices/system/cpu/cpufreq/policy1"
    (policy / "base_frequency").write_text("1800000\n")
    (policy / "cpuinfo_max_freq").write_text("3100000\n")
    assert (
        _values(laptop)["cpu_clock"] == "2,400 MHz base, 4,200 MHz at most; 1,800 MHz base, 3,100 MHz at most"
    )


def test_what_cannot_be_read_is_left_open(malformed: SystemRoots) -> None:
    values = _values(malformed)
    assert values.pop("peripherals") == "storage: a function without an ID"
    assert values.pop("virtualization") == "none seen"
    assert set(values.values()) == {None}


def test_an_empty_machine_raises_nothing(server: SystemRoots) -> None:
    nothing = server.sys / "nothing"
    values = _values(SystemRoots(nothing, nothing, nothing, nothing, nothing))
    assert values.pop("virtualization") == "none seen"
    assert set(values.values()) == {None}


def test_the_processor_tells_that_it_is_virtual(server: SystemRoots) -> None:
    (server.proc / "cpuinfo").write_text("model name\t: AMD EPYC\nflags\t\t: fpu hypervisor lahf_lm\n")
    assert _values(server)["virtualization"] == "virtual machine (Supermicro AS -2015HS-TNR)"


def test_the_firmware_tells_that_it_is_virtual(server: SystemRoots) -> None:
    (server.sys / "class/dmi/id/sys_vendor").write_text("QEMU\n")
    assert _values(server)["virtualization"] == "virtual machine (QEMU AS -2015HS-TNR)"


def test_this_machine_is_described() -> None:
    values = _values(SystemRoots())
    assert values["memory"] is not None
    assert values["operating_system"] is not None
