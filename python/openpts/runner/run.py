"""One run from the operator's order to the closed run folder."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from openpts.device.consent import Consent
from openpts.engine.options import Demand, NativeOptions
from openpts.errors import TargetError
from openpts.host.inventory import host_facts
from openpts.host.software import software_facts
from openpts.pts import iops
from openpts.pts.standard import deviations, without_impossible_sizes
from openpts.record.manifest import Manifest, People
from openpts.record.writer import RunWriter
from openpts.runner.bench import DeviceUnderTest, device_under_test
from openpts.runner.ending import closing_record, terminate_as_interrupt
from openpts.runner.events import Event, Listener, RunStarted
from openpts.runner.live import LiveDriver
from openpts.runner.preparation import Preparation, PurgeChoice, path_deviations
from openpts.system_files import SystemRoots
from openpts.units import format_block_size, format_capacity
from openpts.vocabulary.conditions import Profile, TestConditions
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.requests import Outcome


@dataclass(frozen=True, slots=True)
class Order:
    """What the operator asked for. ``adjust`` turns the standard conditions into those of this run."""

    target: str
    profile: Profile
    adjust: Callable[[TestConditions], TestConditions]
    consent: Consent
    purge_choice: PurgeChoice
    people: People
    command_line: tuple[str, ...]
    folder: Path | None = None
    seed: int | None = None
    options: NativeOptions = field(default_factory=NativeOptions)
    pin_to_node: bool = True


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that came to its end; ``outcome`` tells whether steady state was reached."""

    folder: Path
    outcome: Outcome


def run_iops(order: Order, listeners: Sequence[Listener]) -> FinishedRun:
    """Run the IOPS test. Everything that can be refused is refused before the purge.

    Raises OpenptsError; from the moment the run folder exists it tells what was done and why it ended.
    """
    seed = secrets.randbits(63) if order.seed is None else order.seed
    standard = iops.standard_conditions(order.profile, seed)
    with (
        terminate_as_interrupt(),
        device_under_test(order.target, order.consent, for_writing=True) as device,
    ):
        conditions = without_impossible_sizes(order.adjust(standard), device.facts.sector_bytes)
        _check_size(conditions, device.facts)
        entries = device.deviations(iops.steps(conditions, device.facts.user_capacity_bytes))
        demand = Demand(conditions.tc, conditions.qd, conditions.largest_block_size_bytes)
        with device.engine(demand, conditions.seed, order.options, near=order.pin_to_node) as engine:
            manifest = replace(_manifest(order, device, conditions), engine=engine.facts)
            folder = order.folder or Path("openpts-runs") / manifest.test_id
            writer = RunWriter.create(folder, manifest)
            preparation = Preparation(device, order.purge_choice)
            driver = LiveDriver(engine, preparation, writer, _to_all(listeners))
            driver.emit(RunStarted(folder, manifest))
            with closing_record(writer, driver.emit) as close:
                driver.add_deviations(entries)
                driver.add_deviations(path_deviations(engine.facts))
                driver.add_deviations(deviations(conditions, standard, iops.RULES))
                outcome = driver.drive(iops.iops_test(conditions, device.facts.user_capacity_bytes))
                close(outcome)
    return FinishedRun(folder, outcome)


def _check_size(conditions: TestConditions, target: TargetFacts) -> None:
    """No two outstanding I/Os should have to overlap: the active range holds them all side by side."""
    start, end = conditions.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
    range_bytes = (end - start) // target.scale
    outstanding_bytes = conditions.tc * conditions.qd * conditions.largest_block_size_bytes
    if range_bytes < outstanding_bytes:
        raise TargetError(
            f"{target.name} is too small for the queue: its active range holds "
            f"{format_capacity(range_bytes)}{_simulated(target)}, TC {conditions.tc} x QD {conditions.qd} x "
            f"{format_block_size(conditions.largest_block_size_bytes)} outstanding need "
            f"{format_capacity(outstanding_bytes)}; take a larger target, or a smaller --tc or --qd"
        )


def _simulated(target: TargetFacts) -> str:
    return "" if target.simulation is None else f" at scale 1:{target.scale}"


def _manifest(order: Order, device: DeviceUnderTest, conditions: TestConditions) -> Manifest:
    now = datetime.now(UTC)
    dut = device.identity()
    serial = dut["serial"].value or device.facts.kind
    return Manifest(
        test_id=f"{serial[-4:]}-{now:%Y%m%dT%H%M%SZ}-{conditions.test}",
        command_line=order.command_line,
        conditions=conditions,
        people=order.people,
        target=device.facts,
        dut=dut,
        host=host_facts(SystemRoots()),
        software=software_facts(),
        started_at=now.isoformat(timespec="seconds"),
    )


def _to_all(listeners: Sequence[Listener]) -> Listener:
    def emit(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return emit
