"""What happens in a run as JSON lines: one object for each event, whose ``kind`` names it.

The types here are the interface: docs/interfaces.md has their schema, and says what may change. Times are
UTC; durations and latencies are in ns, rates in bytes/s and I/O per second.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, Self

import msgspec
from msgspec import Meta, Struct, field

from openpts.analysis.steady_state import RANGE_LIMIT, SLOPE_LIMIT
from openpts.vocabulary.command_run import CommandRun, FileSystemReport
from openpts.vocabulary.document import filled
from openpts.vocabulary.hook import HookRun
from openpts.vocabulary.limit import JudgedLimit
from openpts.vocabulary.power import Cut
from openpts.vocabulary.requests import CycleFinished
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.verdict import SteadyStateReport

VERSION: Final = "1.0"
"""Major and minor: kinds and fields that are added raise the minor one, all else the major one."""

_Utc = Annotated[str, Meta(extra_json_schema={"format": "date-time"}, description="When, UTC, ISO 8601.")]


class _Line(Struct, frozen=True, kw_only=True, tag_field="kind"):
    at: _Utc = field(default_factory=str)  # empty until it is written


class ProgramStarted(_Line, frozen=True, kw_only=True, tag="stream_started"):
    """The first line. A suite, or a run that failed before it had a folder, also has only one."""

    format: Literal["openpts-events"] = "openpts-events"
    version: Annotated[str, Meta(pattern=r"^1\.[0-9]+$")] = VERSION
    program_version: str
    command_line: tuple[str, ...]


class TargetLine(Struct, frozen=True, kw_only=True):
    """What is tested. ``simulated``: the preset of a simulated drive, None for a real one."""

    path: str
    name: str
    kind: str
    model: str | None
    serial: str | None
    firmware: str | None
    user_capacity_bytes: int
    sector_bytes: int
    simulated: str | None


class PlannedPhase(Struct, frozen=True, kw_only=True):
    """A phase of a cycle with all of its numbers, such as rounds: what it takes at most, by an estimate.

    ``may_end_sooner``: steady state ends it.
    """

    cycle: int
    phase: Phase
    numbers: int
    steps: int
    longest_ns: int
    may_end_sooner: bool


class RunStartedLine(_Line, frozen=True, kw_only=True, tag="run_started"):
    """A run has its folder and its device. ``longest_ns`` is what its plan takes at most.

    ``resumes_at`` is where an interrupted run continues, empty if it begins. ``host_limits`` are sentences
    on what of this host may be the limit. ``plan`` has the phases of each cycle in their order.
    """

    run: str
    folder: str
    test: str
    profile: str
    seed: int
    target: TargetLine
    longest_ns: int
    planned_steps: int
    resumes_at: str
    labels: dict[str, str]
    host_limits: tuple[str, ...]
    plan: tuple[PlannedPhase, ...]


Topic = Literal["healed", "io_hangs", "standstill", "meter_unread", "record_delayed", "goes_on"]


class Note(_Line, frozen=True, kw_only=True, tag="note"):
    """Something that the log says as well: left behind by an earlier run, an I/O that hangs, a pause."""

    topic: Topic
    text: str


class DeviationFound(_Line, frozen=True, kw_only=True, tag="deviation"):
    """An entry of the ledger: what the specification requires, and what was used.

    ``steps``: in how many steps so far, 0 where it is of the entire run. Such an entry comes after the first
    of them, and again at the end of the run if there were more.
    """

    rule_id: str
    clause: str
    required: str
    used: str
    effect: str
    steps: int


class PurgeStarted(_Line, frozen=True, kw_only=True, tag="purge_started"):
    """The purge begins."""


class PurgeProgressed(_Line, frozen=True, kw_only=True, tag="purge_progress"):
    """A second or more has passed in a purge: ``share`` of it is done, 0 to 1, None where the drive doesn't
    tell.
    """

    share: float | None
    text: str


class PurgeFinishedLine(_Line, frozen=True, kw_only=True, tag="purge_finished"):
    """The purge is over; ``ran`` is False where none was made.

    ``changed_samples`` of ``samples`` marks are gone.
    """

    ran: bool
    method: str
    detail: str
    duration_ns: int
    samples: int
    changed_samples: int


class PhaseStartedLine(_Line, frozen=True, kw_only=True, tag="phase_started"):
    """Steps of a phase go to the engine, one behind the other without idle time.

    ``most`` is the largest number that the phase can get, None where it has none.
    """

    cycle: int
    phase: Phase
    number: int
    stimuli: tuple[str, ...]
    most: int | None


class RunProgressLine(_Line, frozen=True, kw_only=True, tag="progress"):
    """A second has passed in a step: counts since its start, rates of the time since the last one.

    ``temperature_c`` is the last one that the drive reported, None if it reports none.
    ``step_share`` is how much of the step is done, 0 to 1, ``left_ns`` how long the run still takes if steady
    state is never reached, None where either can't be foreseen; ``left_bounded``: durations alone end what is
    to come, so that it can't take longer. ``drive_fills`` were written since the last purge.
    """

    place: StepPlace
    step_elapsed_ns: int
    ios: int
    bytes: int
    iops: float
    bytes_per_s: float
    temperature_c: float | None
    step_share: float | None
    left_ns: int | None
    left_bounded: bool
    drive_fills: float | None


class OperationLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All I/Os of one kind. Latencies are None without an I/O.

    ``percentiles_ns`` has those that enough I/Os are behind, 10^N for N nines; samples have none.
    """

    ios: int
    bytes: int
    iops: float
    bytes_per_s: float
    latency_mean_ns: float | None = None
    latency_min_ns: int | None = None
    latency_max_ns: int | None = None
    percentiles_ns: dict[str, int] = {}


class SampleLine(_Line, frozen=True, kw_only=True, tag="sample"):
    """One interval of a step, written when the step has ended: ``index`` counts intervals from its start.

    ``operations`` has those with an I/O: read, write, trim, flush, fsync.
    """

    place: StepPlace
    index: int
    elapsed_ns: int
    operations: dict[str, OperationLine]
    in_flight: int
    errors: int
    temperature_c: float | None
    throttled: bool | None


class StepFinishedLine(_Line, frozen=True, kw_only=True, tag="step_finished"):
    """A step is measured. ``gap_ns`` is the time without I/O before it, ``ended_by`` names its stop rule."""

    place: StepPlace
    stimulus: str
    state: str
    ended_by: str | None
    elapsed_ns: int
    gap_ns: int | None
    operations: dict[str, OperationLine]
    errors: int
    failure: str | None


class HostLimitedLine(_Line, frozen=True, kw_only=True, tag="host_limited"):
    """The host, and not the drive, was the limit in intervals of a step.

    telemetry.md of the manual says how it is judged. Written some seconds after the step has ended.

    ``limited_ns`` has the time by part of the host, which may overlap: processor, link, heat, memory.
    ``judged_ns`` is how much of the step was sampled, ``evidence`` what shows it, in words.
    """

    place: StepPlace
    limited_ns: dict[str, int]
    judged_ns: int
    evidence: tuple[str, ...]


class Steadiness(Struct, frozen=True, kw_only=True):
    """A tracking variable in its window: range and slope excursion in per cent of the average.

    ``values`` are those of the rounds in ``window``, in the unit that ``name`` implies; the line of
    best fit is ``intercept + slope * round``.
    """

    name: str
    steady: bool
    average: float
    range_pct: float
    slope_excursion_pct: float
    window: tuple[int, ...]
    values: tuple[float, ...]
    slope: float | None
    intercept: float | None

    def text(self, *, limits: bool = True) -> str:
        """The verdict in words, with the limits it was held against where there is room."""
        range_limit, slope_limit = (
            f" (limit {100 * limit:.0f} %)" if limits else "" for limit in (RANGE_LIMIT, SLOPE_LIMIT)
        )
        return (
            f"{self.name}: {'steady' if self.steady else 'not steady'}, "
            f"range {self.range_pct:.1f} %{range_limit}, slope {self.slope_excursion_pct:.1f} %{slope_limit}"
        )


class SteadyStateJudged(_Line, frozen=True, kw_only=True, tag="steady_state"):
    """The last five rounds, or tracking rounds, were judged."""

    phase: Phase
    number: int
    steady: bool
    variables: tuple[Steadiness, ...]

    @classmethod
    def of(
        cls, phase: Phase, number: int, names: Sequence[str], reports: Sequence[SteadyStateReport]
    ) -> Self:
        """One report per name."""
        variables = tuple(
            filled(Steadiness, report, name=name, window=report.rounds)
            for name, report in zip(names, reports, strict=True)
        )
        steady = all(variable.steady for variable in variables)
        return cls(phase=phase, number=number, steady=steady, variables=variables)


class CycleEnded(_Line, frozen=True, kw_only=True, tag="cycle_finished"):
    """A cycle of preconditioning and test has ended. ``steady_round`` is None where none was steady."""

    cycle: int
    title: str
    steady_round: int | None
    last_round: int
    ended_by: str

    @classmethod
    def of(cls, cycle: int, finished: CycleFinished) -> Self:
        """Of the script's word that its cycle has ended."""
        return filled(cls, finished.outcome, cycle=cycle, title=finished.title)


class PowerWasCut(_Line, frozen=True, kw_only=True, tag="power_cut"):
    """The drive is back from a power cut, and all that was written was read."""

    cut: Cut


class FileSystemPrepared(_Line, frozen=True, kw_only=True, tag="file_system"):
    """Where a program of the operator's will run."""

    file_system: FileSystemReport


class CommandEnded(_Line, frozen=True, kw_only=True, tag="command_finished"):
    """A program of the operator's has ended, as it should or otherwise."""

    run: CommandRun


class HookEnded(_Line, frozen=True, kw_only=True, tag="hook_finished"):
    """A command of the operator's that was started at a moment of the run has ended."""

    hook: HookRun


class RunEnded(_Line, frozen=True, kw_only=True, tag="run_finished"):
    """Nothing more is measured; ``reason`` says why if the state is not complete."""

    state: str
    reason: str | None


class LimitsJudged(_Line, frozen=True, kw_only=True, tag="limits_judged"):
    """The limits of a finished run were judged; gate.md of the manual says how."""

    limits: tuple[JudgedLimit, ...]


class ReportsWritten(_Line, frozen=True, kw_only=True, tag="report_written"):
    """Documents made of a run."""

    paths: tuple[str, ...]


class ProgramEnded(_Line, frozen=True, kw_only=True, tag="stream_finished"):
    """The last line: the exit code of openpts, and what its last words are if that is not 0.

    A stream without it was cut off: openpts was killed, or could not write it.
    """

    exit_code: int
    error: str | None


EventLine = (
    ProgramStarted
    | RunStartedLine
    | Note
    | DeviationFound
    | PurgeStarted
    | PurgeProgressed
    | PurgeFinishedLine
    | PhaseStartedLine
    | RunProgressLine
    | SampleLine
    | StepFinishedLine
    | HostLimitedLine
    | SteadyStateJudged
    | CycleEnded
    | PowerWasCut
    | FileSystemPrepared
    | CommandEnded
    | HookEnded
    | RunEnded
    | LimitsJudged
    | ReportsWritten
    | ProgramEnded
)


def utc_now() -> str:
    """The moment, as lines have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_DECODER: Final[msgspec.json.Decoder[EventLine]] = msgspec.json.Decoder(EventLine)


def event_of(line: bytes) -> EventLine | None:
    """What a line says; None for a kind of later versions, for half a line, and what is no UTF-8."""
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None
