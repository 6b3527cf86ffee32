"""What happens in a run, as a stream that any number of listeners hear; measuring code never prints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from openpts.analysis.limited_seconds import HostLimit
from openpts.engine.contract import EngineProgress, OutstandingIo
from openpts.planning.dry_run import PlannedApply
from openpts.record.manifest import Manifest, RunState
from openpts.runner.healing import Healing
from openpts.vocabulary.command_run import CommandOrder, CommandRun, FileSystemReport
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import PurgeReport
from openpts.vocabulary.hook import HookRun
from openpts.vocabulary.limit import JudgedLimit
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.power_cut import Cut
from openpts.vocabulary.requests import Apply, CycleFinished
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import SteadyStateReport


class Event:
    """Something that happens; each kind has a class of its own."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ProgramStarted(Event):
    """openpts was started for one run or several, with these words behind its name."""

    version: str
    command_line: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Healed(Event):
    """Before the device was opened: something that an earlier run left behind was put back, or was not."""

    healing: Healing


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """The run folder exists and the device is ours; ``plan`` is the longest that this run can get.

    ``resumes_at`` says where a run that was cut off goes on, and what stands; empty if it begins.
    ``host_limits`` are sentences on what this host can't do that the drive may.
    """

    folder: Path
    manifest: Manifest
    plan: tuple[PlannedApply, ...]
    resumes_at: str = ""
    host_limits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviationFound(Event):
    """An entry was added to the ledger.

    One of steps is an event after the first of them, and once more with all of them when the run has ended.
    """

    deviation: Deviation


@dataclass(frozen=True, slots=True)
class PurgeStarted(Event):
    """The purge begins."""


@dataclass(frozen=True, slots=True)
class PurgeProgressed(Event):
    """A purge goes on: ``share`` of it is done, 0 to 1, None where the drive doesn't tell."""

    share: float | None
    text: str


@dataclass(frozen=True, slots=True)
class PurgeFinished(Event):
    """The purge is over and proven, or was left out."""

    report: PurgeReport


@dataclass(frozen=True, slots=True)
class StepsStarted(Event):
    """Steps were handed to the engine."""

    cycle: int
    apply: Apply


@dataclass(frozen=True, slots=True)
class Ticked(Event):
    """A fraction of a second has passed in the step at ``position``; the temperature is the last sampled."""

    place: StepPlace
    step: Step
    progress: EngineProgress
    temperature_c: float | None = None


@dataclass(frozen=True, slots=True)
class IoHangs(Event):
    """An I/O has not been answered for seconds; reported again each time that its age has doubled."""

    io: OutstandingIo


@dataclass(frozen=True, slots=True)
class HostStalled(Event):
    """openpts itself did not run in a step; ``repeated``: the step and those beside it will be."""

    place: StepPlace
    sample: Sample
    repeated: bool


@dataclass(frozen=True, slots=True)
class HostLimited(Event):
    """The host was the limit in seconds of a step: how long each part of it, of how much that was judged.

    ``new`` are parts that were not the limit in an earlier step of this process. ``told`` are the sampled
    values that told it, by name.
    """

    place: StepPlace
    limited_ns: Mapping[HostLimit, int]
    judged_ns: int
    new: tuple[HostLimit, ...]
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordDelayed(Event):
    """The disk of the record takes no more for now: the run pauses when the steps that run have ended."""

    folder: Path
    reason: str


@dataclass(frozen=True, slots=True)
class RunPaused(Event):
    """Nothing is measured until the disk of the record takes what was measured; reported each second."""

    folder: Path
    reason: str
    paused_ns: int


@dataclass(frozen=True, slots=True)
class RunGoesOn(Event):
    """All that was measured is in the record again, and the run goes on."""

    paused_ns: int


@dataclass(frozen=True, slots=True)
class StepFinished(Event):
    """One step is measured."""

    place: StepPlace
    sample: Sample


@dataclass(frozen=True, slots=True)
class PowerWasCut(Event):
    """The drive is back from a power cut, and all that was written is read."""

    cut: Cut


@dataclass(frozen=True, slots=True)
class FileSystemPrepared(Event):
    """Where a program of the operator's will run."""

    report: FileSystemReport


@dataclass(frozen=True, slots=True)
class CommandStarted(Event):
    """A program of the operator's is started."""

    order: CommandOrder


@dataclass(frozen=True, slots=True)
class CommandEnded(Event):
    """A run of the program has ended, successfully or not."""

    run: CommandRun


@dataclass(frozen=True, slots=True)
class HookEnded(Event):
    """A command of the operator's, started at a moment of the run, has ended."""

    run: HookRun


@dataclass(frozen=True, slots=True)
class SteadyStateJudged(Event):
    """The last five rounds, or tracking rounds, were judged; one report per name."""

    phase: Phase
    round_number: int
    names: tuple[str, ...]
    reports: tuple[SteadyStateReport, ...]


@dataclass(frozen=True, slots=True)
class CycleEnded(Event):
    """A cycle of preconditioning and test came to its end."""

    cycle: int
    finished: CycleFinished


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """Nothing more is measured; ``reason`` says why if the run is not complete."""

    state: RunState
    reason: str | None


@dataclass(frozen=True, slots=True)
class LimitsJudged(Event):
    """The limits of a finished run were judged."""

    limits: tuple[JudgedLimit, ...]


@dataclass(frozen=True, slots=True)
class ReportsWritten(Event):
    """Documents were made of the run."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ProgramEnded(Event):
    """openpts ends with this exit code; ``error`` is its last words if that is not 0."""

    exit_code: int
    error: str | None


Listener = Callable[[Event], None]
