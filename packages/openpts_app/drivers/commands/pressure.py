"""How long tasks of the host waited for a resource: its pressure stall information (PSI)."""

from openpts.system_files import SystemRoots, read_lines
from openpts.units import NS_PER_US


def stall_ns(resource: str, roots: SystemRoots) -> int | None:
    """Time in which some task waited for ``io`` or ``cpu``, since the machine started; None if uncounted."""
    for line in read_lines(roots.proc / "pressure" / resource):
        kind, _, rest = line.partition(" ")
        total = dict(word.partition("=")[::2] for word in rest.split()).get("total", "")
        if kind == "some" and total.isdecimal():
            return int(total) * NS_PER_US
    return None
