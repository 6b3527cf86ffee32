"""Replay of a Trace: practice beyond the PTS."""

from collections.abc import Collection, Iterator
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.ratio import MOST_RUNS
from openpts.analysis.run_comparison import ADVISED_RUNS, RSE_LIMIT_PCT, SetRule
from openpts.errors import UsageError
from openpts.fields import usual
from openpts.fields.conditions import Contradictions, RestingConditions
from openpts.fields.field import AMOUNT, DEPTH, SECONDS, SIZE, SWITCH, Field, ValueType, count, listed, one_of
from openpts.fields.parsing import amount_bytes, number, pair
from openpts.fields.readers import size_text
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.replay import Conflicts, ReplayMode
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.stimulus import ActiveRange
from openpts.vocabulary.workload import duration_text
from openpts_traces.replay.traces import (
    BACKGROUND,
    IDLE,
    MAPPING,
    TRACES,
    Background,
    Idle,
    Mapping,
    Prefill,
    ScoredTrace,
    ScoreSubject,
    TraceFile,
    Trims,
    background_word,
    beside,
    hash_of,
    loads,
    trace_of,
)

_SLOWEST, _FASTEST = Fraction(1, 100), Fraction(1000)
_MOST_PART: Final = 2**32 - 1
_MOST_ZONES: Final = 64
_MOST_TRACES: Final = 16
_NOT_OF_A_SET: Final = (
    *(
        "trace",
        "also",
        "mode",
        "speed",
        "max_idle_seconds",
        "from_seconds",
        "to_seconds",
        "zone_table",
        "shift",
    ),
    *("unaligned", "granule", "conflicts", "trims_as", "depth", "placement_handle", "prefill", "read_only"),
)
_KEYS: Final = "region=START-END in per cent of the drive, or mapping=WORD"


class MappedZone(Struct, frozen=True, array_like=True):
    """Bytes of the trace from ``start_bytes`` to before ``end_bytes``, and where they begin on the target."""

    start_bytes: int
    end_bytes: int
    target_bytes: int

    def __str__(self) -> str:
        ends = (size_text(size) if size else "0" for size in (self.start_bytes, self.end_bytes))
        return f"{'-'.join(ends)}:{size_text(self.target_bytes) if self.target_bytes else '0'}"


class Unaligned(StrEnum):
    """What becomes of reads and writes that are not whole sectors of the target."""

    ROUND = "round"
    RMW = "rmw"
    SKIP = "skip"


def _read_trace(name: str, word: str) -> TraceFile:
    place, question, keys = word.partition("?")
    if Path(word).is_file():
        place, question, keys = word, "", ""
    values = _keys(name, word, keys) if question else {}
    region = _region(word, values["region"]) if "region" in values else None
    mapping = _mapping(word, values["mapping"]) if "mapping" in values else None
    return replace(trace_of(place), region=region, mapping=mapping)


def _word(trace: TraceFile) -> str:
    """As on the command line."""
    keys = []
    if trace.region is not None:
        keys.append(f"region={trace.region.start_pct:g}-{trace.region.end_pct:g}")
    if trace.mapping is not None:
        keys.append(f"mapping={trace.mapping}")
    return f"{trace.path}?{'&'.join(keys)}" if keys else trace.path


def _keys(name: str, word: str, keys: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for key in keys.split("&"):
        known, value = pair(name, key, "=", _KEYS)
        if known not in {"region", "mapping"} or known in values:
            raise UsageError(f"cannot replay {word}: {known!r} is given twice or unknown: use {_KEYS}")
        values[known] = value
    return values


def _region(word: str, text: str) -> ActiveRange:
    start, end = (number("region", part) for part in pair("region", text, "-", "START-END in per cent"))
    if not 0 <= start < end <= 100:
        raise UsageError(f"cannot replay {word}: region {text} is not within 0-100 per cent")
    return ActiveRange(start, end)


def _mapping(word: str, text: str) -> Mapping:
    if text not in set(Mapping):
        raise UsageError(f"cannot replay {word}: there is no mapping {text!r}: use {', '.join(Mapping)}")
    return Mapping(text)


def _read_zone(name: str, word: str) -> MappedZone:
    form = "START-END:TARGET, such as 0-1GiB:8GiB"
    traced, target = pair(name, word, ":", form)
    start, end = pair(name, traced, "-", form)
    sizes = (0 if text == "0" else amount_bytes(name, text) for text in (start, end, target))
    return MappedZone(*sizes)


_TRACE: Final = ValueType(str, _read_trace, _word, metavar="TRACE", beside=beside)
_ZONE: Final = ValueType(str, _read_zone, str, metavar="START-END:TARGET")


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


class ReplayConditions(RestingConditions, frozen=True, kw_only=True, tag_field="test", tag="replay"):
    """``passes`` of the I/Os of ``trace``, which go where ``mapping`` has them, at ``speed``.

    Or each of the set ``traces`` by itself: ``passes`` warm passes after a cold one, as often as ``idle`` and
    ``background`` say, None being the foreground alone. Where ``until_rse_pct`` is above 0, passes are added,
    two at a time and up to ``most_passes``, until the relative standard error of the score is at most that.

    ``max_idle_ns`` is what a time without anything in flight is cut to; None leaves them. ``depth`` is the
    most that may be outstanding, None four times what was in the trace. Writes of the trace name
    ``placement_handle``, None being the drive's default. I/Os issued before ``from_ns`` or
    from ``to_ns`` on are left out.
    """

    unscaled: ClassVar[tuple[str, ...]] = ("max_idle_ns", "from_ns", "to_ns")

    trace: Annotated[
        TraceFile | None,
        Field("Trace", "Trace to replay.", _TRACE, free="what is run, not how", argument="TRACE"),
    ] = None
    also: Annotated[
        tuple[TraceFile, ...],
        Field(
            "Other traces",
            "Replay these traces at the same time, each in its part of the drive; as TRACE they may have "
            "keys, as in FILE?region=50-100&mapping=compact.",
            listed(_TRACE, most=_MOST_TRACES - 1),
            free="what is run, not how",
        ),
    ] = ()
    mode: Annotated[
        ReplayMode,
        Field(
            "Replayed",
            "Issue each I/O when it is due, as fast as possible, after those it depends on, or at the "
            "traced load.",
            one_of(*ReplayMode),
            text="mode {}",
        ),
    ] = ReplayMode.TIMED
    speed: Annotated[
        str,
        Field(
            "Speed",
            "Replay at this ratio to the traced time; above 1 is faster.",
            ValueType(float | str, _read_speed, metavar="RATIO"),
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
    mapping: Annotated[
        Mapping,
        MAPPING.but(
            help="Places on the target: as traced, clipped at its end, modulo its capacity, runs moved with "
            "their gaps scaled, packed, or by --zone-table.",
            kind=one_of(*Mapping),
        ),
    ] = Mapping.IDENTITY
    zone_table: Annotated[
        tuple[MappedZone, ...],
        Field(
            "Zones",
            "Move bytes START to END of the trace to TARGET; I/Os outside of all zones are left out.",
            listed(_ZONE, most=_MOST_ZONES),
            examples=(["0-1GiB:8GiB", "4GiB-5GiB:0"],),
            text=lambda zones: f"zones {', '.join(map(str, zones))}" if zones else "no zones",
        ),
    ] = ()
    shift_bytes: Annotated[
        int,
        Field(
            "Shift of each pass",
            "Move each pass on by this much from the one before it, modulo the trace's part of the drive.",
            AMOUNT,
            show=lambda conditions: size_text(conditions.shift_bytes) if conditions.shift_bytes else "",
            text=lambda shift: f"each pass moved by {size_text(shift)}" if shift else "passes not moved",
        ),
    ] = 0
    unaligned: Annotated[
        Unaligned,
        Field(
            "Not whole sectors",
            "Round reads and writes of parts of sectors outwards, read before such writes as well, or leave "
            "them out.",
            one_of(*Unaligned),
            text="parts of sectors: {}",
        ),
    ] = Unaligned.ROUND
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
            "Let an I/O that overlaps one in flight wait with all behind it, wait alone, go, or be left out. "
            "It is so where one of the two changes data.",
            one_of(*Conflicts),
            text="conflicts: {}",
        ),
    ] = Conflicts.STRICT
    trims: Annotated[
        Trims,
        Field(
            "Trims and zeroes",
            "Replay trims and zeroes as trims, as writes, or not at all.",
            one_of(*Trims),
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
    placement_handle: Annotated[
        int | None,
        Field(
            "Placement handle",
            "Placement handle that the trace's writes name (NVMe FDP); untried on hardware.",
            count(0, 65535),
            text=lambda handle: (
                "the default placement handle" if handle is None else f"placement handle {handle}"
            ),
        ),
    ] = None
    prefill: Annotated[
        Prefill,
        Field(
            "Written before",
            "Write what will be read, all that is touched, the whole drive, or nothing before the first "
            "pass.",
            one_of(*Prefill),
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
        int,
        Field(
            "Passes",
            "Passes of the trace; of each of a set, warm passes at least after the cold one: an odd number.",
            count(1, 100),
            text="{} passes",
            amount=True,
        ),
    ]
    traces: Annotated[
        tuple[TraceFile, ...],
        Field(
            "Set of traces",
            "Replay each of a set by itself, and score the set: recipes by name, files, quick for four "
            "small recipes, full for all that ship.",
            TRACES,
            examples=(["quick"], ["database", "like:office"]),
            free="what is scored, not how",
        ),
    ] = ()
    idle: Annotated[
        tuple[Idle, ...],
        Field(
            "Idle times of a set",
            "Replay idle times of a set in full, not at all (busy-only), or cut to a length such as 25ms. "
            "Each of these gives scores of its own.",
            listed(IDLE),
            examples=(["full", "busy-only"], ["25ms"]),
            free="part of the name of each score",
        ),
    ] = (Idle(None), Idle(0))
    background: Annotated[
        Background | None,
        Field(
            "Background of a set",
            "Score each trace of a set also against its own background, against another trace, "
            "or only alone.",
            BACKGROUND,
            examples=("own", "none", "backup"),
            show=lambda conditions: background_word(conditions.background),
            free="part of the name of each score",
        ),
    ] = Background()
    until_rse_pct: Annotated[float, usual.UNTIL_RSE] = RSE_LIMIT_PCT
    most_passes: Annotated[int, usual.MOST_PASSES] = MOST_RUNS
    sector_bytes: Annotated[int, Field("", free="the device's own")] = 512

    @property
    def together(self) -> tuple[TraceFile, ...]:
        """All that are replayed at once."""
        return () if self.trace is None else (self.trace, *self.also)

    @property
    def lacking(self) -> str:
        """A trace has to be named, or a set."""
        return "" if self.trace or self.traces else "name a trace before the target, or a set with --traces"

    @property
    def set_rule(self) -> SetRule:
        """When passes of a set are accepted, and with how many they are discarded."""
        return SetRule(self.until_rse_pct or RSE_LIMIT_PCT, self.most_passes)

    @property
    def loads(self) -> tuple[ScoreSubject, ...]:
        """With what each trace of a set is scored."""
        return loads(self.background, self.idle)

    def cases(self) -> Iterator[ScoredTrace]:
        """All of a set that may have a score, in their order; a trace may have no background of its own."""
        pairs = ((trace, load) for trace in self.traces for load in self.loads)
        return (ScoredTrace(number, *pair) for number, pair in enumerate(pairs, start=1))

    @property
    def rests(self) -> tuple[str, ...]:
        """Before the first pass of each trace."""
        return tuple(map(str, self.cases())) or (", ".join(trace.name for trace in self.together),)

    def part_name(self, place: StepPlace) -> str | None:
        """The trace of a set with its load and its idle times."""
        if place.phase is not Phase.LOAD:
            return None
        return next((str(case) for case in self.cases() if case.number == place.number), None)

    @property
    def compares_by(self) -> str:
        """Scores compare only over the same traces."""
        return hash_of(self.traces) if self.traces else ""

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """A trace has its own places, and a replay of reads writes nothing."""
        yield from super().contradictions(given)
        yield from self._of_set(given) if self.traces else self._without_set(given)
        if "active_range" in given:
            yield ("active_range",), "a trace says where its I/Os go: use --mapping"
        if self.read_only and self.placement_handle is not None:
            yield ("placement_handle", "read_only"), "writes name it, and a replay of reads only has none"
        if self.read_only and "prefill" in given and self.prefill is not Prefill.NONE:
            yield ("prefill", "read_only"), "a replay of reads only writes nothing before"
        mapped = {self.mapping, *(trace.mapping for trace in self.together)}
        if (Mapping.ZONES in mapped) != bool(self.zone_table):
            yield ("zone_table", "mapping"), "a table of zones and --mapping zones take each other"
        if self.unaligned is Unaligned.RMW and self.conflicts in {Conflicts.ALLOW, Conflicts.DROP}:
            yield (
                ("unaligned", "conflicts"),
                "a write has to wait for the reads before it: use strict or push-back",
            )
        if self.from_ns is not None and self.to_ns is not None and self.from_ns >= self.to_ns:
            yield ("to_seconds", "from_seconds"), "nothing is left between the two"

    def _of_set(self, given: Collection[str]) -> Contradictions:
        """A set is replayed in one way; and a limit that no set can reach, or that all sets begin above."""
        for name in _NOT_OF_A_SET:
            if name in given:
                yield (name, "traces"), "each of a set is replayed by itself, at its moments and in its order"
        yield from usual.even_most("most_passes", self.most_passes, "pass")
        if self.until_rse_pct and self.passes > self.most_passes:
            yield (
                ("most_passes", "passes"),
                f"{self.passes} passes, and {self.most_passes} are the most: raise --most-passes",
            )

    @staticmethod
    def _without_set(given: Collection[str]) -> Contradictions:
        for name in ("idle", "background", "until_rse", "most_passes"):
            if name in given:
                yield (name, "traces"), "is of a set of traces, and none is given"

    # SOL-STAT-02, 03
    def doubts(self, given: Collection[str]) -> Contradictions:
        """Few passes of a set, or an even number, where none is added."""
        yield from super().doubts(given)
        if not self.traces or self.until_rse_pct:
            return
        if self.passes < ADVISED_RUNS:
            warm = f"{self.passes} warm pass{'' if self.passes == 1 else 'es'}"
            yield ("passes",), f"{warm}: {ADVISED_RUNS} or more are advised"
        elif self.passes % 2 == 0:
            yield ("passes",), f"{self.passes} is even: the median is the lower of the middle two"


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ReplayConditions,
    title="Replay of a Trace",
    short_title="Replay",
    question="What does a drive do with the I/Os that my machine really had?",
    purpose="""The I/Os of a trace again, in their order and at their moments, and how true that was.

    TRACE is a trace of any format that `openpts trace check` reads. At full length: a purge, everything that
    the trace touches written once, and three passes of the trace. With --traces each of a set is replayed by
    itself, and the set has a score, by the formula that trace benchmarks publish.
    """,
    quick={"passes": 1},
    phase_line="openpts_traces.replay.phase_line:phase_line",
)
