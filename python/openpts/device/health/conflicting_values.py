"""Values that a drive tells in more than one place.

Firmware gets such counters wrong more often than one would think: 32 bits of 48, units that the name denies,
hours that start in the millions. Two tellings that disagree are no telling.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Told:
    """Values by name, and in words what was left out because the drive contradicts itself."""

    values: dict[str, float] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def add(self, name: str, value: float | None) -> None:
        """Take a value, if there is one."""
        if value is not None:
            self.values[name] = value

    def add_agreed(
        self, name: str, tellings: Mapping[str, float | None], *, apart: float = 0, share_apart: float = 0
    ) -> None:
        """Take the first of the tellings that there are, if all are at most so far from it.

        ``tellings`` go by their places; ``apart`` has the value's unit, ``share_apart`` is of the first.
        """
        told = {place: value for place, value in tellings.items() if value is not None}
        if not told:
            return
        first = next(iter(told.values()))
        if all(abs(value - first) <= max(apart, share_apart * first) for value in told.values()):
            self.values[name] = first
        else:
            self.doubt(name, told)

    def doubt(self, name: str, told: Mapping[str, float]) -> None:
        """Note what contradicts what."""
        places = " but ".join(f"{place} {value:.0f}" for place, value in told.items())
        self.doubts.append(f"{name} left out: {places}")
