"""Lifetime: practice beyond the PTS."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Struct

from openpts.fields import usual
from openpts.fields.conditions import EarlierRun, ExtendedConditions, StepCounts
from openpts.fields.field import AMOUNT, SWITCH, Field, count, one_of, percent
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.stimulus import RandomData


class StopOn(StrEnum):
    """Which failed I/O ends the test: any, or only one that is not a read (HYP-LIFE-02, 03)."""

    FIRST_ERROR = "first-error"
    FAILED_WRITE = "failed-write"


class ReadBack(Struct, frozen=True, kw_only=True):
    """One read of all that a drive cycle wrote, and how old the data was.

    ``run`` is that in which it was read; ``age_ns`` lies between the beginnings of writing and reading, None
    where the clock was set back. Temperatures are the drive's own when all was written, and when all was
    read; None where its log has none. Response times are None without an I/O, ``p999_ns`` with too few.
    """

    cycle: int
    run: str
    age_ns: int | None
    written_c: float | None
    read_c: float | None
    bytes_per_s: float | None
    mean_ns: float | None
    p999_ns: int | None
    max_ns: int | None
    errors: int


class Continued(EarlierRun, frozen=True, kw_only=True):
    """An earlier run, and what it left on the drive: all that its drive cycle ``cycle`` wrote.

    ``written_at`` is when the first of it was written, ISO 8601; ``written_ns`` the same on the clock of a
    simulated drive, which continues. ``compares``: reads of it can be compared. ``rest_ns`` is how long a
    simulated drive is left alone first; for one that exists, time passes by itself. ``reads`` are all
    reads of it so far, and those of what was written before. ``wear`` is per cent of the rated life used by
    cycles done, over the earlier run and all that it continued.
    """

    cycle: int
    written_at: str
    written_ns: int
    written_c: float | None
    compares: bool
    rest_ns: int
    reads: tuple[ReadBack, ...]
    wear: tuple[tuple[float, float], ...] = ()


class LifetimeConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="lifetime"):
    """Drive cycles: the whole active range written once in sequence, then read once.

    It ends after ``drive_cycles``, or sooner: with the first I/O that fails and counts for ``stop_on``, when
    the drive takes no more writes or, if any error ends it, counts a media error, when it has used
    ``wear_limit_pct`` of its rated life, after ``write_limit_bytes`` (None: no limit), or after
    ``longest_ns``. ``verify``: what is read must be what this cycle wrote, if that is random data; no other
    differs from what an earlier cycle wrote.
    ``continues``: cycles are numbered on from an earlier run, whose data is read first.
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
    stop_on: Annotated[
        StopOn,
        Field(
            "Ends at",
            "End at the first I/O that fails, or count read errors and end at the first failed write.",
            one_of(StopOn.FAILED_WRITE, StopOn.FIRST_ERROR),
        ),
    ] = StopOn.FIRST_ERROR
    longest_ns: Annotated[
        int, usual.LONGEST.but(help="End with the cycle in which this much time has passed.")
    ]
    verify: Annotated[
        bool,
        Field("Reads compared with what was written", "Compare all data read with what was written.", SWITCH),
    ] = True
    continues: Annotated[
        Continued | None,
        Field("Continues", free="what it follows", text=lambda after: after.run if after else "no run"),
    ] = None

    def step_counts(self) -> StepCounts:
        """A write and a read of each cycle."""
        yield ("cycles",), 2 * self.drive_cycles

    @property
    def compares(self) -> bool:
        """Whether what is read is compared with what was written."""
        return self.verify and self.data == RandomData()

    @property
    def first_cycle(self) -> int:
        """The number of its first drive cycle."""
        return 1 if self.continues is None else self.continues.cycle + 1

    @property
    def earlier_run(self) -> EarlierRun | None:
        """See Conditions."""
        return self.continues

    @property
    def goes_on_over_read_errors(self) -> bool:
        """See Conditions."""
        return self.stop_on is StopOn.FAILED_WRITE


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=LifetimeConditions,
    title="Lifetime",
    short_title="Lifetime",
    question="How do speed, errors, spare and wear change while a drive is used up?",
    purpose="""Speed, errors and wear over drive cycles: the whole range written, then read and compared.

    USES THE DRIVE UP: each cycle takes one of the few hundred to few thousand that its flash has. It ends
    after 5 cycles unless --cycles asks for more, after 100 % of the rated life, after a week, or with the
    first error.
    """,
    quick={"cycles": 2},
    resumes=True,
)
