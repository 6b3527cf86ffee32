"""What happens in a run, as a stream that any number of listeners hear; measuring code never prints."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from openpts.analysis.host_limits import HostLimit
from openpts.engine.contract import EngineProgress, OutstandingIo
from openpts.planning.dry_run import PlannedApply
from openpts.planning.plan import Extent
from openpts.record.manifest import Manifest
from openpts.runner.event_lines import EventLine
from openpts.vocabulary.command_run import CommandRequest
from openpts.vocabulary.facts import PurgeReport
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Sample, StepPlace
from openpts.vocabulary.stimulus import Step


class InProcess(Struct, frozen=True):
    """Something that has more to it than its line says, or none; each kind has a class of its own."""


class RunStarted(InProcess, frozen=True):
    """The run folder exists and the device is ours; ``plan`` is the longest that this run can get.

    ``extents`` are the least and the most that it takes, None where nothing is planned.

    ``resumes_at`` says where an interrupted run continues, and what stands; empty if it begins.
    ``host_limits`` say what this host can't do that the drive may, ``preparations`` what was set up for it.
    """

    folder: Path
    manifest: Manifest
    plan: tuple[PlannedApply, ...]
    extents: tuple[Extent, Extent] | None = None
    resumes_at: str = ""
    host_limits: tuple[str, ...] = ()
    preparations: tuple[str, ...] = ()


class PurgeFinished(InProcess, frozen=True):
    """The purge is over and proven, or was left out."""

    report: PurgeReport


class StepsStarted(InProcess, frozen=True):
    """Steps were handed to the engine."""

    cycle: int
    apply: Apply


class Ticked(InProcess, frozen=True):
    """A fraction of a second has passed in the step at ``position``; the temperature is the last sampled."""

    place: StepPlace
    step: Step
    progress: EngineProgress
    temperature_c: float | None = None


class IoHangs(InProcess, frozen=True):
    """An I/O has not been answered for seconds; reported again each time that its age has doubled."""

    io: OutstandingIo


class HostStalled(InProcess, frozen=True):
    """openpts itself did not run in a step; ``repeated``: the step and those beside it will be."""

    place: StepPlace
    sample: Sample
    repeated: bool


class HostLimited(InProcess, frozen=True):
    """The host was the limit in seconds of a step: how long each part of it, of how much that was judged.

    ``new`` are parts that were not the limit in an earlier step of this process. ``evidence`` are the
    names of the sampled values that show it.
    """

    place: StepPlace
    limited_ns: Mapping[HostLimit, int]
    judged_ns: int
    new: tuple[HostLimit, ...]
    evidence: tuple[str, ...]


class RecordDelayed(InProcess, frozen=True):
    """The disk of the record takes no more for now: the run pauses when the steps that run have ended."""

    folder: Path
    reason: str


class RunPaused(InProcess, frozen=True):
    """Nothing is measured until the disk of the record takes what was measured; reported each second."""

    folder: Path
    reason: str
    paused_ns: int


class RunGoesOn(InProcess, frozen=True):
    """All that was measured is in the record again, and the run continues."""

    paused_ns: int


class StepFinished(InProcess, frozen=True):
    """One step is measured."""

    place: StepPlace
    sample: Sample


class CommandStarted(InProcess, frozen=True):
    """A program of the operator's is started."""

    order: CommandRequest


Event = InProcess | EventLine
"""What happens in a run. Of a kind whose line says all of it, the line is what happens."""

Listener = Callable[[Event], None]
