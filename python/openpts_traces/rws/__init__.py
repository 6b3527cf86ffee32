"""The workload of a real system, from a capture of it: practice beyond the PTS."""

import math
from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal

from openpts.fields import usual
from openpts.fields.conditions import Contradictions, ExtendedConditions, StepCounts
from openpts.fields.field import Field, Kind
from openpts.fields.kinds import DEPTH, SECONDS_OR_NONE, SWITCH, listed
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.verdict import SteadyState
from openpts_traces.captured.conditions import CAPTURE, NO_CAPTURE, capture_text
from openpts_traces.characteristics.capture import Capture, CaptureStep

_LEAST_STEP_NS: Final = 10**9


class RwsPart(StrEnum):
    """A part of the test."""

    INDIVIDUAL = "individual"
    MULTI = "multi"
    REPLAY_NATIVE = "replay-native"


PART_TITLES: Final = {
    RwsPart.INDIVIDUAL: "Individual Streams-WSAT",
    RwsPart.MULTI: "Multi-WSAT",
    RwsPart.REPLAY_NATIVE: "Replay-Native",
}


class RwsConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="rws"):
    """Streams of ``captured`` alone, all at once, and its steps in order; each of ``parts`` from a purge on.

    ``outstanding`` I/Os are kept, without it as many as the capture had on average over time. A step of
    replay-native lasts as long as it did in the capture times ``time_scale``, and no less than a second; a
    step without I/O no longer than ``max_idle_ns``. With ``isolate`` there is a purge before each single
    stream.
    """

    steady_state: ClassVar[SteadyState] = SteadyState.MINUTES
    unscaled: ClassVar[tuple[str, ...]] = ("captured", "max_idle_ns")
    unused: ClassVar[frozenset[str]] = frozenset({"segments"})

    captured: Annotated[Capture | None, CAPTURE] = None
    parts: Annotated[
        tuple[RwsPart, ...],
        Field(
            "Parts",
            "Parts of the test, in this order.",
            listed(
                Kind(
                    Literal["individual", "multi", "replay-native"],
                    lambda _name, word: RwsPart(word),
                    metavar="PART",
                )
            ),
            examples=(["multi"],),
            text=lambda parts: f"parts: {', '.join(parts)}",
        ),
    ]
    outstanding: Annotated[
        int | None,
        Field(
            "Outstanding I/Os",
            "Keep this many I/Os outstanding; without it, as many as the capture had on average.",
            DEPTH,
            text=lambda value: "outstanding I/Os of the capture" if value is None else f"{value} outstanding",
        ),
    ] = None
    pacing: Annotated[
        Literal["depth", "rate"],
        Field(
            "Pacing of replay-native",
            "Replay steps at the capture's queue depth, or at its rates.",
            Kind(Literal["depth", "rate"], metavar=None),
        ),
    ]
    max_idle_ns: Annotated[
        int | None,
        Field(
            "Idle step, at most",
            "Cut steps without I/O to this time.",
            SECONDS_OR_NONE,
            text=lambda value: "idle steps as long as in the capture" if value is None else "idle steps cut",
        ),
    ] = None
    isolate: Annotated[
        bool,
        Field("Purge before each stream", "Purge and write the capacity before each single stream.", SWITCH),
    ] = False
    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(help="Times the user capacity written in sequence before each part."),
    ]
    precondition_block_size_bytes: Annotated[int, usual.PRECONDITION_BLOCK_SIZE]
    precondition_tc: Annotated[int, usual.PRECONDITION_TC.but(help="Thread count of preconditioning.")]
    precondition_qd: Annotated[int, usual.PRECONDITION_QD.but(help="Queue depth of preconditioning.")]
    tracking_period_ns: Annotated[int, usual.TRACKING_PERIOD]
    max_rounds: Annotated[int, usual.MAX_ROUNDS]
    sector_bytes: Annotated[int, Field("", free="the device's own")] = 512

    @property
    def compares_by(self) -> str:
        """Results compare only with those of the same capture, whatever its file was called."""
        return capture_text(self.captured)

    @property
    def lacking(self) -> str:
        """A capture has to be named, and a depth where it has none."""
        if self.captured is None:
            return NO_CAPTURE
        if self.captured.depth is None and self.outstanding is None:
            return "the capture has no completions, so that its queue depth is unknown: use --outstanding"
        return ""

    @property
    def toio(self) -> int:
        """Outstanding I/Os of the streams of the whole capture."""
        return self._outstanding(None if self.captured is None else self.captured.depth)

    def toio_of(self, step: CaptureStep) -> int:
        """Outstanding I/Os of a step of replay-native."""
        return self._outstanding(step.depth)

    def _outstanding(self, depth: float | None) -> int:
        """A mean depth rounded half up, at least 1."""
        if self.outstanding is not None:
            return self.outstanding
        return max(1, math.floor((depth or 0) + 0.5))

    def step_ns(self, step: CaptureStep) -> int:
        """How long a step of replay-native lasts."""
        length_ns = max(_LEAST_STEP_NS, round(step.length_ns * self.time_scale))
        if not step.streams and self.max_idle_ns is not None:
            return min(length_ns, self.max_idle_ns)
        return length_ns

    def cycles(self) -> Iterator[tuple[RwsPart, tuple[int, ...]]]:
        """What is done from each purge to the next: the part, and the numbers of its single streams."""
        numbers = tuple(range(len(self.captured.streams))) if self.captured else ()
        for part in self.parts:
            if part is RwsPart.INDIVIDUAL:
                yield from ((part, (n,)) for n in numbers) if self.isolate else ((part, numbers),)
            else:
                yield part, ()

    def part_name(self, place: StepPlace) -> str | None:
        """The stream, or the part."""
        part, numbers = self._of_cycle(place.cycle)
        if place.phase is Phase.SATURATION and numbers and self.captured:
            return f"{self.captured.streams[(place.number - 1) // self.max_rounds].name} alone"
        if place.phase in {Phase.SATURATION, Phase.ROUND}:
            return PART_TITLES[part]
        return super().part_name(place)

    def round_word(self, cycle: int, phase: Phase | None = None) -> str:
        """The steps of a capture are replayed in passes."""
        return (
            "pass" if self._of_cycle(cycle)[0] is RwsPart.REPLAY_NATIVE else super().round_word(cycle, phase)
        )

    def _of_cycle(self, cycle: int) -> tuple[RwsPart, tuple[int, ...]]:
        return next(one for number, one in enumerate(self.cycles(), 1) if number == cycle)

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """Parts that are not there have no settings."""
        if len(set(self.parts)) < len(self.parts):
            yield ("parts",), "a part is named twice"
        for name, part in (("isolate", RwsPart.INDIVIDUAL), ("pacing", RwsPart.REPLAY_NATIVE)):
            if name in given and part not in self.parts:
                yield (name, "parts"), f"does nothing without {part}"

    def step_counts(self) -> StepCounts:
        """Steps of a pass."""
        if RwsPart.REPLAY_NATIVE in self.parts and self.captured is not None:
            yield ("max_rounds",), self.max_rounds * len(self.captured.steps)


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=RwsConditions,
    title="Real-World Workload of a Capture",
    short_title="RWS",
    question="What does a drive do with the workload of a system that I captured?",
    purpose="""The workload of a captured system: its streams alone, all at once, and its steps in order.

    CAPTURE is a step table, or a trace of which steps are made. After the RWSW PTS, reading of openpts. At
    full length each part begins with a purge and the user capacity written twice, and goes on until it is
    steady.
    """,
    quick={
        "time_scale": "1/60",
        "precondition_passes": 1,
        "step_seconds": 1,
        "tracking_seconds": 2,
        "max_rounds": 7,
    },
)
