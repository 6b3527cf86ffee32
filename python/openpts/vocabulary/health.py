"""What a device's own log says of it at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HealthReading:
    """Counters and states of the device's log, by name with unit; ``source`` is the log that was read.

    ``values`` is empty where the device keeps no log that openpts can read, and ``source`` says why.
    """

    source: str
    values: Mapping[str, float] = field(default_factory=dict)
