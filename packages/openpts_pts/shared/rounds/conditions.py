"""What the conditions of IOPS, throughput and latency share (PTS 7, 8, 9)."""

from collections.abc import Collection
from typing import Annotated, Any, ClassVar, Final

from msgspec.structs import replace

from openpts.fields import readers, usual
from openpts.fields.conditions import Conditions, Contradictions, Listed, StepCounts
from openpts.fields.field import ELEMENT, SECONDS, SIZE, SWITCH, WHOLE_PERCENT, Field, listed
from openpts.units import NS_PER_S
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import SteadyState, TrackingVariable
from openpts.vocabulary.workload import condition_text


def _sizes_text(sizes: tuple[int, ...]) -> str:
    texts = (condition_text("block_size_bytes", size_bytes).removesuffix(" KiB") for size_bytes in sizes)
    return f"{', '.join(texts)} KiB"


def _with_round_seconds(_name: str, seconds: float, conditions: Any) -> Any:
    return replace(conditions, minute_ns=readers.seconds_ns("", seconds / conditions.elements_per_round))


def _with_tracking(name: str, texts: list[str], conditions: Any) -> Any:
    """Tracking variables; their figure is that on which the test is judged anyway."""
    figure = conditions.tracking[0].figure
    points = readers.without_repeats(name, tuple(readers.point_of(name, text) for text in texts))
    variables = tuple(
        TrackingVariable(point.access_pattern, point.block_size_bytes, point.read_pct, figure)
        for point in points
    )
    return replace(conditions, tracking=variables)


ROUND_SECONDS: Final = Field(
    "",
    "Length of one round, shared out to its elements.",
    SECONDS,
    name="round_seconds",
    field="minute_ns",
    change=_with_round_seconds,
    show=lambda conditions: readers.seconds_text(conditions.minute_ns * conditions.elements_per_round),
)


def _with_short_form(_name: str, short: bool, conditions: Any) -> Any:
    if not short:
        return replace(conditions, within_pct=None)
    return replace(
        conditions,
        within_pct=conditions.within_pct or usual.WITHIN_PCT,
        minute_ns=conditions.minute_ns // SHORTER,
    )


def _with_within(_name: str, within_pct: float, conditions: Any) -> Any:
    short = conditions if conditions.within_pct else _with_short_form("", short=True, conditions=conditions)
    return replace(short, within_pct=within_pct)


SHORTER: Final = 12
"""Elements of the short form are so many times as short at first: 5 s."""
SHORT: Final = Field(
    "",
    "Short form: one pass leaves the state of long writing, elements take 5 s or more. Rounds continue "
    "until each tracked figure is known within 5 per cent. At full length where the drive doesn't behave as "
    "assumed. Untried on hardware.",
    SWITCH,
    name="short",
    field="within_pct",
    change=_with_short_form,
    show=lambda conditions: "yes" if conditions.within_pct else "",
)


class RoundConditions(Conditions, frozen=True, kw_only=True):
    """A test of rounds over R/W mixes and block sizes: IOPS, throughput, latency (PTS 7, 8, 9).

    Sizes in bytes, mixes as per cent of reads, in the order of the loops. ``skipped_block_sizes_bytes`` are
    those that the device's sector size makes impossible. ``precondition_passes`` counts in user capacities
    written; ``precondition_tc`` and ``precondition_qd`` None are those of the test. With ``within_pct`` the
    test has its short form.
    """

    steady_state: ClassVar[SteadyState] = SteadyState.ROUNDS
    parameters: ClassVar[Listed] = (
        "tc",
        "qd",
        "precondition_passes",
        "precondition_tc",
        "precondition_qd",
        "read_pcts",
        "block_sizes_bytes",
        "max_rounds",
        SHORT,
        "within_pct",
        "known_flash",
        "only_short",
        ROUND_SECONDS,
    )

    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    precondition_block_size_bytes: Annotated[int, usual.PRECONDITION_BLOCK_SIZE]
    precondition_passes: Annotated[
        float, usual.PRECONDITION_PASSES.but(help="Times the user capacity written before the rounds.")
    ]
    precondition_tc: Annotated[
        int | None, usual.PRECONDITION_TC.but(help="Thread count of preconditioning; that of the test.")
    ] = None
    precondition_qd: Annotated[
        int | None, usual.PRECONDITION_QD.but(help="Queue depth of preconditioning; that of the test.")
    ] = None
    read_pcts: Annotated[
        tuple[int, ...],
        Field(
            "Read shares (%), outer loop",
            "R/W mixes of a round as per cent of reads, in the order of the loop.",
            listed(WHOLE_PERCENT),
            text="{} % reads",
        ),
    ]
    block_sizes_bytes: Annotated[
        tuple[int, ...],
        Field(
            "Block sizes, inner loop",
            "Block sizes of a round, in the order of the loop: 4KiB,64KiB.",
            listed(SIZE),
            examples=(["1MiB", "4KiB"],),
            text=_sizes_text,
        ),
    ]
    skipped_block_sizes_bytes: Annotated[tuple[int, ...], usual.SKIPPED_BLOCK_SIZES] = ()
    max_rounds: Annotated[int, usual.MAX_ROUNDS]
    within_pct: Annotated[float | None, usual.WITHIN.but(change=_with_within)] = None
    known_flash: Annotated[float | None, usual.KNOWN_FLASH] = None
    only_short: Annotated[bool | None, usual.ONLY_SHORT] = None
    tracking: Annotated[
        tuple[TrackingVariable, ...],
        Field(
            "Tracking variables",
            "Elements on which steady state is judged: RND 4KiB RW0,RND 64KiB RW65.",
            listed(ELEMENT),
            examples=(["RND 4KiB RW0"],),
            change=_with_tracking,
            show=lambda conditions: ",".join(str(variable) for variable in conditions.tracking),
        ),
    ]

    @property
    def full_minute_ns(self) -> int:
        """Length of an element where the short form continues at full length."""
        return round(60 * NS_PER_S * self.time_scale)

    @property
    def most_verdicts(self) -> int:
        """Each of them in every round."""
        return len(self.tracking)

    @property
    def elements_per_round(self) -> int:
        """How many elements a round has."""
        return len(self.read_pcts) * len(self.block_sizes_bytes)

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """What steady state is judged on has to be measured."""
        yield from usual.only_in_the_short_form(given, self.within_pct)
        for variable in self.tracking:
            is_element = variable.access_pattern is AccessPattern.RANDOM and (
                variable.block_size_bytes in self.block_sizes_bytes and variable.read_pct in self.read_pcts
            )
            if not is_element:
                yield (
                    ("tracking", "block_sizes", "read_pcts"),
                    f"steady state is judged on {variable}, which is not an element of a round: "
                    "name others with tracking",
                )

    def step_counts(self) -> StepCounts:
        """Each element of each round is a step."""
        elements = len(self.block_sizes_bytes) * len(self.read_pcts)
        yield ("max_rounds", "block_sizes", "read_pcts"), self.max_rounds * elements

    @property
    def demand(self) -> tuple[int, int]:
        """TC and QD."""
        return self.tc, self.qd


QUICK: Final = {"time_scale": "1/150", "max_rounds": 7, "precondition_passes": 1}
"""Elements of 0.4 s. A queue of 32 on a slow drive is answered in a tenth of that."""
