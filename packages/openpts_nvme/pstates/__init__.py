"""Power States: practice beyond the PTS."""

import math
from collections.abc import Collection
from typing import Annotated, Final

from openpts.fields.conditions import Contradictions, ExtendedConditions, StepCounts
from openpts.fields.field import AMOUNT, SECONDS, SIZE, Field, count
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.sample import Phase, StepPlace

AUTONOMOUS: Final = 1
ALWAYS_ON: Final = 2
COMMANDED: Final = 10
"""Numbers of the parts: states entered by itself, none, and from the last on those that are commanded."""


class PowerStateConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="pstates"):
    """Single reads after idle times from ``shortest_ns`` to ``longest_ns``, ``per_decade`` to a decade.

    Each idle time comes ``repeats`` times, or less where that would take more than ``point_ns``, but
    ``least_repeats`` times; their order is random. Without autonomous transitions each comes
    ``least_repeats`` times. A commanded state has ``settle_ns`` to be entered. What is read was written
    before: ``range_bytes`` from the beginning of the active range.
    """

    shortest_ns: Annotated[int, Field("Shortest idle time", "Shortest idle time.", SECONDS)]
    longest_ns: Annotated[int, Field("Longest idle time", "Longest idle time.", SECONDS)]
    per_decade: Annotated[
        int,
        Field(
            "Idle times per decade", "Idle times from any one to the one ten times as long.", count(2, 100)
        ),
    ]
    repeats: Annotated[
        int, Field("Reads after each idle time", "Reads after each idle time.", count(2, 10_000))
    ]
    least_repeats: Annotated[
        int,
        Field(
            "Reads after long idle times",
            "Reads after an idle time so long that more would not fit.",
            count(2, 10_000),
            rare=True,
        ),
    ]
    point_ns: Annotated[
        int, Field("Time for each idle time", "Longest time to spend on one idle time.", SECONDS, rare=True)
    ]
    settle_ns: Annotated[
        int,
        Field("Time in a commanded state", "Time for the drive to enter a state that is commanded.", SECONDS),
    ]
    block_size_bytes: Annotated[int, Field("Block size", "Size of the reads.", SIZE)]
    range_bytes: Annotated[int, Field("Range", "Write this much, and read from it.", AMOUNT, amount=True)]

    @property
    def idle_times_ns(self) -> tuple[int, ...]:
        """The idle times, each as many times longer than the one before."""
        decades = math.log10(self.longest_ns / self.shortest_ns)
        steps = max(1, round(decades * self.per_decade))
        return tuple(round(self.shortest_ns * 10 ** (decades * n / steps)) for n in range(steps + 1))

    def repeats_of(self, idle_ns: int) -> int:
        """How often an idle time comes while the drive may enter states by itself."""
        return max(self.least_repeats, min(self.repeats, self.point_ns // idle_ns))

    def part_name(self, place: StepPlace) -> str | None:
        """See the base class."""
        return None if place.phase is not Phase.WAIT_STATE else part_text(place.number)

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """The longest idle time must be longer than the shortest."""
        del given
        if self.longest_ns <= self.shortest_ns:
            yield (
                ("longest_seconds", "shortest_seconds"),
                "the longest idle time is not longer than the shortest",
            )

    def step_counts(self) -> StepCounts:
        """An idle time and a read for each repeat."""
        reads = sum(self.repeats_of(idle_ns) + self.least_repeats for idle_ns in self.idle_times_ns)
        yield ("repeats", "per_decade"), 2 * reads


def part_text(number: int) -> str:
    """What a part is called: ``autonomous transitions``, ``state 3 commanded``."""
    if number >= COMMANDED:
        return f"state {number - COMMANDED} commanded"
    return "autonomous transitions" if number == AUTONOMOUS else "no transitions"


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=PowerStateConditions,
    title="Power States",
    short_title="Power States",
    question="After how long without I/O does the drive save power? How long does the first I/O wait then?",
    purpose="""After how long an idle drive enters each power state, and how long it takes to leave it.

    At full length: 1 GiB written, then single reads after idle times from 1 ms to 10 minutes in random
    order. There are up to 50 of each with the drive's autonomous transitions on, and a few with them off.
    50 more are out of each state when it is commanded. This takes some 4 hours. No meter is needed. What
    was set is put back at the end. Untried on hardware.
    """,
    quick={
        "longest_seconds": 2,
        "per_decade": 4,
        "repeats": 5,
        "least_repeats": 2,
        "point_seconds": 2,
        "settle_seconds": 0.1,
        "range": "16MiB",
    },
    purges=False,
    driver="openpts_nvme.pstates.driver:PowerStatesDriver",
    sections={"power_states": "openpts.vocabulary.power:PowerStatesSet"},
    phase_line="openpts_nvme.pstates.phase_line:phase_line",
)
