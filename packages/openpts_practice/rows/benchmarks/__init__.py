"""Benchmark Profiles: practice beyond the PTS."""

from collections.abc import Collection
from typing import Annotated, Final

from openpts.fields import usual
from openpts.fields.conditions import Contradictions, StepCounts
from openpts.fields.field import SECONDS_OR_NONE, Field
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.settling import SettlingRule
from openpts_practice.rows import ProfileRow
from openpts_practice.rows.conditions import ROW_PARAMETERS, PreconditionedConditions


class BenchmarksConditions(
    PreconditionedConditions, frozen=True, kw_only=True, tag_field="test", tag="benchmarks"
):
    """The rows of benchmarks on a drive in one state; without preconditioning it was only purged.

    Before the first row of each benchmark the drive is left alone until it has come to rest, but no longer
    than ``settle_ns``; 0 is not at all.
    """

    parameters = (
        "benchmarks",
        *ROW_PARAMETERS,
        "leave_free",
        "precondition_passes",
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
    settle_ns: Annotated[
        int,
        Field(
            "Idle before each benchmark, at most",
            "Before each benchmark, leave the drive alone until it has come to rest, but no longer; 0 is not "
            "at all.",
            SECONDS_OR_NONE,
        ),
    ] = 0

    # SOL-DEV-04
    @property
    def settling(self) -> SettlingRule | None:
        """How it is seen that the drive has come to rest."""
        if not self.settle_ns:
            return None
        standard = SettlingRule()
        return SettlingRule(
            look_ns=self.minute_ns,
            probe_ns=min(standard.probe_ns, self.minute_ns),
            least_ns=min(self.settle_ns, standard.least_ns * self.minute_ns // standard.look_ns),
            longest_ns=self.settle_ns,
        )

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """Free places are between what was written."""
        yield from super().contradictions(given)
        if self.leave_free is not None and not self.precondition_passes:
            yield ("leave_free",), "nothing is written around the free space; give precondition_passes too"

    def step_counts(self) -> StepCounts:
        """A probe and a look each minute until the drive has come to rest."""
        looks = 2 * len(self.benchmarks) * -(-self.settle_ns // self.minute_ns)
        yield ("step_seconds", "settle_seconds"), looks

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
