"""The host's memory: what of it can still be had, how the kernel deals with it, which modules are fitted."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from openpts.system_files import SystemRoots, chosen_word, printable, read_lines, read_text
from openpts.units import KIB
from openpts.vocabulary.bandwidth import MemoryBandwidth
from openpts.vocabulary.facts import Fact, Facts


def available_memory_bytes(roots: SystemRoots) -> int | None:
    """The kernel's estimate of what can be had without swapping; None if it gives none."""
    for line in read_lines(roots.proc / "meminfo"):
        words = line.split()
        if len(words) == 3 and words[0] == "MemAvailable:" and words[1].isdecimal() and words[2] == "kB":
            return int(words[1]) * 1024
    return None


def last_level_cache_bytes(cpus: Iterable[int], roots: SystemRoots) -> int:
    """Of all caches of the highest level that these processors have; 0 where the kernel does not tell."""
    found: dict[str, int] = {}
    for cpu in cpus:
        folders = (roots.sys / f"devices/system/cpu/cpu{cpu}/cache").glob("index[0-9]*")
        last = max(folders, key=lambda folder: read_text(folder / "level") or "", default=None)
        if last is None:
            continue
        size = (read_text(last / "size") or "").removesuffix("K")
        found[read_text(last / "shared_cpu_list") or str(cpu)] = int(size) * KIB if size.isdecimal() else 0
    return sum(found.values())


# Offsets in the structure "Memory Device", DSP0134 7.18
_SIZE, _LOCATOR_TYPE, _SPEED, _MAKER, _PART = 0x0C, 0x12, 0x15, 0x17, 0x1A
_EXTENDED_SIZE, _CONFIGURED_SPEED = 0x1C, 0x20
_EMPTY, _UNKNOWN, _IS_EXTENDED, _IN_KIB = 0, 0xFFFF, 0x7FFF, 0x8000
_MIB_PER_GIB: Final = 1024
_TYPES: Final = {
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1B: "LPDDR",
    0x1C: "LPDDR2",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
}


# SOL-SYS-02
def memory_modules_fact(roots: SystemRoots) -> Fact:
    """Memory modules: ``2 x 16 GiB DDR4 3200 MT/s Samsung M471A2K43EB1-CWE``; only root may read it."""
    folder = roots.sys / "firmware/dmi/entries"
    entries = sorted(folder.glob("17-*/raw"))
    if not entries:
        return Fact(None, f"{folder} has no memory devices: the firmware lists none")
    modules: Counter[str] = Counter()
    for entry in entries:
        try:
            text = describe(entry.read_bytes())
        except PermissionError:
            return Fact(None, f"{Path(entry).parent}: only root may read it")
        except OSError as error:
            return Fact(None, f"{entry}: {error.strerror}")
        if text is not None:
            modules[text] += 1
    listed = ", ".join(f"{count} x {text}" for text, count in modules.items())
    return Fact(listed or None, f"{folder}/17-*/raw")


def describe(structure: bytes) -> str | None:
    """One module in words; None for an empty socket, or if the structure makes no sense."""
    length = structure[1] if len(structure) > 1 else 0
    formatted, texts = structure[:length], structure[length:].split(b"\0")
    if len(formatted) <= _PART or (size_mib := _size_mib(formatted)) is None:
        return None
    parts = [f"{size_mib / _MIB_PER_GIB:g} GiB", _TYPES.get(formatted[_LOCATOR_TYPE], "")]
    if speed := _word(formatted, _CONFIGURED_SPEED) or _word(formatted, _SPEED):
        parts.append(f"{speed} MT/s")
    parts += [_string(texts, formatted[at]) for at in (_MAKER, _PART)]
    return " ".join(part for part in parts if part)


_BYTES_PER_TRANSFER: Final = 8
_T_PER_MT: Final = 1_000_000


def memory_peak_bytes_per_s(roots: SystemRoots) -> float | None:
    """What all modules together transfer at most, as if each had a channel of its own; None if unknown."""
    rates = []
    for entry in sorted((roots.sys / "firmware/dmi/entries").glob("17-*/raw")):
        try:
            structure = entry.read_bytes()
        except OSError:
            return None
        if describe(structure) is not None:
            formatted = structure[: structure[1]]
            rates.append(_word(formatted, _CONFIGURED_SPEED) or _word(formatted, _SPEED))
    return sum(rates) * _T_PER_MT * _BYTES_PER_TRANSFER if rates and all(rates) else None


def memory_by_modules(roots: SystemRoots, why_not_measured: str = "") -> MemoryBandwidth:
    """All modules together, each as if it had a channel of its own."""
    rate = memory_peak_bytes_per_s(roots)
    source = (
        "the firmware does not report it, or only to root"
        if rate is None
        else "rates of all modules together"
    )
    why = f"; not measured: {why_not_measured}" if why_not_measured else ""
    return MemoryBandwidth(rate, measured=False, source=source + why)


def _size_mib(formatted: bytes) -> float | None:
    size = _word(formatted, _SIZE)
    if size in {_EMPTY, _UNKNOWN}:
        return None
    if size == _IS_EXTENDED:
        extended = int.from_bytes(formatted[_EXTENDED_SIZE : _EXTENDED_SIZE + 4], "little")
        return extended & 0x7FFF_FFFF or None
    return (size & ~_IN_KIB) / 1024 if size & _IN_KIB else size


def _word(formatted: bytes, at: int) -> int:
    value = int.from_bytes(formatted[at : at + 2], "little") if len(formatted) >= at + 2 else 0
    return 0 if at != _SIZE and value == _UNKNOWN else value


def _string(texts: list[bytes], number: int) -> str:
    """Strings follow the structure and are counted from 1; 0 is none."""
    known = 1 <= number <= len(texts)
    return printable(texts[number - 1].decode(errors="replace")) if known else ""


def memory_settings(roots: SystemRoots) -> Facts:
    """The settings under the keys of the host audit."""
    huge_pages = roots.sys / "kernel/mm/transparent_hugepage/enabled"
    balancing = roots.proc / "sys/kernel/numa_balancing"
    swappiness = roots.proc / "sys/vm/swappiness"
    return {
        "thp": Fact(chosen_word(read_text(huge_pages)), str(huge_pages)),
        "numa_balancing": Fact(read_text(balancing), str(balancing)),
        "swappiness": Fact(read_text(swappiness), str(swappiness)),
    }
