"""What the operator ordered, a run of one test on one target, new or resumed; and that run, once checked."""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from openpts.engine.options import CompletionWait, IoPath, NativeOptions
from openpts.errors import RecordError
from openpts.fields.conditions import Conditions
from openpts.hooks import Concerns
from openpts.planning.dry_run import PlannedApply
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import Manifest, RequestedSettings, RunState
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver, driver_of_record
from openpts.runner.preparation import Preparation, path_deviations, rotational_deviations
from openpts.runner.resource_check import check_free_space, checked_ways, interval_ns
from openpts.runner.resumed_run import BegunRun, Continuation, Resumption, attempt_here, resumed_run
from openpts.runner.telemetry import PERIOD_S
from openpts.units import NS_PER_MS
from openpts.vocabulary.document import filled
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import (
    DescribedDrive,
    Facts,
    People,
    Purpose,
    Scenario,
    TargetFacts,
    TargetKind,
    fact_of,
)
from openpts.vocabulary.purge import AUTO, Consent, PurgeChoice
from openpts.vocabulary.requests import Script
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import Deviation

_SERIAL_DIGITS: Final = 4
# Drives of one name may begin in one second; these digits are random.
_ID_DIGITS: Final = 6

Adjust = Callable[[Conditions], Conditions]
Admit = Callable[[Conditions, TargetFacts], None]


class RunSettings(RequestedSettings, frozen=True, kw_only=True):
    """What the operator asked for. ``adjust`` turns the standard conditions into those of this run.

    ``full_length`` turns them into those that lengths are judged by. ``admit`` raises UsageError where
    conditions ask of the target what it can't do, though the operator did not have to ask.
    ``inputs`` are the files that the operator wrote for the run, by the names of their
    copies. ``run_id`` is that of a run that a batch or fleet asked for. ``resumes``: the run in ``folder``
    continues under the conditions of its record. ``continues``: a new run follows a finished one.
    """

    purge: str = AUTO
    io_path: str | None = None
    completion_wait: str = CompletionWait.EACH
    cpus: tuple[int, ...] = ()
    pin_to_node: bool = True
    most_errors: int = 0
    tune: bool = False
    telemetry_period_s: float | None = PERIOD_S
    power_command: str | None = None
    temperature_command: str | None = None
    drive_class: DriveClass
    adjust: Adjust
    consent: Consent
    people: People
    command_line: tuple[str, ...]
    admit: Admit = lambda _conditions, _target: None
    full_length: Adjust = lambda standard: standard
    folder: Path | None = None
    seed: int | None = None
    scenario: Scenario = Scenario.SYNTHETIC
    description: DescribedDrive = field(default_factory=DescribedDrive)
    purpose: Purpose = field(default_factory=Purpose)
    inputs: Mapping[str, bytes] = field(default_factory=dict)
    run_id: str | None = None
    resumes: Resumption | None = None
    continues: Continuation | None = None

    @property
    def ordered(self) -> RequestedSettings:
        """What of it a resumed run needs again, and is not in another place of the record."""
        return filled(RequestedSettings, self)

    @property
    def options(self) -> NativeOptions:
        """What the engine gets of it."""
        return NativeOptions(
            io_path=None if self.io_path is None else IoPath(self.io_path),
            completion_wait=CompletionWait(self.completion_wait),
            slow_io_ns=None if self.slow_io_ms is None else round(self.slow_io_ms * NS_PER_MS),
            cpus=self.cpus,
            most_errors=self.most_errors,
        )

    @classmethod
    def to_resume(cls, resumption: Resumption, consent: Consent, target: str | None = None) -> Self:
        """The settings of a run that was cut off, once more; ``target`` is where its drive is now.

        Raises RecordError if nothing of it is left to do, or its results were imported.
        """
        run, manifest = resumption.run, resumption.run.manifest
        ordered = manifest.ordered
        if reason := driver_of_record(manifest).unresumable(manifest):
            raise RecordError(f"can't resume {run.folder}: {reason}")
        if manifest.state is RunState.COMPLETE:
            raise RecordError(f"{run.folder} is complete: nothing is left to resume")
        if ordered is None:
            raise RecordError(f"can't resume {run.folder}: its results were imported; run the test itself")
        ordered = replace(
            ordered,
            target=target or ordered.target,
            io_path=ordered.io_path or fact_of(manifest.engine, "io_path"),
        )
        again = cls.again(ordered, manifest.conditions, consent, manifest.people, manifest.command_line)
        scenario = manifest.scenario or Scenario.SYNTHETIC
        return replace(again, folder=run.folder, scenario=scenario, resumes=resumption)

    @classmethod
    def again(
        cls,
        ordered: RequestedSettings,
        conditions: Conditions,
        consent: Consent,
        people: People,
        command_line: tuple[str, ...],
    ) -> Self:
        """What was ordered, from a record, under these conditions."""
        return cls(
            **asdict(ordered),
            drive_class=conditions.drive_class,
            adjust=lambda _: conditions,
            consent=consent,
            people=people,
            command_line=command_line,
            seed=conditions.seed,
        )

    def requested_conditions(self, test: Procedure) -> Conditions:
        """The standard conditions as the operator adjusts them, before the device is known."""
        return self.adjust(test.standard_conditions(self.drive_class, self.seed or 0))


class CheckedRun(Struct, frozen=True):
    """What a run will do: the device, the space and the purge were checked.

    ``ways`` are those in which it may go, the longest last. ``entries_of_device`` are of the ledger, and
    so are those that ``entries`` has.
    """

    settings: RunSettings
    driver: Driver
    device: DeviceUnderTest
    standard: Conditions
    conditions: Conditions
    ways: tuple[tuple[PlannedApply, ...], ...]
    steps: tuple[Step, ...]
    entries_of_device: tuple[Deviation, ...]
    begun: BegunRun
    folder: Path
    options: NativeOptions
    preparation: Preparation

    @property
    def plan(self) -> tuple[PlannedApply, ...]:
        """The longest that this run can get."""
        return self.ways[-1]

    def script(self) -> Script:
        """What the test asks for."""
        return self.driver.test.script(self.conditions, self.device.facts.user_capacity_bytes)

    def entries(self, engine: Facts) -> Iterator[tuple[Deviation, ...]]:
        """Of the ledger, before the first step: what the device, the engine and the conditions are not."""
        conditions, dut = self.conditions, self.begun.manifest.dut
        yield self.entries_of_device
        yield path_deviations(engine)
        yield rotational_deviations(dut, of_specification=conditions.of_specification)
        yield deviations(conditions, self.standard, self.driver.test.rules)


def checked_run(
    settings: RunSettings, driver: Driver, device: DeviceUnderTest, run_id: str, concerns: Concerns
) -> CheckedRun:
    """Check what the settings ask of the device, and the space for it, before anything on it is changed."""
    test, facts, continues = driver.test, device.facts, settings.continues
    driver.refuse_zones(device.target.device if device.target else None)
    concerns.check(settings)
    seed = secrets.randbits(63) if settings.seed is None else settings.seed
    standard = test.standard_conditions(settings.drive_class, seed)
    adjusted = settings.adjust(standard if continues is None else continues.conditions(test, seed))
    settings.admit(adjusted, facts)
    conditions = test.supported_on(adjusted, facts.sector_bytes, facts.scale)
    if facts.simulation is not None:
        conditions = test.without_data(conditions)
    *_, plan = ways = checked_ways(test, conditions, device)
    steps = tuple(step for planned in plan for step in planned.apply.steps)
    entries = device.deviations(steps if driver.depends_on_scale else ())
    manifest = replace(
        _manifest(settings, device, conditions, run_id, concerns.facts()),
        shortened=shortened(conditions, settings.full_length(standard))
        if settings.resumes is None
        else settings.resumes.run.manifest.shortened,
    )
    folder = settings.folder or Path("openpts-runs") / manifest.test_id
    if continues is not None:
        continues.check(manifest, device.health().values)
    if settings.resumes is None:
        begun = BegunRun.of(manifest, folder)
    else:
        script = test.script(conditions, facts.user_capacity_bytes)
        begun = resumed_run(driver, settings.resumes, manifest, device.health(), script)
    options = replace(
        settings.options,
        interval_ns=interval_ns(conditions.minute_ns),
        over_read_errors=conditions.goes_on_over_read_errors,
        resumed=begun.engine_state,
    )
    check_free_space(device, plan, folder, options.interval_ns)
    preparation = Preparation(device, PurgeChoice.parse(settings.purge))
    if test.purges and not conditions.keeps_data:
        preparation.check_purge()
    found = (standard, conditions, ways, steps, entries, begun, folder, options, preparation)
    checked = CheckedRun(settings, driver, device, *found)
    driver.check(checked.script(), device)
    return checked


def _manifest(
    settings: RunSettings,
    device: DeviceUnderTest,
    conditions: Conditions,
    run_id: str,
    known: Mapping[str, Facts],
) -> Manifest:
    """The manifest of a run that begins now; ``known`` are facts by its fields."""
    now = datetime.now(UTC)
    dut = settings.description.added_to(device.identity())
    software = known.get("software", {})
    name = f"{_short_name(dut, device.facts)}-{now:%Y%m%dT%H%M%SZ}-{conditions.test}"
    return Manifest(
        test_id=f"{name}-{run_id[-_ID_DIGITS:]}",
        command_line=settings.command_line,
        conditions=conditions,
        people=settings.people,
        target=device.facts,
        dut=dut,
        host=known.get("host", {}),
        software=software,
        started_at=now.isoformat(timespec="seconds"),
        ordered=settings.ordered,
        attempts=(attempt_here(software),),
        healed=tuple(healing.text for healing in device.healed),
        scenario=settings.scenario,
        purpose=settings.purpose,
    )


def _short_name(dut: Facts, target: TargetFacts) -> str:
    """What a run is called after, and so its folder: the end of the serial number, else the node's name."""
    if (serial := dut["serial"].value) is not None:
        name = serial[-_SERIAL_DIGITS:]
    else:
        name = target.name if target.kind in {TargetKind.BLOCK, TargetKind.DIRECTORY} else target.kind
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
