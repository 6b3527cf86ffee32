"""What surrounds a run: how long the host has been up, before the test and after it."""

from pathlib import Path

from openpts.hooks import Concern, RunContext
from openpts.vocabulary.facts import Fact, Facts

_UPTIME = Path("/proc/uptime")


class Uptime(Concern):
    """Joins each run; on a simulated drive no host bears."""

    def surroundings(self, run: RunContext) -> Facts:
        """The first number of the kernel's file."""
        if run.is_simulated:
            return {}
        return {"uptime": Fact(f"{_UPTIME.read_text().split()[0]} s", str(_UPTIME))}
