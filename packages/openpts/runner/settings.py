"""What the operator ordered: a run of one test on one target, new or resumed."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from msgspec import field
from msgspec.structs import asdict, replace

from openpts.engine.options import CompletionWait, IoPath, NativeOptions
from openpts.errors import RecordError
from openpts.fields.conditions import Conditions
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import Manifest, RequestedSettings, RunState
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import driver_of
from openpts.runner.resumed_run import Continuation, Resumption, attempt_here
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
from openpts.vocabulary.purge import AUTO, Consent

_SERIAL_DIGITS: Final = 4
# Drives of one name may begin in one second; these digits are random.
_ID_DIGITS: Final = 6

Adjust = Callable[[Conditions], Conditions]
Admit = Callable[[Conditions, TargetFacts], None]


def _anything(_conditions: Conditions, _target: TargetFacts) -> None:
    """Default of ``admit``: no condition asks for more than any target can do."""


class RunSettings(RequestedSettings, frozen=True, kw_only=True):
    """What the operator asked for. ``adjust`` turns the standard conditions into those of this run.

    ``admit`` raises UsageError where conditions ask of the target what it can't do, though the operator did
    not have to ask. ``inputs`` are the files that the operator wrote for the run, by the names of their
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
    drive_class: DriveClass
    adjust: Adjust
    consent: Consent
    people: People
    command_line: tuple[str, ...]
    admit: Admit = _anything
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
        if reason := driver_of(procedure_of(manifest.conditions.test)).unresumable(manifest):
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

    def manifest(
        self, device: DeviceUnderTest, conditions: Conditions, run_id: str, known: Mapping[str, Facts]
    ) -> Manifest:
        """The manifest of a run that begins now; ``known`` are facts by its fields."""
        now = datetime.now(UTC)
        dut = self.description.added_to(device.identity())
        software = known.get("software", {})
        name = f"{_short_name(dut, device.facts)}-{now:%Y%m%dT%H%M%SZ}-{conditions.test}"
        return Manifest(
            test_id=f"{name}-{run_id[-_ID_DIGITS:]}",
            command_line=self.command_line,
            conditions=conditions,
            people=self.people,
            target=device.facts,
            dut=dut,
            host=known.get("host", {}),
            software=software,
            started_at=now.isoformat(timespec="seconds"),
            ordered=self.ordered,
            attempts=(attempt_here(software),),
            healed=tuple(healing.text for healing in device.healed),
            scenario=self.scenario,
            purpose=self.purpose,
        )

    def wanted_conditions(self, test: Procedure) -> Conditions:
        """The standard conditions as the operator adjusts them, before the device is known."""
        return self.adjust(test.standard_conditions(self.drive_class, self.seed or 0))


def _short_name(dut: Facts, target: TargetFacts) -> str:
    """What a run is called after, and so its folder: the end of the serial number, else the node's name."""
    if (serial := dut["serial"].value) is not None:
        name = serial[-_SERIAL_DIGITS:]
    else:
        name = target.name if target.kind in {TargetKind.BLOCK, TargetKind.DIRECTORY} else target.kind
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
