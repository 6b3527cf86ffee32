"""The conditions of the test of sustained performance."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import Field, Kind
from openpts.fields.kinds import SECONDS, percent
from openpts.units import MB
from openpts.vocabulary.phase import Phase, StepPlace
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

_Value = Annotated[float, Meta(gt=0)]


class ClaimsTable(Struct, frozen=True, forbid_unknown_fields=True):
    """What the drive's data sheet says."""

    sequential_write_mb_per_s: Annotated[_Value, Meta(description="SEQ 128 KiB W, MB/s.")] | UnsetType = UNSET
    sequential_read_mb_per_s: Annotated[_Value, Meta(description="SEQ 128 KiB R, MB/s.")] | UnsetType = UNSET
    random_write_iops: Annotated[_Value, Meta(description="RND 4 KiB W, IOPS.")] | UnsetType = UNSET
    random_read_iops: Annotated[_Value, Meta(description="RND 4 KiB R, IOPS.")] | UnsetType = UNSET


def _with_claims(_name: str, table: ClaimsTable, conditions: Any) -> Any:
    claims = tuple(
        Claim(figure.name, float(value))
        for figure in SHORT_FIGURES.values()
        if (value := getattr(table, figure.claim_name)) is not UNSET
    )
    return replace(conditions, claims=claims)


class SustainedConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="sustained"):
    """Short figures on the fresh drive, a long load, and the same figures again.

    The figures are measured for ``figure_ns`` each, in the first ``span_pct`` of the active range, which is
    laid before them. ``workload`` is applied at ``tc`` and ``qd`` until ``drive_fills`` user capacities are
    written or ``longest_ns`` have passed. ``claims`` are values of the drive's data sheet.
    """

    parameters = ("segments", "tc", "qd", "sequential_tc", "sequential_qd", ...)

    sequential_block_size_bytes: Annotated[
        int, usual.SEQUENTIAL_BLOCK_SIZE.but(help="Block size of the sequential figures.")
    ]
    sequential_tc: Annotated[int, usual.SEQUENTIAL_TC.but(help="Thread count of sequential stimuli.")]
    sequential_qd: Annotated[int, usual.SEQUENTIAL_QD.but(help="Queue depth of sequential stimuli.")]
    random_block_size_bytes: Annotated[
        int, usual.RANDOM_BLOCK_SIZE.but(help="Block size of the random figures.")
    ]
    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    figure_ns: Annotated[int, Field("Length of a short figure", "Length of each short figure.", SECONDS)]
    span_pct: Annotated[
        float,
        Field(
            "Span of the short figures (% of active range)",
            "Per cent of the active range that the figures use.",
            percent(gt=0, le=100),
        ),
    ]
    workload: Annotated[Workload, usual.ONE_WORKLOAD.but(help="What the load applies.")]
    drive_fills: Annotated[
        float, usual.DRIVE_FILLS.but(help="End the load when this many times the user capacity are written.")
    ]
    longest_ns: Annotated[int, usual.LONGEST.but(help="End the load after this time, if that comes first.")]
    claims: Annotated[
        tuple[Claim, ...],
        Field(
            "Claims of the data sheet",
            "A value of the drive's data sheet, to compare with the measured one.",
            Kind(ClaimsTable),
            change=_with_claims,
            show=lambda _conditions: "",
            free="what figures are compared with",
        ),
    ] = ()

    def part_name(self, place: StepPlace) -> str | None:
        """The two runs, each with the span that is laid for it, and the load between them."""
        if place.phase is Phase.LOAD:
            return "Load"
        return f"Run #{place.number}" if place.phase is Phase.PROFILE else f"Span of run #{place.number}"
