"""Latency: PTS section 9."""

from typing import Annotated, Final

from openpts.fields import usual
from openpts.fields.conditions import StepCounts
from openpts.procedures.kit.procedure import Procedure
from openpts_pts.shared.continuous import histogram_steps
from openpts_pts.shared.rounds.conditions import QUICK, RoundConditions


class LatencyConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="lat"):
    """Latency test (PTS 9.2). ``nines`` None leaves the histogram at its length."""

    parameters = ("segments", "precondition_block_size_bytes", "tracking", ...)

    histogram_ns: Annotated[int, usual.HISTOGRAM]
    nines: Annotated[int | None, usual.NINES] = None

    def step_counts(self) -> StepCounts:
        """Steps of the rounds, and of the histogram."""
        yield from super().step_counts()
        yield from histogram_steps(self.histogram_ns, self.minute_ns)


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=LatencyConditions,
    title="Latency",
    short_title="Latency",
    question="How long does a single I/O take, and how long do the slowest ones take?",
    section=9,
    purpose="""Response times of single random I/Os, 3 R/W mixes x 3 sizes at TC 1 QD 1, in steady state.

    At full length: the user capacity written twice. Rounds of 9 minutes follow until performance is steady, 5
    at least (45 min) and 25 at most (3 h 45 min). The histogram of response times takes 20 minutes.
    """,
    quick=QUICK,
    trends={2: "lat-clp-plot", 11: "lat-convergence-rw0-plot", 12: "lat-levels-plot"},
    phase_line="openpts_pts.shared.round_lines:round_line",
)
