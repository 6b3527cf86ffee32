"""How long tasks of the host wait for memory and processors while a drive is measured (PSI)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from openpts.gauge import Gauge, Growth, Values
from openpts.system_files import SystemRoots

_US_PER_S: Final = 1_000_000
_EACH: Final = 5
# Not of io: a process that issues I/O waits for it all the time.
_RESOURCES: Final = ("memory", "cpu")


def pressure_gauge(roots: SystemRoots) -> Gauge:
    """Share of time in which some task, or every one, waited."""
    folder = roots.proc / "pressure"
    paths = tuple(folder / resource for resource in _RESOURCES)
    if not all(path.exists() for path in paths):
        return Gauge("pressure", None, f"{folder} is missing: the kernel keeps no pressure stall information")
    return Gauge(
        "pressure",
        "time in % in which some task waited for memory, every task did, some task for a processor",
        f"{folder}/{{{','.join(_RESOURCES)}}}",
        paths,
        Pressure(),
        each=_EACH,
        resolution=0.5,
    )


@dataclass(slots=True)
class Pressure:
    """Shares since the reading before, from the kernel's sums in microseconds."""

    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """``memory_pressure_some_pct``, ``memory_pressure_full_pct``, ``cpu_pressure_some_pct``."""
        sums = {
            f"{resource}_pressure_{kind}_pct": total_us
            for resource, content in zip(_RESOURCES, contents, strict=True)
            for kind, total_us in _totals_us(content).items()
            if (resource, kind) != ("cpu", "full")  # of the whole machine it is 0 by definition
        }
        return {name: 100 * us / _US_PER_S for name, us in self._growth.per_s(sums, at_ns).items()}


def _totals_us(content: bytes) -> dict[str, float]:
    """By ``some`` and ``full``."""
    found = {}
    for line in content.decode("ascii", errors="replace").splitlines():
        kind, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        if kind in {"some", "full"} and total.isdecimal():
            found[kind] = float(total)
    return found
