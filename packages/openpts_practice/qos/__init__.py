"""Response Times under Load: practice beyond the PTS."""

import re
from collections.abc import Collection
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal

from msgspec import Struct

from openpts.fields import usual
from openpts.fields.conditions import Contradictions, ExtendedConditions, StepCounts
from openpts.fields.field import SECONDS, WHOLE_PERCENT, Field, ValueType, count, listed, percent
from openpts.fields.parsing import refuse
from openpts.procedures.kit.procedure import Procedure
from openpts.units import NS_PER_MS, NS_PER_S, NS_PER_US, format_latency_ms
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.stimulus import FixedRate, Pacing, Poisson
from openpts.vocabulary.verdict import SteadyState

_LIMIT: Final = re.compile(
    r"(?:(read|write)-)?p([0-9]{1,2}(?:\.[0-9]{1,7})?)=([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s)"
)
_NS: Final = {"us": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}


class Operation(StrEnum):
    """Whose response times."""

    READ = "read"
    WRITE = "write"

    @property
    def plural(self) -> str:
        """``reads``."""
        return f"{self}s"


class Limit(Struct, frozen=True):
    """A percentile of the response times of reads or writes, and what it may be at the most."""

    operation: Operation
    percentile: float
    latency_ns: int

    @property
    def figure(self) -> str:
        """``p99 of reads``."""
        return f"p{self.percentile:.12g} of {self.operation.plural}"

    def __str__(self) -> str:
        return f"{self.figure} <= {format_latency_ms(self.latency_ns)} ms"


def _limit(name: str, text: str) -> Limit:
    match = _LIMIT.fullmatch(text.strip())
    if match is None:
        refuse(name, text, "write it as p99=1ms, read-p99.9=500us or write-p99=2ms")
    limit = Limit(Operation(match[1] or "read"), float(match[2]), round(float(match[3]) * _NS[match[4]]))
    if not limit.percentile or not limit.latency_ns:
        refuse(name, text, "percentile and response time are more than 0")
    return limit


def _limit_text(limit: Limit) -> str:
    of = "" if limit.operation is Operation.READ else f"{limit.operation}-"
    return f"{of}p{limit.percentile:.12g}={limit.latency_ns / NS_PER_MS:.12g}ms"


def mix_text(read_pct: int) -> str:
    """Reads/writes in per cent of the I/Os: ``70/30``."""
    return f"{read_pct}/{100 - read_pct}"


_LOAD: Final = percent(gt=0, le=200)


class QosConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="qos"):
    """Reads and writes that arrive at rates of their own, in shares of what a closed loop reaches.

    ``loads_pct`` are those shares: of the read peak and of the write peak in the map, of the peak of a mix
    for its curve. Each pair of the map and each load lasts ``minute_ns``, or longer where the percentiles of
    ``limits`` need more I/Os, up to ``longest_ns``, behind ``settle_ns`` that count for nothing. A load is
    carried where no more than ``late_pct`` of its I/Os are left undone. For each of ``mixes_read_pct`` and of
    ``limits`` the highest load that keeps the limit is searched, until it is known to ``width_pct`` and both
    ends were measured ``repeats`` times. Before, ``precondition_passes`` user capacities are written in
    sequence, and random writes continue until they are steady, ``max_rounds`` tracking rounds at the most.
    """

    steady_state = SteadyState.MINUTES
    unscaled: ClassVar[tuple[str, ...]] = ("limits",)
    parameters = ("segments", "limits", "mixes_read_pct", "loads_pct", "arrivals", "tc", "qd", ...)

    limits: Annotated[
        tuple[Limit, ...],
        Field(
            "Limits",
            "Limits of response times, such as p99=1ms,p99.9=5ms, of writes write-p99=2ms.",
            listed(ValueType(str, _limit, _limit_text, "LIMIT")),
            examples=(["p99=1ms", "write-p99.9=5ms"],),
            text=lambda limits: ", ".join(map(str, limits)),
        ),
    ]
    mixes_read_pct: Annotated[
        tuple[int, ...],
        Field(
            "Mixes (R/W %)",
            "Search the highest load of these mixes, given by their per cent of reads.",
            listed(WHOLE_PERCENT),
            text=lambda read_pcts: f"mixes {', '.join(map(mix_text, read_pcts))}",
        ),
    ]
    loads_pct: Annotated[
        tuple[float, ...],
        Field(
            "Loads (% of the peak)",
            "Loads of the map and of the curves, in per cent of what the drive does in a closed loop.",
            listed(_LOAD, least=2, most=20),
        ),
    ]
    arrivals: Annotated[
        Literal["poisson", "fixed"],
        Field(
            "Arrivals",
            "Let I/Os arrive at random as a Poisson process, or at equal distances.",
            ValueType(Literal["poisson", "fixed"], metavar=None),
        ),
    ]
    tc: Annotated[int, usual.TC.but(help="Thread count, of reads and of writes each.")]
    qd: Annotated[int, usual.QD]
    block_size_bytes: Annotated[int, usual.RANDOM_BLOCK_SIZE.but(label="Block size", help="Block size.")]
    width_pct: Annotated[
        float,
        Field(
            "Highest load known to (%)",
            "Search until the highest load is known to this share of it, in per cent.",
            percent(gt=0, le=50),
        ),
    ]
    repeats: Annotated[
        int,
        Field(
            "Measurements at both ends",
            "Measure the last load that keeps a limit, and the first that breaks it, this many times.",
            count(1, 100),
            amount=True,
        ),
    ]
    late_pct: Annotated[
        float,
        Field(
            "Load carried: I/Os not done, at most (%)",
            "A load is carried if no more than this share of its I/Os is not done, in per cent.",
            percent(gt=0, le=50),
            rare=True,
        ),
    ]
    settle_ns: Annotated[
        int,
        Field(
            "Time before each measurement",
            "Apply each load for this time before it is measured.",
            SECONDS,
            rare=True,
        ),
    ]
    longest_ns: Annotated[
        int,
        Field(
            "Measurement of a load, at most",
            "Measure a load with few I/Os longer, but no longer than this.",
            SECONDS,
            rare=True,
        ),
    ]
    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(
            help="Times the user capacity written in sequence before random writes."
        ),
    ]
    tracking_period_ns: Annotated[int, usual.TRACKING_PERIOD]
    max_rounds: Annotated[
        int,
        usual.MAX_ROUNDS.but(help="End random writes that are not steady after this many tracked minutes."),
    ]

    def pacing(self, ios_per_s: float) -> Pacing:
        """Arrivals at a mean rate."""
        return Poisson(ios_per_s) if self.arrivals == "poisson" else FixedRate(ios_per_s)

    def limits_of(self, read_pct: int) -> tuple[Limit, ...]:
        """The limits that say something of a mix: none of reads where nothing is read."""
        shares = {Operation.READ: read_pct, Operation.WRITE: 100 - read_pct}
        return tuple(limit for limit in self.limits if shares[limit.operation])

    def part_name(self, place: StepPlace) -> str | None:
        """Peaks, the map, and the search of each mix."""
        match place.phase:
            case Phase.PROFILE:
                return "Peaks"
            case Phase.SWEEP:
                return "Map"
            case Phase.LOAD:
                return f"Loads of {mix_text(self.mixes_read_pct[place.number - 1])}"
            case _:
                return super().part_name(place)

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """A search needs a mix that the limit says something of."""
        del given
        for limit in self.limits:
            if not any(limit in self.limits_of(read_pct) for read_pct in self.mixes_read_pct):
                yield (
                    ("limits", "mixes_read_pct"),
                    f"no mix has {limit.operation.plural}: {limit} can't be searched",
                )
        if self.longest_ns < self.minute_ns:
            yield ("longest_seconds", "step_seconds"), "the longest measurement is shorter than a step"

    def step_counts(self) -> StepCounts:
        """Pairs of the map."""
        yield ("loads_pct",), len(self.loads_pct) ** 2


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=QosConditions,
    title="Response Times under Load",
    short_title="QoS",
    question="How much load does the drive take before response times rise, and what do writes cost its "
    "reads?",
    trends={18: "qos-curve-100-read"},
    purpose="""Response times while reads and writes arrive at given rates; the highest load within limits.

    At full length: a purge, the user capacity written twice, random writes until single minutes are steady.
    The peaks of reads, writes and mixes. A minute at each of 6 x 6 pairs of a read rate and a write rate, 10
    to 100 % of each peak. For each mix and each limit a search for the highest load. This takes an hour and a
    half after the preparation.
    """,
    quick={
        "limits": ["p99=1ms"],
        "step_seconds": 0.5,
        "settle_seconds": 0.1,
        "longest_seconds": 5,
        "tracking_seconds": 2,
        "max_rounds": 5,
        "precondition_passes": 1,
        "loads_pct": [25, 50, 75, 100],
        "width_pct": 5,
        "repeats": 1,
    },
)
