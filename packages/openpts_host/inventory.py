"""What the test platform is (PTS 5.2, 5.3): every fact with the place it was read from.

Without root, but for the memory modules.
"""

from collections import Counter
from pathlib import Path
from typing import Final

from openpts.system_files import (
    SystemRoots,
    pci_name,
    printable,
    read_integer,
    read_lines,
    read_mounts,
    read_text,
)
from openpts.units import GB, format_capacity, format_count
from openpts.vocabulary.facts import Fact, Facts
from openpts_host.memory import memory_modules_fact


def _cpu_fact(roots: SystemRoots) -> Fact:
    """Processors online: ``Intel(R) Xeon(R) Gold 6354, 2 sockets, 36 cores, 72 threads``."""
    cpuinfo = roots.proc / "cpuinfo"
    topologies = list((roots.sys / "devices/system/cpu").glob("cpu[0-9]*/topology"))
    name = _model(cpuinfo)
    parts = [name] if name else []
    if topologies:
        sockets = {read_text(topology / "physical_package_id") for topology in topologies}
        # a core's number alone recurs on each socket, and on some processors on each die
        core = ("physical_package_id", "die_id", "core_id")
        cores = {tuple(read_text(topology / name) for name in core) for topology in topologies}
        parts += [
            format_count(len(sockets), "socket"),
            format_count(len(cores), "core"),
            format_count(len(topologies), "thread"),
        ]
    return Fact(", ".join(parts) or None, f"{cpuinfo}, {roots.sys}/devices/system/cpu/cpu*/topology")


def _model(cpuinfo: Path) -> str | None:
    """The model's name, or on ARM the implementer's and the part's number."""
    fields: dict[str, str] = {}
    for line in read_lines(cpuinfo):
        key, separator, value = line.partition(":")
        if separator:
            fields.setdefault(key.strip(), value.strip())
    if name := fields.get("model name"):
        return name
    implementer, part = fields.get("CPU implementer"), fields.get("CPU part")
    return f"ARM implementer {implementer} part {part}" if implementer and part else None


_KHZ_PER_MHZ: Final = 1000
_UW_PER_W: Final = 1_000_000


def _clock(cpus: Path) -> Fact:
    """Base and highest clock of each kind of core that there is."""
    kinds = []
    for cpu in sorted(cpus.glob("cpu[0-9]*")):
        base_mhz = _mhz(cpu / "cpufreq/base_frequency") or read_integer(cpu / "acpi_cppc/nominal_freq")
        most_mhz = _mhz(cpu / "cpufreq/cpuinfo_max_freq")
        parts = [f"{base_mhz:,} MHz base"] if base_mhz else []
        parts += [f"{most_mhz:,} MHz at most"] if most_mhz else []
        if parts:
            kinds.append(", ".join(parts))
    source = f"{cpus}/cpu*/cpufreq/{{base_frequency,cpuinfo_max_freq}}, acpi_cppc/nominal_freq"
    return Fact("; ".join(dict.fromkeys(kinds)) or None, source)


def _package_power(folder: Path) -> Fact:
    """The limits that the firmware or an operator has set, such as ``15 W long term, 51 W short term``."""
    limits = []
    for package in sorted(folder.glob("intel-rapl:[0-9]*")):
        if ":" in package.name.removeprefix("intel-rapl:"):
            continue  # a part of a package
        parts = []
        for name in sorted(package.glob("constraint_*_name")):
            limit_uw = read_integer(name.with_name(name.name.removesuffix("name") + "power_limit_uw"))
            if limit_uw:
                kind = (read_text(name) or "of unknown kind").replace("_", " ")
                parts.append(f"{limit_uw / _UW_PER_W:g} W {kind}")
        limits += [", ".join(parts)] if parts else []
    source = f"{folder}/intel-rapl:*/constraint_*: AMD processors report none"
    return Fact("; ".join(dict.fromkeys(limits)) or None, source)


def _microcode(cpuinfo: Path) -> Fact:
    found = (line.partition(":")[2].strip() for line in read_lines(cpuinfo) if line.startswith("microcode"))
    return Fact(", ".join(dict.fromkeys(found)) or None, f"{cpuinfo}, microcode")


def _mhz(path: Path) -> int | None:
    khz = read_integer(path)
    return None if khz is None else khz // _KHZ_PER_MHZ


# PCI Code and ID Assignment: the base class is the first byte of the class code
_CLASSES: Final = {"0x01": "storage", "0x02": "network", "0x03": "display", "0x12": "accelerator"}


def _peripherals_fact(roots: SystemRoots) -> Fact:
    """Devices by class, such as ``storage: 2 x Samsung NVMe SSD``, sorted; IDs without a pci.ids."""
    folder = roots.sys / "bus/pci/devices"
    functions = Counter(_identity(function) for function in folder.glob("*"))
    groups = []
    for code, class_name in _CLASSES.items():
        names = [
            f"{count} x {name}" if count > 1 else name
            for (base_class, vendor, device), count in functions.items()
            if base_class == code and (name := pci_name(vendor, device, roots) or "a function without an ID")
        ]
        if names:
            groups.append(f"{class_name}: {', '.join(sorted(names))}")
    return Fact("; ".join(groups) or None, str(folder))


def _identity(function: Path) -> tuple[str, str | None, str | None]:
    """Base class, vendor and device of a PCI function."""
    pci_class = read_text(function / "class") or ""
    return pci_class[:4], read_text(function / "vendor"), read_text(function / "device")


def primary_storage_fact(roots: SystemRoots) -> Fact:
    """What / is mounted from: ``ext4 on SAMSUNG MZVL21T0 (nvme0n1, 1,024 GB)``."""
    source = f"{roots.proc}/self/mountinfo"
    try:
        mounts = [mount for mount in read_mounts(roots) if mount.mount_point == "/"]
    except (OSError, ValueError) as error:
        return Fact(None, f"{source} can't be read: {printable(str(error))}")
    if not mounts:
        return Fact(None, f"{source} has no mount at /")
    root = mounts[-1]
    places = [roots.sys / "dev/block" / root.device]
    if root.source.startswith("/dev/"):
        places.append(roots.sys / "class/block" / Path(root.source).name)
    folder = next((place.resolve() for place in places if place.exists()), None)
    if folder is None:
        return Fact(f"{root.fs_type} on {printable(root.source)}", source)
    return Fact(f"{root.fs_type} on {' and '.join(_describe(disk) for disk in _disks(folder))}", str(folder))


def _disks(folder: Path) -> tuple[Path, ...]:
    """The whole disks below a partition, a volume or an array."""
    parts = sorted((folder / "slaves").glob("*"))
    disks = tuple(disk for part in parts for disk in _disks(part.resolve()))
    whole = folder.parent if (folder / "partition").exists() else folder
    return tuple(dict.fromkeys(disks)) or (whole,)


def _describe(disk: Path) -> str:
    model, sectors = read_text(disk / "device/model"), read_text(disk / "size")
    details = [disk.name] if model else []
    if sectors is not None and sectors.isdecimal():
        details.append(format_capacity(int(sectors) * 512))
    return f"{model or disk.name} ({', '.join(details)})" if details else disk.name


_BYTES_PER_KB: Final = 1024  # of meminfo, whatever it writes
_DMI: Final = "class/dmi/id"
# what firmware of makers of virtual machines calls itself
_VIRTUAL_SYSTEMS: Final = (
    "KVM", "QEMU", "VirtualBox", "VMware", "Virtual Machine", "Xen", "Amazon EC2", "Google Compute",
)  # fmt: skip


# SOL-SYS-01
def host_facts(roots: SystemRoots) -> Facts:
    """The facts of the host under the keys of the report's header; never raises."""
    return {
        "system": _dmi(roots, "sys_vendor", "product_name"),
        "motherboard": _dmi(roots, "board_vendor", "board_name"),
        "bios": _dmi(roots, "bios_vendor", "bios_version", "bios_date"),
        "cpu": _cpu_fact(roots),
        "cpu_clock": _clock(roots.sys / "devices/system/cpu"),
        "cpu_package_power": _package_power(roots.sys / "class/powercap"),
        "microcode": _microcode(roots.proc / "cpuinfo"),
        "memory": _memory(roots),
        "memory_modules": memory_modules_fact(roots),
        "operating_system": _operating_system(roots),
        "primary_storage": primary_storage_fact(roots),
        "peripherals": _peripherals_fact(roots),
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
    # of x86 the processor itself says that it is a virtual one
    flags = (line.split() for line in read_lines(roots.proc / "cpuinfo") if line[:5] == "flags")
    virtual = any("hypervisor" in words for words in flags) or any(one in names for one in _VIRTUAL_SYSTEMS)
    hypervisor = read_text(roots.sys / "hypervisor/type")
    source = f"{roots.proc}/cpuinfo flags, {folder}/{{sys_vendor,product_name}}, {roots.sys}/hypervisor/type"
    if virtual or hypervisor:
        maker = hypervisor or names
        return Fact(f"virtual machine ({maker})" if maker else "virtual machine", source)
    return Fact("none seen", source)
