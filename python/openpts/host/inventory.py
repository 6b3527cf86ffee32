"""What the test platform is (PTS 5.2, 5.3): every fact with the place it was read from.

Without root, but for the memory modules.
"""

from typing import Final

from openpts.host.memory_modules import memory_modules_fact
from openpts.host.peripherals import peripherals_fact
from openpts.host.primary_storage import primary_storage_fact
from openpts.host.processor import cpu_fact, runs_under_hypervisor
from openpts.host.processor_limits import processor_limits
from openpts.system_files import SystemRoots, printable, read_lines, read_text
from openpts.units import GB
from openpts.vocabulary.facts import Fact, Facts

_BYTES_PER_KB: Final = 1024  # of meminfo, whatever it writes
_DMI: Final = "class/dmi/id"
# what firmware of makers of virtual machines calls itself
_VIRTUAL_SYSTEMS: Final = (
    "KVM",
    "QEMU",
    "VirtualBox",
    "VMware",
    "Virtual Machine",
    "Xen",
    "Amazon EC2",
    "Google Compute",
)


def host_facts(roots: SystemRoots) -> Facts:
    """The facts of the host under the keys of the report's header; never raises."""
    return {
        "system": _dmi(roots, "sys_vendor", "product_name"),
        "motherboard": _dmi(roots, "board_vendor", "board_name"),
        "bios": _dmi(roots, "bios_vendor", "bios_version", "bios_date"),
        "cpu": cpu_fact(roots),
        **processor_limits(roots),
        "memory": _memory(roots),
        "memory_modules": memory_modules_fact(roots),
        "operating_system": _operating_system(roots),
        "primary_storage": primary_storage_fact(roots),
        "peripherals": peripherals_fact(roots),
        "virtualization": virtualization_fact(roots),
    }


def _dmi(roots: SystemRoots, *names: str) -> Fact:
    folder = roots.sys / _DMI
    texts = [text for name in names if (text := read_text(folder / name))]
    return Fact(" ".join(texts) or None, f"{folder}/{{{','.join(names)}}}")


def _memory(roots: SystemRoots) -> Fact:
    """Total memory as the kernel has it, which is less than what is fitted."""
    meminfo = roots.proc / "meminfo"
    for line in read_lines(meminfo):
        fields = line.split()
        if len(fields) == 3 and fields[0] == "MemTotal:" and fields[1].isdecimal():
            return Fact(f"{int(fields[1]) * _BYTES_PER_KB / GB:,.1f} GB (base 10)", f"{meminfo}, MemTotal")
    return Fact(None, f"{meminfo} has no MemTotal")


def _operating_system(roots: SystemRoots) -> Fact:
    release = roots.etc / "os-release"
    kernel = read_text(roots.proc / "sys/kernel/osrelease")
    values = (
        line.removeprefix("PRETTY_NAME=") for line in read_lines(release) if line.startswith("PRETTY_NAME=")
    )
    name = printable(next(values, "").strip("\"'"))
    parts = [part for part in (name, f"Linux {kernel}" if kernel else "") if part]
    return Fact(", ".join(parts) or None, f"{release}, {roots.proc}/sys/kernel/osrelease")


def virtualization_fact(roots: SystemRoots) -> Fact:
    """Whether this is a virtual machine, and whose: then no figure speaks of the hardware alone."""
    folder = roots.sys / _DMI
    names = " ".join(filter(None, (read_text(folder / name) for name in ("sys_vendor", "product_name"))))
    virtual = runs_under_hypervisor(roots) or any(known in names for known in _VIRTUAL_SYSTEMS)
    hypervisor = read_text(roots.sys / "hypervisor/type")
    source = f"{roots.proc}/cpuinfo flags, {folder}/{{sys_vendor,product_name}}, {roots.sys}/hypervisor/type"
    if virtual or hypervisor:
        maker = hypervisor or names
        return Fact(f"virtual machine ({maker})" if maker else "virtual machine", source)
    return Fact("none seen", source)
