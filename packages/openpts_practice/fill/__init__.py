"""Fill Curve: practice beyond the PTS."""

from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import SECONDS, SECONDS_OR_NONE, Field, listed, percent
from openpts.procedures.kit.procedure import Procedure
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Phase


class IdleTime(Struct, frozen=True):
    """How long the drive is left alone before it is written to again."""

    idle_ns: int

    def __str__(self) -> str:
        minutes, rest_ns = divmod(self.idle_ns, 60 * NS_PER_S)
        return f"{minutes} min" if minutes and not rest_ns else f"{self.idle_ns / NS_PER_S:g} s"


_IDLE_TIME: Final = replace(
    SECONDS_OR_NONE,
    read=lambda name, value: IdleTime(SECONDS_OR_NONE.read(name, value)),
    show=lambda time: SECONDS_OR_NONE.show(time.idle_ns),
)
_LEVELS: Final = listed(percent(ge=0, le=100))


class FillConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="fill"):
    """The active range filled once in sequence, writes after idle times, and bursts by fill level.

    A step of the fill has ``step_pct`` of the active range. ``rewrite_pct`` of it is written again after each
    of ``idle_times``. On the purged drive again, random writes of ``burst_ns`` come at each of ``levels_pct``
    of the active range, in what is filled.
    """

    parameters = ("tc", "qd", "sequential_tc", "sequential_qd", ...)

    sequential_block_size_bytes: Annotated[
        int, usual.SEQUENTIAL_BLOCK_SIZE.but(help="Block size of the fill.")
    ]
    sequential_tc: Annotated[int, usual.SEQUENTIAL_TC.but(help="Thread count of the fill.")]
    sequential_qd: Annotated[int, usual.SEQUENTIAL_QD.but(help="Queue depth of the fill.")]
    random_block_size_bytes: Annotated[int, usual.RANDOM_BLOCK_SIZE.but(help="Block size of the bursts.")]
    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    step_pct: Annotated[
        float,
        Field(
            "Step of the fill (% of active range)",
            "Per cent of the range in a step of the fill.",
            percent(ge=0.5, le=50),
        ),
    ]
    idle_times: Annotated[
        tuple[IdleTime, ...],
        Field(
            "Idle times between rewrites",
            "Idle times, in their order; each is followed by writes. 0 is none.",
            listed(_IDLE_TIME),
        ),
    ]
    rewrite_pct: Annotated[
        float,
        Field(
            "Written again after each idle time (% of active range)",
            "Per cent of the range written again after each idle time.",
            percent(gt=0, le=100),
        ),
    ]
    levels_pct: Annotated[
        tuple[float, ...],
        Field(
            "Fill levels of the bursts (% of active range)",
            "Fill levels at which bursts come, as per cent of the range; in rising order.",
            replace(_LEVELS, read=lambda name, values: tuple(sorted(_LEVELS.read(name, values)))),
        ),
    ]
    burst_ns: Annotated[int, Field("Length of a burst", "Length of each burst.", SECONDS)]


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=FillConditions,
    title="Fill Curve",
    short_title="Fill",
    question="When does the drive's cache end, what does idle time give back, and what does a fill "
    "level do to random writes?",
    purpose="""How fast a drive takes data while it fills up, and what idle time gives back of its cache.

    At full length: the user capacity written once. Then 5 % of it after 0 s, 30 s, 5 minutes and
    30 minutes of idle time. On the purged drive the user capacity once more, with bursts of 30 seconds
    of random writes at five fill levels.
    """,
    quick={"time_scale": "1/60", "step_pct": 4},
    log_around=frozenset({Phase.REST, Phase.BURST}),
)
