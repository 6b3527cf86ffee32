"""How the engine does its work, from words that `openpts io` and `openpts run` share."""

import os
from typing import Final

from openpts.device.nearby_cpus import parse_cpu_list
from openpts.fields.parsing import refuse

NUMA: Final = "numa"
NOT_PINNED: Final = "none"


def pinned_cpus(text: str) -> tuple[int, ...]:
    """The processors that ``--cpus`` names, none for ``numa`` and ``none``. Raises UsageError."""
    if text in {NUMA, NOT_PINNED}:
        return ()
    try:
        cpus = parse_cpu_list(text)
    except ValueError as error:
        refuse("--cpus", text, f"{error}; write a list such as 0-3,8, or {NUMA}, or {NOT_PINNED}")
    if forbidden := sorted(set(cpus) - os.sched_getaffinity(0)):
        listed = ", ".join(map(str, forbidden))
        refuse("--cpus", text, f"there is no processor {listed} that this process may run on")
    return cpus
