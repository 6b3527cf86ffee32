"""The conditions of the demand intensity test."""

from collections.abc import Collection
from typing import Annotated

from openpts.fields import usual
from openpts.fields.conditions import Contradictions
from openpts.fields.workload_table import NAMES
from openpts.procedures.shared.demand.conditions import DemandConditions
from openpts.vocabulary.placement import Uniform
from openpts.vocabulary.workload import Workload


class DemandIntensityConditions(DemandConditions, frozen=True, kw_only=True, tag_field="test", tag="dirth"):
    """Demand intensity and response time histogram (PTS 14.2)."""

    parameters = ("segments", ...)

    workload: Annotated[
        Workload,
        usual.ONE_WORKLOAD.but(
            help=f"Access pattern: {NAMES}, or order, size and mix as in RND 8KiB RW65.",
            free="14.2 leaves it to the operator, and the report's header has it",
        ),
    ]

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """Contradictions of demand variation, and of access ranges with a workload that has its own."""
        yield from super().contradictions(given)
        if self.segments is not None and self.workload.placement != Uniform():
            yield ("segments",), f"the workload {self.workload.title} has its own access ranges"
