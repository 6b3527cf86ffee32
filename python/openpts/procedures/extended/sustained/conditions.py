"""The conditions of the test of sustained performance."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from openpts.units import MB
from openpts.vocabulary.conditions import ExtendedConditions
from openpts.vocabulary.sample import Measured
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.workload import Workload


class Claim(Struct, frozen=True):
    """What a data sheet says of one of the ``SHORT_FIGURES``, in its unit."""

    figure: str
    value: float

    def __str__(self) -> str:
        figure = SHORT_FIGURES[self.figure]
        return f"{figure.name.replace('_', ' ')} {self.value:,.12g} {figure.unit}"


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


class SustainedConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="sustained"):
    """Short figures on the fresh drive, a long load, and the same figures again.

    The figures are measured for ``figure_ns`` each, in the first ``span_pct`` of the active range, which is
    laid before them. ``workload`` is applied at ``tc`` and ``qd`` until ``drive_fills`` user capacities are
    written or ``longest_ns`` have passed. ``claims`` are values of the drive's data sheet.
    """

    sequential_block_size_bytes: int
    sequential_tc: int
    sequential_qd: int
    random_block_size_bytes: int
    tc: int
    qd: int
    figure_ns: int
    span_pct: float
    workload: Workload
    drive_fills: float
    longest_ns: int
    claims: tuple[Claim, ...] = ()
