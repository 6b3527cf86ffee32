"""The manifest of a run: everything about it that is not a measurement."""

from enum import StrEnum
from functools import cache
from pkgutil import resolve_name
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import msgspec
from msgspec import Struct, field, structs

from openpts.fields.conditions import Conditions
from openpts.procedures.registry import PROCEDURES, procedure_of
from openpts.vocabulary.facts import (
    CaptureReport,
    ChangeReport,
    Facts,
    People,
    PurgeReport,
    Purpose,
    Scenario,
    TargetFacts,
    WriteCacheReport,
)
from openpts.vocabulary.hook import HOOK_LIMIT_S, HookRun
from openpts.vocabulary.requests import CycleFinished
from openpts.vocabulary.run_request import Imported
from openpts.vocabulary.stimulus import DataCheck
from openpts.vocabulary.trimmed_reads import TrimmedReads


class RunState(StrEnum):
    """State of a run; RUNNING in a folder that is no longer written means that it was killed.

    WAITING and REFUSED (it ended before anything was written) are of runs of a batch without a record.
    """

    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    UNKNOWN = "unknown"

    @property
    def has_ended(self) -> bool:
        """Whether a record may be there to which nothing is written any more."""
        return self in {RunState.COMPLETE, RunState.INTERRUPTED, RunState.FAILED, RunState.CANCELLED}


ELSEWHERE: Final = frozenset({RunState.QUEUED, RunState.CANCELLED, RunState.UNKNOWN})
"""States that only runs on other hosts have."""


class RequestedSettings(Struct, frozen=True):
    """What the operator requested beside the conditions: a resumed run is carried out in the same way.

    ``target``, ``purge`` and ``hooks`` are as typed; ``telemetry_period_s`` None: nothing was sampled.
    ``stop_on_fail``: the run ends where a limit of its file can't be kept, ``require_steady``: with an error
    where steady state was not reached. I/Os of ``slow_io_ms`` or more were noted by themselves, and by the
    drive's latency monitor where it has one; None: none were.
    """

    target: str
    purge: str
    io_path: str | None
    completion_wait: str
    cpus: tuple[int, ...]
    pin_to_node: bool
    most_errors: int
    tune: bool
    telemetry_period_s: float | None
    power_command: str | None
    short_report: bool = False
    hooks: tuple[str, ...] = ()
    hook_limit_s: float = HOOK_LIMIT_S
    stop_on_fail: bool = False
    require_steady: bool = False
    exclusive_host: bool = False
    slow_io_ms: float | None = None
    temperature_command: str | None = None


class Attempt(Struct, frozen=True):
    """One process's work on the run; the first begins it, each further one resumes it.

    ``steps`` are those recorded before it, set aside or not. ``went_on_at`` is where in the script a resumed
    one began; ``idle_ns`` the time without I/O before it, None where no step came before or the
    drive is simulated; ``power_cycles`` those of the drive meanwhile, None where its log does not say.
    ``set_aside`` are purges in it, or before it, whose cycle was begun again. ``ended_at``, ``end`` and
    ``reason`` are those of the run's manifest for the last attempt, which has None; RUNNING: it was killed,
    or lost its power, some time after ``ended_at``, when its last step ended, or it began.
    """

    started_at: str
    pid: int
    host: str
    boot_id: str | None
    kernel: str | None
    openpts: str | None
    steps: int = 0
    went_on_at: str = ""
    idle_ns: int | None = None
    power_cycles: int | None = None
    set_aside: tuple[PurgeReport, ...] = ()
    ended_at: str | None = None
    end: RunState | None = None
    reason: str | None = None


class _NoTest(Conditions, frozen=True, kw_only=True, tag_field="test", tag=""):
    """Conditions of a test that no installed package has: none is named so."""


class _NoTestEither(_NoTest, frozen=True, kw_only=True, tag_field="test", tag="-"):
    """A type alone would be read without its tag."""


if TYPE_CHECKING:
    AnyConditions = Conditions
else:
    AnyConditions = _NoTest | _NoTestEither
"""Those of a test: ``manifest_of`` says of which."""


_Section: TypeAlias = tuple[Any, ...]


class Manifest(Struct, frozen=True):  # noqa: PLW1641 a struct that is frozen has one
    """One per run. Times are ISO 8601, UTC; ``test_id`` is unique per run (header: Test ID No.).

    ``purges``, ``write_caches`` and ``cycles`` have an entry for each cycle of preconditioning and test
    that came so far; most tests have one. ``shortened``: durations, amounts or repetitions are below the
    standard's. ``capture`` is None unless single I/Os were to be kept. ``data_checks`` are of reducible data.
    ``host_before`` and ``host_after`` are the settings and states of the host around the test; ``telemetry``
    says what was sampled beside the I/O, or why nothing was. ``healed`` are lines on what an earlier run had
    left behind on the device. ``scenario`` is what the run was declared to show, None of an imported run;
    ``tuning`` is what was set on the host for it. ``ordered`` and ``attempts`` are None and empty of an
    imported run. ``trimmed`` is what trimmed LBAs read as, of a test that reads them.
    ``cuts``, ``power_states``, ``file_systems`` and ``command_runs`` are sections of single tests, whose
    declaration has the type of their entries; a test may have others (see ``Procedure.sections``).
    ``purpose`` is what the operator declared of the drive's use, nothing where none was declared.
    ``hooks`` are commands that were started at moments of the run.
    ``imported``: the run was made of results of another program; None for one that openpts measured.
    """

    test_id: str
    command_line: tuple[str, ...]
    conditions: AnyConditions
    people: People
    target: TargetFacts
    dut: Facts
    host: Facts
    software: Facts
    started_at: str
    shortened: bool = False
    engine: Facts = field(default_factory=dict)
    purges: tuple[PurgeReport, ...] = ()
    write_caches: tuple[WriteCacheReport, ...] = ()
    ended_at: str | None = None
    state: RunState = RunState.RUNNING
    state_reason: str | None = None
    cycles: tuple[CycleFinished, ...] = ()
    capture: CaptureReport | None = None
    data_checks: tuple[DataCheck, ...] = ()
    host_before: Facts = field(default_factory=dict)
    host_after: Facts = field(default_factory=dict)
    telemetry: Facts = field(default_factory=dict)
    healed: tuple[str, ...] = ()
    scenario: Scenario | None = None
    tuning: tuple[ChangeReport, ...] = ()
    ordered: RequestedSettings | None = None
    attempts: tuple[Attempt, ...] = ()
    cuts: _Section = ()
    power_states: _Section = ()
    trimmed: TrimmedReads | None = None
    file_systems: _Section = ()
    command_runs: _Section = ()
    purpose: Purpose = field(default_factory=Purpose)
    hooks: tuple[HookRun, ...] = ()
    imported: Imported | None = None

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal: one that was read is of the type of its test's manifests."""
        return isinstance(other, Manifest) and all(
            getattr(self, each.name) == getattr(other, each.name) for each in structs.fields(Manifest)
        )

    @property
    def host_name(self) -> str:
        """Where the run began; empty of an imported run."""
        return self.attempts[0].host if self.attempts else ""


@cache
def manifest_of(test: str) -> type[Manifest]:
    """The type of a test's manifests, with its conditions and its sections. Raises PluginError."""
    if test not in PROCEDURES:
        return Manifest
    procedure = procedure_of(test)
    fields: list[Any] = [("conditions", procedure.conditions)]
    fields += [
        (name, GenericAlias(tuple, (resolve_name(of), ...)), ()) for name, of in procedure.sections.items()
    ]
    namespace = {"__reduce__": _pickled}
    of_test = msgspec.defstruct(
        "Manifest", fields, bases=(Manifest,), namespace=namespace, module=__name__, frozen=True, kw_only=True
    )
    return cast("type[Manifest]", of_test)


def _pickled(manifest: Manifest) -> tuple[Any, ...]:
    """For another process, which makes the type for itself."""
    values = {each.name: getattr(manifest, each.name) for each in structs.fields(manifest)}
    return _unpickled, (manifest.conditions.test, values)


def _unpickled(test: str, values: dict[str, Any]) -> Manifest:
    return manifest_of(test)(**values)
