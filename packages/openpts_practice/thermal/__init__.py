"""Thermal Throttling: practice beyond the PTS."""

from typing import Annotated, Final

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions, StepCounts
from openpts.fields.field import SECONDS, Field, ValueType, count, number
from openpts.procedures.kit.procedure import Procedure

COLD, WARM, DUTY_CYCLE = 1, 2, 3
"""Numbers of the loads; the rest before each has the same."""

_TEMPERATURE: Final = number(ge=-60, le=150)
_WORDS: Final = ValueType(str, metavar="TEXT", limits={"max_length": 200})


class ThermalConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="thermal"):
    """Long sequential writes on a cool drive, on a warm one, and at a duty cycle, with idle time between.

    ``precondition_passes`` counts in user capacities, written before anything is measured. The drive idles
    before the cold run until it is at ``cool_c``, or where that is None until it cools no more, but for
    ``longest_cooling_ns`` at the most; its log is read each ``look_ns``. Each of the two runs lasts
    ``load_ns``, or less where the drive throttles and its speed was stable for ``stable_minutes``; it idles
    for ``rest_ns`` before the warm run and again before the duty cycle: ``busy_ns`` of writes and ``idle_ns``
    without I/O in turns for ``duty_ns``. ``ambient_c`` and ``airflow`` are what the operator states.
    """

    block_size_bytes: Annotated[int, usual.BLOCK_SIZE]
    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(
            help="Times the user capacity written before the first rest, so that a full cache isn't taken "
            "for heat."
        ),
    ]
    cool_c: Annotated[
        float | None,
        Field(
            "Cold run begins at (°C)",
            "Begin the cold run at this temperature of the drive; otherwise when it stops cooling.",
            _TEMPERATURE,
        ),
    ] = None
    longest_cooling_ns: Annotated[
        int,
        Field(
            "Idle before the cold run, at most",
            "Idle at most this long to cool the drive.",
            SECONDS,
            rare=True,
        ),
    ]
    look_ns: Annotated[
        int,
        Field(
            "From one look at the idle drive to the next",
            "Read the log of the idle drive at this interval.",
            SECONDS,
            rare=True,
        ),
    ]
    load_ns: Annotated[
        int,
        Field(
            "Cold run and warm run, at most", "Longest time of the cold run, and of the warm run.", SECONDS
        ),
    ]
    stable_minutes: Annotated[
        int,
        Field(
            "A throttled run ends when stable for (min)",
            "End a run sooner when the drive throttles and its speed was stable for this many minutes.",
            count(2, 10_000),
            rare=True,
        ),
    ]
    rest_ns: Annotated[
        int,
        Field(
            "Idle before the warm run and the duty cycle",
            "Idle time before the warm run, and before the duty cycle.",
            SECONDS,
            rare=True,
        ),
    ]
    busy_ns: Annotated[
        int,
        Field(
            "Writes of the duty cycle",
            "Writes of the duty cycle from one idle time to the next.",
            SECONDS,
            rare=True,
        ),
    ]
    idle_ns: Annotated[
        int,
        Field(
            "Idle time of the duty cycle",
            "Idle time of the duty cycle after each of its writes.",
            SECONDS,
            rare=True,
        ),
    ]
    duty_ns: Annotated[
        int,
        Field(
            "Length of the duty cycle",
            "Length of the duty cycle, busy and idle together.",
            SECONDS,
            rare=True,
        ),
    ]
    ambient_c: Annotated[
        float | None,
        Field(
            "Air around the drive, as stated (°C)",
            "Temperature of the air around the drive, as you measured it, for the report.",
            _TEMPERATURE,
            free="what the operator has seen",
        ),
    ] = None
    airflow: Annotated[
        str | None,
        Field(
            "Cooling, as stated",
            "How the drive is cooled, in words, for the report.",
            _WORDS,
            examples=("heat sink, fan at 1 m/s",),
            free="what the operator has seen",
        ),
    ] = None

    def step_counts(self) -> StepCounts:
        """Looks at the idle drive, minutes of the runs, and turns of the duty cycle."""
        yield ("look_seconds", "longest_cooling_seconds"), -(-self.longest_cooling_ns // self.look_ns)
        yield ("look_seconds", "rest_seconds"), 2 * -(-self.rest_ns // self.look_ns)
        yield ("step_seconds", "load_seconds"), 2 * -(-self.load_ns // self.minute_ns)
        cycle_ns = self.busy_ns + self.idle_ns
        yield ("busy_seconds", "idle_seconds", "duty_seconds"), 2 * round(self.duty_ns / cycle_ns)


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ThermalConditions,
    title="Thermal Throttling",
    short_title="Thermal",
    question="Does the drive get so hot under long writes that it slows down, after how long, and by "
    "how much?",
    purpose="""Whether a drive gets so hot under long writes that it slows down, when and by how much.

    At full length: the user capacity written once, and up to 30 minutes of idle time until the drive is cool.
    30 minutes of sequential writes, 5 minutes idle, 30 minutes of writes on the warm drive, 5 minutes idle.
    Then 30 minutes of 1 minute of writes and 2 minutes idle in turns. State air and cooling with --ambient-c
    and --airflow: without them results can't be compared.
    """,
    quick={"time_scale": "1/60", "precondition_passes": 0, "look_seconds": 5},
)
