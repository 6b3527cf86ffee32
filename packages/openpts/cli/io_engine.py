"""How the engine does its work, from words that `openpts io` and `openpts run` share."""

import os
from typing import Any, Final

from openpts.device.link.nearby_cpus import parse_cpu_list
from openpts.engine.options import IoPath, NativeOptions
from openpts.fields.parsing import refuse

NUMA: Final = "numa"
NOT_PINNED: Final = "none"


def native_options(io_path: str | None, cpus: str, **others: Any) -> NativeOptions:
    """The choices that the words stand for, and others. Raises UsageError."""
    return NativeOptions(
        io_path=None if io_path is None else IoPath(io_path),
        cpus=() if cpus in {NUMA, NOT_PINNED} else _cpus(cpus),
        **others,
    )


def _cpus(text: str) -> tuple[int, ...]:
    try:
        cpus = parse_cpu_list(text)
    except ValueError as error:
        refuse("--cpus", text, f"{error}; write a list such as 0-3,8, or {NUMA}, or {NOT_PINNED}")
    if forbidden := sorted(set(cpus) - os.sched_getaffinity(0)):
        listed = ", ".join(map(str, forbidden))
        refuse("--cpus", text, f"there is no processor {listed} that this process may run on")
    return cpus
