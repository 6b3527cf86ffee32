"""Runs a plan for a real drive on a simulated one that resembles it, and says what to expect of it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from openpts.device.targets.simulated_target import SimulatedTarget
from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import Ending, PlannedApply, dry_run
from openpts.procedures.kit.procedure import Procedure
from openpts.record.reader import Run, read_run
from openpts.runner.events import Listener
from openpts.runner.order import Order
from openpts.runner.run import run_test
from openpts.runner.simulated_device import check_preset
from openpts.simulation.presets import SHIPPED
from openpts.simulation.scale import ScaleConcern, Severity, default_scale, scale_concerns
from openpts.units import TB
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.people import People
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.requests import CycleFinished
from openpts.vocabulary.stimulus import Step
from openpts_serve.rehearsal.datasheet import Promise, promises_of
from openpts_serve.rehearsal.plan_warnings import PlanConcern, plan_concerns
from openpts_serve.rehearsal.reference_drive import Subject


class Plan(Struct, frozen=True):
    """What is to be rehearsed. ``adjust`` turns the standard conditions into those of the plan."""

    test: Procedure
    drive_class: DriveClass
    adjust: Callable[[Conditions], Conditions]
    seed: int
    nines: int | None
    scale: int | None
    folder: Path | None
    command_line: tuple[str, ...]


class Rehearsal(Struct, frozen=True):
    """What a run of the plan on the real drive will be like. Times and bytes are those of the real drive.

    ``longest_ns`` is how long it takes if steady state is reached in the last round only. ``tbw_share`` is
    the part of the rated endurance that the run uses up; None where nothing is rated.
    """

    subject: Subject
    target: str
    scale: int
    run: Run
    cycles: tuple[CycleFinished, ...]
    duration_ns: int
    longest_ns: int
    written_bytes: int
    tbw_share: float | None
    promises: tuple[Promise, ...]
    plan_concerns: tuple[PlanConcern, ...]
    scale_concerns: tuple[ScaleConcern, ...]

    @property
    def drive_writes(self) -> float:
        """Times the user capacity that are written."""
        return self.written_bytes / self.subject.capacity_bytes


def rehearse(
    subject: Subject, plan: Plan, listeners: Sequence[Listener], available_memory_bytes: int | None
) -> Rehearsal:
    """Carry out the plan on a simulated drive. Raises UsageError if the scale would change its shape."""
    preset = subject.preset
    check_preset(preset)
    scale = plan.scale or default_scale(preset, subject.capacity_bytes)
    conditions = plan.test.supported_on(
        plan.adjust(plan.test.standard_conditions(plan.drive_class, plan.seed)), preset.sector_bytes, scale
    )
    script = plan.test.script(conditions, subject.capacity_bytes)
    planned = dry_run(script, subject.capacity_bytes, AssumedDrive(), Ending.LONGEST)
    steps = tuple(step for one in planned for step in one.apply.steps)
    of_scale = _warnings_of_scale(subject, plan, scale, steps, available_memory_bytes)
    target = SimulatedTarget(
        preset.name if preset.place == SHIPPED else preset.place, subject.capacity_bytes, scale, plan.seed
    )
    finished = run_test(plan.test, _order(target, plan), listeners)
    run = read_run(finished.folder)
    written_bytes, tbw = sum(step.sample.write.bytes for step in run.steps), subject.rated.get("tbw")
    tbw_share = None if tbw is None else written_bytes / (tbw * TB)
    return Rehearsal(
        subject=subject,
        target=str(target),
        scale=scale,
        run=run,
        cycles=finished.cycles,
        duration_ns=_purges_ns(run) + sum(step.sample.elapsed_ns for step in run.steps),
        longest_ns=_purges_ns(run) + _longest_ns(run, planned),
        written_bytes=written_bytes,
        tbw_share=tbw_share,
        promises=promises_of(subject.rated, run),
        plan_concerns=plan_concerns(subject, run, steps, plan.nines, tbw_share),
        scale_concerns=of_scale,
    )


def _warnings_of_scale(
    subject: Subject, plan: Plan, scale: int, steps: Sequence[Step], available_memory_bytes: int | None
) -> tuple[ScaleConcern, ...]:
    """What the scale changes, as long as a run makes sense at all. Raises UsageError if it does not."""
    found = scale_concerns(
        subject.preset,
        subject.capacity_bytes,
        scale,
        steps,
        nines=plan.nines,
        available_memory_bytes=available_memory_bytes,
    )
    refusals = [concern.message for concern in found if concern.severity is Severity.REFUSE]
    if refusals:
        raise UsageError(f"this plan can't be rehearsed at scale {scale}: {'; '.join(refusals)}")
    return found


def _order(target: SimulatedTarget, plan: Plan) -> Order:
    return Order(
        target=str(target),
        drive_class=plan.drive_class,
        adjust=plan.adjust,
        consent=Consent(),
        purge_choice=PurgeChoice.AUTO,
        people=People(None, None, None),
        command_line=plan.command_line,
        folder=plan.folder,
        seed=plan.seed,
        pin_to_node=False,
    )


def _purges_ns(run: Run) -> int:
    return sum(purge.duration_ns for purge in run.manifest.purges)


def _longest_ns(run: Run, planned: Sequence[PlannedApply]) -> int:
    """What was rehearsed at its own length, and what did not come to pass as planned."""
    rehearsed: dict[tuple[object, ...], list[int]] = {}
    for step in run.steps:
        place = (step.place.cycle, step.place.phase, step.place.number)
        rehearsed.setdefault(place, []).append(step.sample.elapsed_ns)
    lengths: dict[tuple[object, ...], list[int]] = {}
    for one in planned:
        lengths.setdefault((one.cycle, one.apply.phase, one.apply.number), []).extend(one.durations_ns)
    for key, found in rehearsed.items():
        lengths[key] = [*found, *lengths.get(key, [])[len(found) :]]
    return sum(sum(durations_ns) for durations_ns in lengths.values())
