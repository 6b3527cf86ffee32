"""The conditions of each test: what the operator may set, and what section 5 and the header report.

Durations are nanoseconds in fields that end in ``_ns``, repetitions are in ``max_rounds`` and ``cycles``:
fields/time_scale.py shortens exactly those.
"""

from collections.abc import Collection, Iterator
from types import EllipsisType
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from msgspec import Struct, field
from msgspec.structs import replace

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.errors import UsageError
from openpts.fields import readers
from openpts.fields.field import SECONDS, SECONDS_OR_NONE, SWITCH, Field, ValueType, number
from openpts.units import NS_PER_MS
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.settling import SettlingRule
from openpts.vocabulary.stimulus import ActiveRange, DataPattern, RandomData, Segments, Stimulus
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload, condition_text

SHORTEST_NS: Final = NS_PER_MS
"""No duration gets shorter: below it, an element would hold the ramp of its queue and nothing else."""

FEWEST: Final = {"max_rounds": WINDOW_ROUNDS, "cycles": 1}
"""Repetitions that are scaled, and how many are left at the least; a window has five rounds."""


def at_time_scale(conditions: Any, scale: float) -> Any:
    """The conditions with all durations and repetitions times ``scale``, more than 0 and at most 1.

    Durations are the fields that end in ``_ns``, also of wait states and access groups, except those that the
    conditions list as ``unscaled``. Raises UsageError for another scale.
    """
    if not 0 < scale <= 1:
        raise UsageError(f"a time scale is more than 0 and at most 1, not {scale:g}")
    unscaled = (*getattr(conditions, "unscaled", ()), "time_scale")
    changes = {
        name: _scaled(name, getattr(conditions, name), scale)
        for name in conditions.__struct_fields__
        if name not in unscaled
    }
    return replace(conditions, **changes, time_scale=conditions.time_scale * scale)


def _scaled(name: str, value: Any, scale: float) -> Any:
    if isinstance(value, tuple):
        return tuple(_scaled(name, entry, scale) for entry in value)
    if isinstance(value, Struct):
        fields = value.__struct_fields__
        return replace(value, **{field: _scaled(field, getattr(value, field), scale) for field in fields})
    if name in FEWEST:
        return min(value, max(FEWEST[name], round(value * scale)))
    if name.endswith("_ns") and value is not None:
        return min(value, max(SHORTEST_NS, round(value * scale)))
    return value


Listed = tuple[str | Field | EllipsisType, ...]
"""Fields by name, parameters that are more than a field, ``...`` for the other fields that have a help."""

Contradictions = Iterator[tuple[tuple[str, ...], str]]
"""Parameters that a contradiction is between, the likeliest culprit first, and what it is."""

StepCounts = Iterator[tuple[tuple[str, ...], int]]
"""Parameters that a number of steps follows from, the likeliest to blame first, and the number."""


_BY_MINUTES = frozenset({SteadyState.NONE, SteadyState.MINUTES})


class EarlierRun(Struct, frozen=True, kw_only=True):
    """The run that another one follows on the same drive: its id, and its folder as it was named then."""

    run: str
    folder: str


class Conditions(Struct, frozen=True, kw_only=True):
    """What all tests have in common.

    ``segments`` restrict random accesses to LBA segments spread over the active range (PTS 6 (5)); None is
    the whole of it. ``time_scale`` is the share of the specification's durations and repetitions that this
    run has; it is already in the other fields. Without ``secondary_metrics`` the report has no page that the
    specification makes optional. ``minute_ns`` is the length of an element and of a record of
    continuous stimuli: the specification's minute. ``of_specification`` is False for tests beyond it.
    ``set_by_class`` is False where the section sets cache and active range alike for both classes.
    ``drive_class`` is ``profile`` in a record.

    ``parameters`` are what an operator may set, in the order in which it is applied; without them, a test
    adds its own fields that have a help. ``unused`` are fields of the base class that mean nothing to a test.
    """

    of_specification: ClassVar[bool] = True
    steady_state: ClassVar[SteadyState] = SteadyState.NONE
    unused: ClassVar[frozenset[str]] = frozenset()
    set_by_class: ClassVar[bool] = True
    parameters: ClassVar[Listed] = (
        "time_scale",
        "minute_ns",
        "write_cache_enabled",
        "active_range",
        "data",
        "secondary_metrics",
        "battery_wh",
    )

    drive_class: Annotated[DriveClass, Field("", free="a set of settings of its own")] = field(name="profile")
    write_cache_enabled: Annotated[
        bool,
        Field(
            "",
            "State of the volatile write cache.",
            ValueType(
                Literal["enabled", "disabled"],
                lambda _name, word: word == "enabled",
                lambda enabled: "enabled" if enabled else "disabled",
                metavar=None,
            ),
            name="write_cache",
            text=lambda enabled: "WCE" if enabled else "WCD",
        ),
    ]
    active_range: Annotated[
        ActiveRange,
        Field(
            "Active range",
            "Per cent of the LBAs to use: 75 for those from the first on, or start and end as 25:75.",
            ValueType(float | str, readers.active_range, readers.active_range_text, "PCT|START:END"),
            examples=(75, "25:75"),
            text=lambda part: f"AR {part.start_pct:g}-{part.end_pct:g} %",
        ),
    ]
    seed: Annotated[
        int, Field("Seed of the random generator", free="the specification leaves it open; the record has it")
    ]
    segments: Annotated[
        Segments | None,
        Field(
            "LBA segments",
            "Restrict random accesses to N LBA segments of one size, spread at random over the active range: "
            "16x64MiB.",
            ValueType(
                str,
                readers.segments,
                lambda part: f"{part.count}x{readers.size_text(part.segment_bytes)}",
                "NxSIZE",
            ),
            examples=("16x64MiB",),
            text=lambda part: "the whole active range" if part is None else condition_text("segments", part),
        ),
    ] = None
    data: Annotated[
        DataPattern,
        Field(
            "Data pattern",
            "What is written: random, random-once, zero, pattern:HEX, or entropy:PCT[,dup:PCT] for data that "
            "can be compressed.",
            ValueType(str, readers.data_of, readers.data_word, "WORD"),
            name="data_pattern",
            examples=("random", "zero", "pattern:deadbeef", "entropy:46"),
        ),
    ] = RandomData()
    time_scale: Annotated[
        float,
        Field(
            "Time scale",
            "Share of all durations and repetitions, such as 1/60; amounts of data stay.",
            ValueType(float | str, metavar="RATIO"),
            examples=("1/60",),
            section="How long",
            change=lambda name, value, conditions: at_time_scale(conditions, readers.time_scale(name, value)),
            show=lambda _conditions: "",
            text=lambda scale: (
                "as specified"
                if scale == 1
                else f"durations and repetitions x {condition_text('time_scale', scale)}"
            ),
        ),
    ] = 1.0
    minute_ns: Annotated[
        int,
        Field(
            "Length of one minute's element",
            "Length of one element, and of one record of a continuous stimulus: the specification's minute.",
            SECONDS,
            name="step_seconds",
            text="{} per step",
        ),
    ] = 60 * 10**9
    secondary_metrics: Annotated[
        bool,
        Field(
            "Secondary metrics reported",
            "Report the optional pages of the specification.",
            SWITCH,
            free="what is shown, not what is done: the specification makes them optional",
        ),
    ] = True

    battery_wh: Annotated[
        float | None,
        Field(
            "Battery (Wh)",
            "Report how many hours a battery of so many watt-hours lasts at each load.",
            number("WH", gt=0, le=100_000),
            text="{:g} Wh",
            free="what is computed from the measured power, not what is done",
        ),
    ] = None

    @property
    def test(self) -> str:
        """The test's short name: ``iops``."""
        return str(self.__struct_config__.tag)

    @property
    def demand(self) -> tuple[int, int] | None:
        """TC and QD of a test that has one of each."""
        return None

    @property
    def data_patterns(self) -> tuple[DataPattern, ...]:
        """What is written, of a test that varies it everything."""
        return (self.data,)

    @property
    def class_text(self) -> str:
        """``PTS-E 2.0.1``; a test beyond the specification has only the class that its settings follow."""
        return self.drive_class.revision if self.of_specification else f"{self.drive_class.value} class"

    @property
    def most_verdicts(self) -> int:
        """How many tracking variables are judged at a time at the most."""
        return 0 if self.steady_state is SteadyState.NONE else 1

    def part_name(self, place: StepPlace) -> str | None:
        """What the test calls the part that a step belongs to; None where that is its phase."""
        del place
        return None

    def round_word(self, phase: Phase | None = None) -> str:
        """By what steady state is judged in a phase; without one, in the phase that decides the cycle."""
        if phase is None:
            return "tracking round" if self.steady_state in _BY_MINUTES else "round"
        return "round" if phase is Phase.ROUND else "tracking round"

    def stimulus(self, workload: Workload, *, tc: int, qd: int, read_pct: int | None = None) -> Stimulus:
        """A workload at a demand, in the range and with the data of this test."""
        return workload.stimulus(
            tc=tc,
            qd=qd,
            active_range=self.active_range,
            data=self.data,
            segments=self.segments,
            read_pct=read_pct,
        )

    @property
    def meaningless(self) -> frozenset[str]:
        """Fields that mean nothing here: they have no row on the set-up page, and are not in the ledger."""
        return self.unused

    @property
    def question(self) -> str:
        """What this run is to answer, of a test that is asked several things; empty for all others."""
        return ""

    @property
    def earlier_run(self) -> EarlierRun | None:
        """The run that this one follows, where there is one."""
        return None

    @property
    def compares_by(self) -> str:
        """What two runs must have in common to be compared, in words; empty if nothing."""
        return ""

    @property
    def goes_on_over_read_errors(self) -> bool:
        """Whether reads that fail are counted without end, and only other I/Os end the test."""
        return False

    @property
    def keeps_data(self) -> bool:
        """Whether the test begins with what an earlier run has left on the drive, and so without a purge."""
        return self.earlier_run is not None

    @property
    def lacking(self) -> str:
        """What the test can't be run without and does not have: what to do, in words; empty if nothing."""
        return ""

    @property
    def planned_lines(self) -> tuple[str, ...]:
        """What a run will do, of a test whose steps are not known beforehand; empty for all others."""
        return ()

    @property
    def chosen_workloads(self) -> tuple[Workload, ...]:
        """Workloads that the target and LBA segments have to suit."""
        return ()

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """What of these conditions can't be together; ``given`` are the parameters that were given."""
        del given
        yield from ()

    def doubts(self, given: Collection[str]) -> Contradictions:
        """What of these conditions is possible, but not advised."""
        del given
        yield from ()

    def step_counts(self) -> StepCounts:
        """Numbers of steps that come of lengths which make sense alone."""
        yield from ()

    def lengthened(self, needed_ns: int, standard: Self, kept: Collection[str]) -> Self:
        """Every duration as long as is needed, but not above the standard's; fields in ``kept`` stay."""
        kept = {*kept, *getattr(self, "unscaled", ())}
        names = [name for name in self.__struct_fields__ if name.endswith("_ns") and name not in kept]
        longer = {name: max(getattr(self, name), min(getattr(standard, name), needed_ns)) for name in names}
        return replace(self, **longer)


class ExtendedConditions(Conditions, frozen=True, kw_only=True):
    """What these tests have in common: no specification to deviate from."""

    of_specification: ClassVar[bool] = False


class RestingConditions(ExtendedConditions, frozen=True, kw_only=True):
    """Of tests that measure several things one after the other: before each, the drive may be left alone.

    That is until it has come to rest, but no longer than ``settle_ns``; 0 is not at all.
    """

    settle_ns: Annotated[
        int,
        Field(
            "Idle before each measurement, at most",
            "Before each trace or benchmark, leave the drive alone until it has come to rest, but no longer; "
            "0 is not at all.",
            SECONDS_OR_NONE,
            text=lambda settle_ns: (
                f"at rest before each, within {settle_ns / 1e9:g} s" if settle_ns else "no rest before each"
            ),
        ),
    ] = 0

    # SOL-DEV-04
    @property
    def settling(self) -> SettlingRule | None:
        """How it is seen that the drive has come to rest; None without such a rest."""
        return SettlingRule.within(self.settle_ns, self.minute_ns) if self.settle_ns else None

    @property
    def rests(self) -> tuple[str, ...]:
        """What the drive is left alone before: rests are numbered from 1."""
        raise NotImplementedError

    def step_counts(self) -> StepCounts:
        """A probe and a look each minute until the drive has come to rest."""
        yield from super().step_counts()
        if self.settle_ns:
            looks = 2 * len(self.rests) * -(-self.settle_ns // self.minute_ns)
            yield ("step_seconds", "settle_seconds"), looks
