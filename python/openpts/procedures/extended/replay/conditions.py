"""The conditions of the replay of a trace."""

from collections.abc import Collection
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal

from openpts.errors import UsageError
from openpts.fields import usual
from openpts.fields.conditions import Contradictions, ExtendedConditions
from openpts.fields.field import Field, Kind
from openpts.fields.kinds import DEPTH, SECONDS, SIZE, SWITCH, count
from openpts.procedures.shared.trace_replay.conditions import (
    MAPPING,
    Mapping,
    Prefill,
    TraceFile,
    Trims,
    beside,
    trace_of,
)
from openpts.vocabulary.condition_text import duration_text
from openpts.vocabulary.replay import Conflicts, ReplayMode

_SLOWEST, _FASTEST = Fraction(1, 100), Fraction(1000)
_MOST_PART: Final = 2**32 - 1


def _read_speed(name: str, value: float | str) -> str:
    try:
        speed = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        speed = Fraction(0)
    if not _SLOWEST <= speed <= _FASTEST or max(speed.numerator, speed.denominator) > _MOST_PART:
        raise UsageError(f"invalid {name} {value!r}: use a ratio from 0.01 to 1000, such as 2 or 1/2")
    return str(speed)


def _idle_text(longest_ns: int | None) -> str:
    return "idle times as traced" if longest_ns is None else f"idle times cut to {duration_text(longest_ns)}"


class ReplayConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="replay"):
    """``passes`` of the I/Os of ``trace``, which go where ``mapping`` has them, at ``speed``.

    ``max_idle_ns`` is what a time without anything in flight is cut to; None leaves them. ``depth`` is the
    most that may be outstanding, None four times what was in the trace. I/Os issued before ``from_ns`` or
    from ``to_ns`` on are left out.
    """

    unscaled: ClassVar[tuple[str, ...]] = ("max_idle_ns", "from_ns", "to_ns")

    trace: Annotated[
        TraceFile | None,
        Field(
            "Trace",
            "Trace to replay.",
            Kind(
                str,
                lambda _name, word: trace_of(word),
                lambda trace: trace.path,
                metavar="TRACE",
                beside=beside,
            ),
            free="what is run, not how",
            argument="TRACE",
        ),
    ] = None
    mode: Annotated[
        ReplayMode,
        Field(
            "Replayed",
            "Issue each I/O when it is due, as fast as possible, after those it depends on, or at the "
            "traced load.",
            Kind(
                Literal["timed", "afap", "dependent", "load"],
                lambda _name, word: ReplayMode(word),
                metavar=None,
            ),
            text="mode {}",
        ),
    ] = ReplayMode.TIMED
    speed: Annotated[
        str,
        Field(
            "Speed",
            "Replay at this ratio to the traced time; above 1 is faster.",
            Kind(float | str, _read_speed, metavar="RATIO"),
            examples=("2", "1/2"),
            text="speed {}",
        ),
    ] = "1"
    max_idle_ns: Annotated[
        int | None,
        Field(
            "Idle times, at most",
            "Cut times without anything in flight to this length.",
            SECONDS,
            text=_idle_text,
        ),
    ] = None
    from_ns: Annotated[
        int | None,
        Field("From", "Leave out what was issued before this time of the trace.", SECONDS, text="from {}"),
    ] = None
    to_ns: Annotated[
        int | None,
        Field("To", "Leave out what was issued from this time of the trace on.", SECONDS, text="to {}"),
    ] = None
    mapping: Annotated[Mapping, MAPPING] = Mapping.IDENTITY
    granule_bytes: Annotated[
        int,
        Field(
            "Granule",
            "Move granules of this size as a whole; 64 KiB.",
            SIZE,
            text="granules of {}",
            rare=True,
        ),
    ] = 64 * 1024
    conflicts: Annotated[
        Conflicts,
        Field(
            "Conflicts",
            "Let an I/O that overlaps one in flight wait, go, or be left out, where one of them changes "
            "data.",
            Kind(Literal["strict", "allow", "drop"], lambda _name, word: Conflicts(word), metavar=None),
            text="conflicts: {}",
        ),
    ] = Conflicts.STRICT
    trims: Annotated[
        Trims,
        Field(
            "Trims and zeroes",
            "Replay trims and zeroes as trims, as writes, or not at all.",
            Kind(Literal["keep", "write", "skip"], lambda _name, word: Trims(word), metavar=None),
            name="trims_as",
            text="trims: {}",
        ),
    ] = Trims.KEEP
    depth: Annotated[
        int | None,
        Field(
            "Outstanding, at most",
            "Have no more I/Os outstanding; four times those of the trace, at least 64.",
            DEPTH,
            text=lambda depth: "as many outstanding as are due" if depth is None else f"{depth} outstanding",
        ),
    ] = None
    prefill: Annotated[
        Prefill,
        Field(
            "Written before",
            "Write what will be read, all that is touched, the whole drive, or nothing before the first "
            "pass.",
            Kind(
                Literal["reads", "footprint", "full", "none"],
                lambda _name, word: Prefill(word),
                metavar=None,
            ),
            text="prefill: {}",
        ),
    ] = Prefill.FOOTPRINT
    read_only: Annotated[
        bool,
        Field(
            "Reads only",
            "Replay reads only, and write nothing before: no purge, no prefill.",
            SWITCH,
            text=lambda only: "reads only" if only else "reads and writes",
        ),
    ] = False
    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(help="Times the user capacity written in sequence before; 0 is none."),
    ]
    passes: Annotated[
        int, Field("Passes", "Passes of the trace.", count(1, 100), text="{} passes", amount=True)
    ]
    sector_bytes: Annotated[int, Field("", free="the device's own")] = 512

    @property
    def lacking(self) -> str:
        """A trace has to be named."""
        return "name a trace before the target" if self.trace is None else ""

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """A trace has its own places, and a replay of reads writes nothing."""
        yield from super().contradictions(given)
        if "active_range" in given:
            yield ("active_range",), "a trace says where its I/Os go: use --mapping"
        if self.read_only and "prefill" in given and self.prefill is not Prefill.NONE:
            yield ("prefill", "read_only"), "a replay of reads only writes nothing before"
        if self.from_ns is not None and self.to_ns is not None and self.from_ns >= self.to_ns:
            yield ("to_seconds", "from_seconds"), "nothing is left between the two"
