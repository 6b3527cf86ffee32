"""The processors: their model and number, and what they may do at most (clocks, power of the package)."""

from pathlib import Path
from typing import Final

from openpts.system_files import SystemRoots, read_integer, read_lines, read_text
from openpts.vocabulary.facts import Fact, Facts


def cpu_fact(roots: SystemRoots) -> Fact:
    """Such as ``Intel(R) Xeon(R) Gold 6354, 2 sockets, 36 cores, 72 threads``; only those that are online."""
    cpuinfo = roots.proc / "cpuinfo"
    topologies = list((roots.sys / "devices/system/cpu").glob("cpu[0-9]*/topology"))
    name = _model(cpuinfo)
    parts = [name] if name else []
    if topologies:
        sockets = {read_text(topology / "physical_package_id") for topology in topologies}
        cores = {_core(topology) for topology in topologies}
        parts += [
            _count(len(sockets), "socket"),
            _count(len(cores), "core"),
            _count(len(topologies), "thread"),
        ]
    return Fact(", ".join(parts) or None, f"{cpuinfo}, {roots.sys}/devices/system/cpu/cpu*/topology")


def runs_under_hypervisor(roots: SystemRoots) -> bool:
    """Whether the processor itself says that it is a virtual one (x86 only)."""
    return any(
        "hypervisor" in line.split() for line in read_lines(roots.proc / "cpuinfo") if line[:5] == "flags"
    )


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


def _core(topology: Path) -> tuple[str | None, ...]:
    """A core's identity: its number alone recurs on each socket, and on some processors on each die."""
    return tuple(read_text(topology / name) for name in ("physical_package_id", "die_id", "core_id"))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


_KHZ_PER_MHZ: Final = 1000
_UW_PER_W: Final = 1_000_000


# SOL-SYS-01
def processor_limits(roots: SystemRoots) -> Facts:
    """Clocks, package power and microcode, under the keys of the report's header."""
    return {
        "cpu_clock": _clock(roots.sys / "devices/system/cpu"),
        "cpu_package_power": _package_power(roots.sys / "class/powercap"),
        "microcode": _microcode(roots.proc / "cpuinfo"),
    }


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
    source = f"{folder}/intel-rapl:*/constraint_*: processors of AMD tell none"
    return Fact("; ".join(dict.fromkeys(limits)) or None, source)


def _microcode(cpuinfo: Path) -> Fact:
    found = (line.partition(":")[2].strip() for line in read_lines(cpuinfo) if line.startswith("microcode"))
    return Fact(", ".join(dict.fromkeys(found)) or None, f"{cpuinfo}, microcode")


def _mhz(path: Path) -> int | None:
    khz = read_integer(path)
    return None if khz is None else khz // _KHZ_PER_MHZ
