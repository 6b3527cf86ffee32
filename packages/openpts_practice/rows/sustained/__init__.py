"""Sustained Performance: practice beyond the PTS."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from openpts.fields import usual
from openpts.fields.field import FILLS_OR_NONE, Field, ValueType
from openpts.procedures.kit.procedure import Procedure
from openpts.units import KIB, MB
from openpts.vocabulary.sample import Measured, Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.workload import Workload
from openpts_practice.rows import BenchmarkProfile, FigureUnit, ProfileRow
from openpts_practice.rows.conditions import BENCHMARKS_FIELD, ROW_PARAMETERS, ProfileTestConditions


class DataSheetClaim(Struct, frozen=True):
    """What a data sheet says of one of ``DATA_SHEET_FIGURES``, in its unit."""

    figure: str
    value: float

    def __str__(self) -> str:
        figure = DATA_SHEET_FIGURES[self.figure]
        return f"{figure.title} {self.value:,.12g} {figure.unit}"


class DataSheetFigure(Struct, frozen=True):
    """A figure that data sheets have: order and operation, MB/s of sequential and IOPS of random accesses."""

    name: str
    random_pct: int
    read_pct: int

    @property
    def title(self) -> str:
        """``random write``."""
        return self.name.replace("_", " ")

    @property
    def unit(self) -> FigureUnit:
        """In what data sheets have it."""
        return FigureUnit.IOPS if self.random_pct else FigureUnit.MB_PER_S

    @property
    def claim_name(self) -> str:
        """What a plan calls the data sheet's value of the figure."""
        return f"{self.name}_{self.unit.name.lower()}"

    def of(self, measured: Measured) -> float:
        """The figure of what was measured, in its unit."""
        return measured.iops if self.random_pct else measured.bandwidth_bytes_per_s / MB

    def is_of(self, applied: ProfileRow | Stimulus) -> bool:
        """Whether a row or a stimulus has its order and operation; IOPS of data sheets are of 4 KiB."""
        sizes = [size.block_size_bytes for size in applied.block_sizes]
        alike = (applied.random_pct, applied.read_pct) == (self.random_pct, self.read_pct)
        return alike and (not self.random_pct or sizes == [4 * KIB])


DATA_SHEET_FIGURES: Final[Mapping[str, DataSheetFigure]] = {
    figure.name: figure
    for figure in (
        DataSheetFigure("sequential_write", 0, 0),
        DataSheetFigure("sequential_read", 0, 100),
        DataSheetFigure("random_write", 100, 0),
        DataSheetFigure("random_read", 100, 100),
    )
}
"""By name."""

_Value = Annotated[float, Meta(gt=0)]


class ClaimsTable(Struct, frozen=True, forbid_unknown_fields=True):
    """What the drive's data sheet says."""

    sequential_write_mb_per_s: Annotated[_Value, Meta(description="SEQ 128 KiB W, MB/s.")] | UnsetType = UNSET
    sequential_read_mb_per_s: Annotated[_Value, Meta(description="SEQ 128 KiB R, MB/s.")] | UnsetType = UNSET
    random_write_iops: Annotated[_Value, Meta(description="RND 4 KiB W, IOPS.")] | UnsetType = UNSET
    random_read_iops: Annotated[_Value, Meta(description="RND 4 KiB R, IOPS.")] | UnsetType = UNSET


def _with_claims(_name: str, table: ClaimsTable, conditions: Any) -> Any:
    claims = tuple(
        DataSheetClaim(figure.name, float(value))
        for figure in DATA_SHEET_FIGURES.values()
        if (value := getattr(table, figure.claim_name)) is not UNSET
    )
    return replace(conditions, claims=claims)


class SustainedConditions(
    ProfileTestConditions, frozen=True, kw_only=True, tag_field="test", tag="sustained"
):
    """Rows of benchmarks on the fresh drive, a long load, and the same rows again.

    ``workload`` is applied at ``tc`` and ``qd`` until ``drive_fills`` user capacities are written (None: no
    amount ends it) or ``longest_ns`` have passed. ``claims`` are values of the drive's data sheet.
    """

    parameters = (
        "segments",
        "benchmarks",
        *ROW_PARAMETERS,
        "tc",
        "qd",
        "sequential_tc",
        "sequential_qd",
        ...,
        "longest_pass_ns",
        "longest_pause_ns",
    )

    benchmarks: Annotated[
        tuple[BenchmarkProfile, ...],
        BENCHMARKS_FIELD.but(
            label="Run #1 and run #2",
            help="Benchmarks whose rows are measured before and after the load. Names are those of "
            "`openpts run benchmarks --list`, or paths of TOML files of your own.",
        ),
    ]
    sequential_tc: Annotated[int, usual.SEQUENTIAL_TC.but(help="Thread count of a sequential load.")]
    sequential_qd: Annotated[int, usual.SEQUENTIAL_QD.but(help="Queue depth of a sequential load.")]
    tc: Annotated[int, usual.TC.but(help="Thread count of the load.")]
    qd: Annotated[int, usual.QD.but(help="Queue depth of each thread of the load.")]
    workload: Annotated[Workload, usual.ONE_WORKLOAD.but(help="What the load applies.")]
    drive_fills: Annotated[
        float | None,
        usual.DRIVE_FILLS.but(
            help="End the load when this many times the user capacity are written; none leaves that to the "
            "time alone.",
            kind=FILLS_OR_NONE,
            show=lambda conditions: FILLS_OR_NONE.show(conditions.drive_fills),
            text=lambda fills: "no amount ends the load" if fills is None else f"{fills:g} x user capacity",
        ),
    ]
    longest_ns: Annotated[int, usual.LONGEST.but(help="End the load after this time, if that comes first.")]
    claims: Annotated[
        tuple[DataSheetClaim, ...],
        Field(
            "Claims of the data sheet",
            "A value of the drive's data sheet, to compare with the measured one.",
            ValueType(ClaimsTable),
            change=_with_claims,
            show=lambda _conditions: "",
            free="what figures are compared with",
        ),
    ] = ()

    @property
    def rests(self) -> tuple[str, ...]:
        """Before the rows of each benchmark, in both runs."""
        return tuple(f"Run #{run}, {one.title}" for run in (1, 2) for one in self.benchmarks)

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """Run and row of a profile part: run #1 has the first half of the numbers."""
        run, place = divmod(number - 1, len(self.rows))
        benchmark, row = self.rows[place]
        return f"Run #{run + 1}{f', {benchmark.title}' if len(self.benchmarks) > 1 else ''}", row


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=SustainedConditions,
    title="Sustained Performance",
    short_title="Sustained",
    question="What does a long load leave of the figures, and of the data sheet's claims?",
    purpose="""Figures of a drive before and after a long load, and those of its data sheet.

    At full length: the rows of a benchmark, and RND 4 KiB writes until 4 x user capacity are written or for
    72 hours. The rows follow again at once.
    """,
    quick={
        "step_seconds": 1,
        "passes": 1,
        "longest_pass_seconds": 1,
        "longest_pause_seconds": 0.1,
        "drive_fills": 0.5,
        "longest_seconds": 60,
    },
    log_around=frozenset({Phase.PROFILE}),
    phase_line="openpts_practice.rows.phase_line:phase_line",
)
