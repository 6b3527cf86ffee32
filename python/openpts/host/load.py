"""What else the machine does: load, pressure, swap. Read without root."""

from openpts.system_files import SystemRoots, read_lines, read_text
from openpts.units import GB
from openpts.vocabulary.facts import Fact, Facts

_BYTES_PER_KB = 1024  # of meminfo, whatever it writes
_RESOURCES = ("cpu", "io", "memory")


def load_facts(roots: SystemRoots) -> Facts:
    """Load averages, pressure stall information and swap in use, under the keys of the host audit."""
    return {
        "load": _load(roots),
        "pressure": _pressure(roots),
        "swap": _swap(roots),
    }


def _load(roots: SystemRoots) -> Fact:
    path = roots.proc / "loadavg"
    fields = (read_text(path) or "").split()
    return Fact(" ".join(fields[:3]) if len(fields) >= 3 else None, f"{path}: 1, 5, 15 min")


def _pressure(roots: SystemRoots) -> Fact:
    """Share of the last 10 s in which some task waited for each resource."""
    folder = roots.proc / "pressure"
    shares = []
    for resource in _RESOURCES:
        words = next((line.split() for line in read_lines(folder / resource) if line[:5] == "some "), [])
        average = next((word.removeprefix("avg10=") for word in words if word.startswith("avg10=")), None)
        if average is not None:
            shares.append(f"{resource} {average} %")
    return Fact(", ".join(shares) or None, f"{folder}: some, 10 s")


def _swap(roots: SystemRoots) -> Fact:
    path = roots.proc / "meminfo"
    sizes = {
        fields[0]: int(fields[1]) * _BYTES_PER_KB
        for line in read_lines(path)
        if len(fields := line.split()) == 3 and fields[1].isdecimal()
    }
    total, free = sizes.get("SwapTotal:"), sizes.get("SwapFree:")
    if total is None or free is None:
        return Fact(None, f"{path} has no SwapTotal and SwapFree")
    text = f"{(total - free) / GB:,.1f} GB in use of {total / GB:,.1f} GB" if total else "none"
    return Fact(text, path.as_posix())
