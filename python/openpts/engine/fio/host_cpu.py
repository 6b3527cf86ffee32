"""How the host's processors spent the life of a fio process (PTS 2.1.4)."""

from dataclasses import dataclass
from typing import Self

from openpts.system_files import SystemRoots, read_lines
from openpts.vocabulary.sample import CpuShares


@dataclass(frozen=True, slots=True)
class HostCpu:
    """Counters of /proc/stat at one moment, in clock ticks."""

    user: int
    system: int
    iowait: int
    total: int

    @classmethod
    def now(cls, roots: SystemRoots) -> Self | None:
        """The counters; None where the kernel shows none."""
        lines = read_lines(roots.proc / "stat")
        fields = lines[0].split() if lines else []
        if len(fields) < 9 or fields[0] != "cpu" or not all(field.isdecimal() for field in fields[1:9]):
            return None
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields[1:9])
        total = user + nice + system + idle + iowait + irq + softirq + steal
        return cls(user + nice, system + irq + softirq, iowait, total)

    def shares_since(self, earlier: Self, process_ns: int) -> CpuShares | None:
        """Per cent of all processors' capacity since then; None if no tick has passed."""
        ticks = self.total - earlier.total
        if ticks <= 0:
            return None
        return CpuShares(
            user_pct=100 * (self.user - earlier.user) / ticks,
            sys_pct=100 * (self.system - earlier.system) / ticks,
            iowait_pct=max(0.0, 100 * (self.iowait - earlier.iowait) / ticks),
            process_ns=process_ns,
        )
