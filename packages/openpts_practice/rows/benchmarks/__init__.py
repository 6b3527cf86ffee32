"""Benchmark Profiles: practice beyond the PTS."""

from collections.abc import Collection
from typing import Annotated, Final

from openpts.fields import usual
from openpts.fields.conditions import Contradictions
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.sample import Phase
from openpts_practice.rows import ProfileRow
from openpts_practice.rows.conditions import ROW_PARAMETERS, PreconditionedConditions


class BenchmarksConditions(
    PreconditionedConditions, frozen=True, kw_only=True, tag_field="test", tag="benchmarks"
):
    """The rows of benchmarks on a drive in one state; without preconditioning it was only purged."""

    parameters = (
        "benchmarks",
        *ROW_PARAMETERS,
        "leave_free",
        "precondition_passes",
        "one_pass",
        ...,
        "longest_pass_ns",
        "longest_pause_ns",
    )

    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(
            help="Times the user capacity written in sequence before; 0 leaves the drive as purged."
        ),
    ]

    one_pass: Annotated[bool, usual.ONE_PASS] = False

    @property
    def rests(self) -> tuple[str, ...]:
        """Before the rows of each benchmark."""
        return tuple(one.title for one in self.benchmarks)

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """Free places are between what was written."""
        yield from super().contradictions(given)
        if self.one_pass and self.leave_free is not None:
            yield ("short", "leave_free"), "the pass writes all of the active range"
        if self.leave_free is not None and not self.precondition_passes:
            yield ("leave_free",), "nothing is written around the free space; give precondition_passes too"

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """Benchmark and row of a profile part: rows are numbered through from 1."""
        benchmark, row = self.rows[number - 1]
        return benchmark.title, row


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=BenchmarksConditions,
    title="Benchmark Profiles",
    short_title="Profile",
    question="What would CrystalDiskMark, KDiskMark, AS SSD, ATTO, Anvil's Storage Utilities or Iometer "
    "show for this drive?",
    purpose="""The figures that users of CrystalDiskMark, AS SSD or ATTO know, each with its definition.

    Each benchmark writes its test file and measures its rows, with its own pauses, warm-ups and passes. It is
    done on the purged drive unless preconditioning is asked for: what was only purged shows its best.
    """,
    quick={"passes": 1, "longest_pass_seconds": 1, "longest_pause_seconds": 0.1},
    log_around=frozenset({Phase.REST, Phase.PROFILE}),
    phase_line="openpts_practice.rows.phase_line:phase_line",
    lists="openpts_practice.rows.benchmarks.listing:print_benchmarks",
)
