"""How much memory can still be had."""

from openpts.system_files import SystemRoots, read_lines

_FIELD = "MemAvailable:"


def available_memory_bytes(roots: SystemRoots) -> int | None:
    """The kernel's estimate of what can be had without swapping; None if it gives none."""
    for line in read_lines(roots.proc / "meminfo"):
        words = line.split()
        if len(words) == 3 and words[0] == _FIELD and words[1].isdecimal() and words[2] == "kB":
            return int(words[1]) * 1024
    return None
