"""How the engine does its work, from the words of `openpts io`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openpts.device.link.nearby_cpus import parse_cpu_list
from openpts.engine.options import CaptureOrder, CompletionWait, IoPath, NativeOptions
from openpts.fields.parsing import refuse
from openpts.units import NS_PER_S

NUMA: Final = "numa"
NOT_PINNED: Final = "none"


@dataclass(frozen=True, slots=True)
class EngineArgs:
    """The options as given."""

    io_path: str | None = None
    wait: str = CompletionWait.EACH.value
    cpus: str = NUMA
    max_errors: int = 0
    interval_seconds: float = 1.0
    capture: Path | None = None

    @property
    def pin_to_node(self) -> bool:
        """Whether the threads shall run near the target, wherever that is."""
        return self.cpus == NUMA

    def options(self) -> NativeOptions:
        """The choices that the words stand for. Raises UsageError."""
        return NativeOptions(
            io_path=None if self.io_path is None else IoPath(self.io_path),
            completion_wait=CompletionWait(self.wait),
            cpus=() if self.cpus in {NUMA, NOT_PINNED} else _cpus(self.cpus),
            most_errors=self.max_errors,
            interval_ns=round(self.interval_seconds * NS_PER_S),
            capture=None if self.capture is None else CaptureOrder(self.capture, lba_bytes=0),
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
