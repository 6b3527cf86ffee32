"""Throughput: PTS section 8."""

from collections.abc import Collection
from typing import Annotated, Any, ClassVar, Final

from msgspec.structs import replace

from openpts.fields.conditions import Contradictions
from openpts.fields.field import SIZE, SWITCH, Field, fields_of, listed
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable
from openpts_pts.shared.rounds.conditions import QUICK, RoundConditions

_SIZES = listed(SIZE)


def _with_sizes(name: str, texts: list[str], conditions: Any) -> Any:
    """In the cycle of each size, steady state is judged on its own writes (PTS 8.3.5)."""
    figure = conditions.tracking[0].figure
    sizes = _SIZES.read(name, texts)
    tracking = tuple(TrackingVariable(AccessPattern.SEQUENTIAL, size, 0, figure) for size in sizes)
    return replace(conditions, block_sizes_bytes=sizes, tracking=tracking)


class ThroughputConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="tp"):
    """Throughput test (PTS 8.2): one cycle from purge to steady state for each of ``block_sizes_bytes``.

    ``precondition_block_size_bytes`` counts for nothing: each cycle preconditions with its own size, or in
    the short form, ``preconditions_once``, the first one for all.
    """

    unused: ClassVar[frozenset[str]] = frozenset({"within_pct", "known_flash", "only_short"})

    within_pct: Annotated[
        float | None,
        fields_of(RoundConditions)["within_pct"].but(
            label="", help="", free="rounds end as at full length: the short form is that of preconditioning"
        ),
    ] = None
    known_flash: Annotated[float | None, fields_of(RoundConditions)["known_flash"].but(help="")] = None
    only_short: Annotated[bool | None, fields_of(RoundConditions)["only_short"].but(help="")] = None
    block_sizes_bytes: Annotated[
        tuple[int, ...],
        fields_of(RoundConditions)["block_sizes_bytes"].but(
            help="Block sizes, one test after the other, each from the purge on: 128KiB,1MiB.",
            examples=(["128KiB", "1MiB"],),
            change=_with_sizes,
        ),
    ]
    precondition_block_size_bytes: Annotated[
        int,
        fields_of(RoundConditions)["precondition_block_size_bytes"].but(
            help="", free="8.2 (2.2) preconditions with the size under test"
        ),
    ]

    preconditions_once: Annotated[
        bool,
        Field(
            "Preconditioning of all block sizes",
            "Short form: one purge and one preconditioning for all block sizes. Elements take a minute as at "
            "full length: shorter ones miss stalls of collection. Untried on hardware.",
            SWITCH,
            name="short",
            text=lambda once: "once for all" if once else "for each, from its purge on",
        ),
    ] = False

    @property
    def elements_per_round(self) -> int:
        """A round has one block size."""
        return len(self.read_pcts)

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """What steady state is judged on has to be measured."""
        del given
        if 0 not in self.read_pcts:
            yield ("read_pcts",), "steady state is judged on writes, so the mixes must include 0"


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ThroughputConditions,
    title="Throughput",
    short_title="TP",
    question="How fast are sequential reads and writes?",
    section=8,
    purpose="""Throughput of sequential reads and writes of 128 KiB and of 1024 KiB, in steady state.

    At full length, for each of the two sizes: a purge, the user capacity written twice. Rounds of
    2 minutes follow until performance is steady, 5 at least (10 min) and 25 at most (50 min).
    """,
    quick=QUICK,
    at_rated_demand=True,
    trends={9: "tp-1024-write-plot", 10: "tp-128-write-plot"},
    phase_line="openpts_pts.shared.round_lines:round_line",
)
