"""The processors: their model, and how many of them there are."""

from pathlib import Path

from openpts.system_files import SystemRoots, read_lines, read_text
from openpts.vocabulary.facts import Fact


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
