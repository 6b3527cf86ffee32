"""What happens in a run, as a stream that any number of listeners hear; measuring code never prints."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from openpts.analysis.host_limits import HostLimit
from openpts.engine.contract import EngineProgress, OutstandingIo
from openpts.planning.dry_run import PlannedApply
from openpts.record.manifest import Manifest, RunState
from openpts.runner.healing import Healing
from openpts.vocabulary.command_run import CommandRequest, CommandRun, FileSystemReport
from openpts.vocabulary.facts import PurgeReport
from openpts.vocabulary.hook import HookRun
from openpts.vocabulary.limit import JudgedLimit
from openpts.vocabulary.power import Cut
from openpts.vocabulary.requests import Apply, CycleFinished
from openpts.vocabulary.sample import Phase, Sample, StepPlace
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import Deviation, SteadyStateReport


class Event(Struct, frozen=True):
    """Something that happens; each kind has a class of its own."""


class ProgramStarted(Event, frozen=True):
    """openpts was started for one run or several, with these words behind its name."""

    version: str
    command_line: tuple[str, ...]


class Healed(Event, frozen=True):
    """Before the device was opened: something that an earlier run left behind was put back, or was not."""

    healing: Healing


class RunStarted(Event, frozen=True):
    """The run folder exists and the device is ours; ``plan`` is the longest that this run can get.

    ``resumes_at`` says where an interrupted run continues, and what stands; empty if it begins.
    ``host_limits`` say what this host can't do that the drive may, ``preparations`` what was set up for it.
    """

    folder: Path
    manifest: Manifest
    plan: tuple[PlannedApply, ...]
    resumes_at: str = ""
    host_limits: tuple[str, ...] = ()
    preparations: tuple[str, ...] = ()


class DeviationFound(Event, frozen=True):
    """An entry was added to the ledger.

    One of steps is an event after the first of them, and once more with all of them when the run has ended.
    """

    deviation: Deviation


class PurgeStarted(Event, frozen=True):
    """The purge begins."""


class PurgeProgressed(Event, frozen=True):
    """A purge is in progress: ``share`` of it is done, 0 to 1, None where the drive doesn't tell."""

    share: float | None
    text: str


class PurgeFinished(Event, frozen=True):
    """The purge is over and proven, or was left out."""

    report: PurgeReport


class StepsStarted(Event, frozen=True):
    """Steps were handed to the engine."""

    cycle: int
    apply: Apply


class Ticked(Event, frozen=True):
    """A fraction of a second has passed in the step at ``position``; the temperature is the last sampled."""

    place: StepPlace
    step: Step
    progress: EngineProgress
    temperature_c: float | None = None


class IoHangs(Event, frozen=True):
    """An I/O has not been answered for seconds; reported again each time that its age has doubled."""

    io: OutstandingIo


class HostStalled(Event, frozen=True):
    """openpts itself did not run in a step; ``repeated``: the step and those beside it will be."""

    place: StepPlace
    sample: Sample
    repeated: bool


class HostLimited(Event, frozen=True):
    """The host was the limit in seconds of a step: how long each part of it, of how much that was judged.

    ``new`` are parts that were not the limit in an earlier step of this process. ``evidence`` are the
    names of the sampled values that show it.
    """

    place: StepPlace
    limited_ns: Mapping[HostLimit, int]
    judged_ns: int
    new: tuple[HostLimit, ...]
    evidence: tuple[str, ...]


class PowerUnread(Event, frozen=True):
    """Lines of the operator's power command are no numbers of watts, as ``text`` says."""

    text: str


class RecordDelayed(Event, frozen=True):
    """The disk of the record takes no more for now: the run pauses when the steps that run have ended."""

    folder: Path
    reason: str


class RunPaused(Event, frozen=True):
    """Nothing is measured until the disk of the record takes what was measured; reported each second."""

    folder: Path
    reason: str
    paused_ns: int


class RunGoesOn(Event, frozen=True):
    """All that was measured is in the record again, and the run continues."""

    paused_ns: int


class StepFinished(Event, frozen=True):
    """One step is measured."""

    place: StepPlace
    sample: Sample


class PowerWasCut(Event, frozen=True):
    """The drive is back from a power cut, and all that was written is read."""

    cut: Cut


class FileSystemPrepared(Event, frozen=True):
    """Where a program of the operator's will run."""

    report: FileSystemReport


class CommandStarted(Event, frozen=True):
    """A program of the operator's is started."""

    order: CommandRequest


class CommandEnded(Event, frozen=True):
    """A run of the program has ended, successfully or not."""

    run: CommandRun


class HookEnded(Event, frozen=True):
    """A command of the operator's, started at a moment of the run, has ended."""

    run: HookRun


class SteadyStateJudged(Event, frozen=True):
    """The last five rounds, or tracking rounds, were judged; one report per name."""

    phase: Phase
    round_number: int
    names: tuple[str, ...]
    reports: tuple[SteadyStateReport, ...]


class CycleEnded(Event, frozen=True):
    """A cycle of preconditioning and test came to its end."""

    cycle: int
    finished: CycleFinished


class RunEnded(Event, frozen=True):
    """Nothing more is measured; ``reason`` says why if the run is not complete."""

    state: RunState
    reason: str | None


class LimitsJudged(Event, frozen=True):
    """The limits of a finished run were judged."""

    limits: tuple[JudgedLimit, ...]


class ReportsWritten(Event, frozen=True):
    """Documents were made of the run."""

    paths: tuple[Path, ...]


class ProgramEnded(Event, frozen=True):
    """openpts ends with this exit code; ``error`` is its last words if that is not 0."""

    exit_code: int
    error: str | None


Listener = Callable[[Event], None]
