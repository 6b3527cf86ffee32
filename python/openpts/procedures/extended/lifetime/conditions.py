"""The conditions of the lifetime test."""

from typing import Annotated

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions, StepCounts
from openpts.fields.field import Field
from openpts.fields.kinds import AMOUNT, SWITCH, count, percent
from openpts.vocabulary.data import RandomData


class LifetimeConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="lifetime"):
    """Drive cycles: the whole active range written once in sequence, then read once.

    It ends after ``drive_cycles``, or sooner: with the first I/O that fails, when the drive counts a media
    error or takes no more writes, when it has used ``wear_limit_pct`` of its rated life, after
    ``write_limit_bytes`` (None: no limit), or after ``longest_ns``. ``verify``: what is read must be what
    this cycle wrote, if that is random data; no other can be told from what an earlier cycle wrote.
    """

    block_size_bytes: Annotated[int, usual.BLOCK_SIZE]
    tc: Annotated[int, usual.TC.but(help="")]
    qd: Annotated[int, usual.QD]
    drive_cycles: Annotated[
        int,
        Field(
            "Drive cycles, at most",
            "Write and read the whole range this many times. USES THE DRIVE UP: a few thousand end its life.",
            count(1, 1_000_000),
            name="cycles",
            amount=True,
        ),
    ]
    write_limit_bytes: Annotated[
        int | None,
        Field(
            "Ends after (written)", "End when this test has written this much.", AMOUNT, examples=("100TB",)
        ),
    ] = None
    wear_limit_pct: Annotated[
        float,
        Field(
            "Ends at rated life used (%)",
            "End when the drive's log reports this share of its rated life as used; 100 is all of it.",
            percent(gt=0, le=1000),
        ),
    ]
    longest_ns: Annotated[
        int, usual.LONGEST.but(help="End with the cycle in which this much time has passed.")
    ]
    verify: Annotated[
        bool,
        Field("Reads compared with what was written", "Compare all data read with what was written.", SWITCH),
    ] = True

    def step_counts(self) -> StepCounts:
        """A write and a read of each cycle."""
        yield ("cycles",), 2 * self.drive_cycles

    @property
    def compares(self) -> bool:
        """Whether what is read is compared with what was written."""
        return self.verify and self.data == RandomData()
