"""The conditions of the latency test."""

from typing import Annotated

from openpts.fields import usual
from openpts.fields.conditions import StepCounts
from openpts.procedures.shared.continuous import histogram_steps
from openpts.procedures.shared.rounds.conditions import RoundConditions


class LatencyConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="lat"):
    """Latency test (PTS 9.2). ``nines`` None leaves the histogram at its length."""

    parameters = ("segments", "precondition_block_size_bytes", "tracking", ...)

    histogram_ns: Annotated[int, usual.HISTOGRAM]
    nines: Annotated[int | None, usual.NINES] = None

    def step_counts(self) -> StepCounts:
        """Steps of the rounds, and of the histogram."""
        yield from super().step_counts()
        yield from histogram_steps(self.histogram_ns, self.minute_ns)
