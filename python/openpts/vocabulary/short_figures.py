"""The four figures of a short benchmark, which are also those of most data sheets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from openpts.units import MB
from openpts.vocabulary.sample import Measured
from openpts.vocabulary.stimulus import AccessPattern


@dataclass(frozen=True, slots=True)
class ShortFigure:
    """A figure: order and operation. Sequential ones are told in MB/s, random ones in IOPS."""

    name: str
    access_pattern: AccessPattern
    read_pct: int

    @property
    def unit(self) -> str:
        """In what the figure is told."""
        return "MB/s" if self.access_pattern is AccessPattern.SEQUENTIAL else "IOPS"

    @property
    def claim_name(self) -> str:
        """What a plan calls the data sheet's value of the figure."""
        return f"{self.name}_{'mb_per_s' if self.unit == 'MB/s' else 'iops'}"

    def of(self, measured: Measured) -> float:
        """The figure of what was measured, in its unit."""
        return measured.bandwidth_bytes_per_s / MB if self.unit == "MB/s" else measured.iops


SHORT_FIGURES: Final[Mapping[str, ShortFigure]] = {
    figure.name: figure
    for figure in (
        ShortFigure("sequential_write", AccessPattern.SEQUENTIAL, 0),
        ShortFigure("sequential_read", AccessPattern.SEQUENTIAL, 100),
        ShortFigure("random_write", AccessPattern.RANDOM, 0),
        ShortFigure("random_read", AccessPattern.RANDOM, 100),
    )
}
"""By name, in the order in which they are measured: what is read was written before."""


class Claim(Struct, frozen=True):
    """What a data sheet says of one of the ``SHORT_FIGURES``, in its unit."""

    figure: str
    value: float

    def __str__(self) -> str:
        figure = SHORT_FIGURES[self.figure]
        return f"{figure.name.replace('_', ' ')} {self.value:,.12g} {figure.unit}"
