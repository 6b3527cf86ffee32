"""Runs a plan for a real drive on a simulated one that resembles it, and says what to expect of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openpts.analysis.round_test import analyse_round_test
from openpts.analysis.rounds import TestPoint
from openpts.device.consent import Consent
from openpts.device.simulated_target import SimulatedTarget
from openpts.errors import UsageError
from openpts.pts.standard import without_impossible_sizes
from openpts.record.manifest import People
from openpts.record.reader import Run, read_run
from openpts.rehearsal.concerns import PlanConcern, plan_concerns
from openpts.rehearsal.subject import Subject
from openpts.rehearsal.tests import RehearsableTest
from openpts.runner.events import Listener
from openpts.runner.preparation import PurgeChoice
from openpts.runner.run import Order
from openpts.runner.simulated_device import check_preset
from openpts.simulation.presets import SHIPPED
from openpts.simulation.scale import ScaleConcern, Severity, default_scale, scale_concerns
from openpts.units import KIB, TB
from openpts.vocabulary.conditions import Profile, TestConditions
from openpts.vocabulary.stimulus import AccessPattern, Step

# Which test point a promise of a data sheet is about.
_PROMISED_POINTS: Final = {
    "random_write_iops": TestPoint(AccessPattern.RANDOM, 4 * KIB, 0),
    "random_read_iops": TestPoint(AccessPattern.RANDOM, 4 * KIB, 100),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be rehearsed. ``adjust`` turns the standard conditions into those of the plan."""

    test: RehearsableTest
    profile: Profile
    adjust: Callable[[TestConditions], TestConditions]
    seed: int
    nines: int | None
    scale: int | None
    folder: Path | None
    command_line: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Promise:
    """A figure of the data sheet, and what the model expects."""

    name: str
    rated: float
    expected: float


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a run of the plan on the real drive will be like. Times and bytes are those of the real drive.

    ``longest_ns`` is how long it takes if steady state is never reached. ``tbw_share`` is the part of the
    rated endurance that the run uses up; None where nothing is rated.
    """

    subject: Subject
    target: str
    scale: int
    run: Run
    steady_round: int | None
    rounds: int
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
    conditions = without_impossible_sizes(
        plan.adjust(plan.test.standard_conditions(plan.profile, plan.seed)), preset.sector_bytes
    )
    steps = plan.test.steps(conditions, subject.capacity_bytes)
    of_scale = _warnings_of_scale(subject, plan, scale, steps, available_memory_bytes)
    target = SimulatedTarget(
        preset.name if preset.place == SHIPPED else preset.place, subject.capacity_bytes, scale, plan.seed
    )
    finished = plan.test.run(_order(target, plan), listeners)
    run, outcome = read_run(finished.folder), finished.outcome
    written_bytes, tbw = sum(step.sample.write.bytes for step in run.steps), subject.rated.get("tbw")
    tbw_share = None if tbw is None else written_bytes / (tbw * TB)
    duration_ns = _duration_ns(run)
    rounds_left = conditions.max_rounds - outcome.last_round
    return Rehearsal(
        subject=subject,
        target=str(target),
        scale=scale,
        run=run,
        steady_round=outcome.steady_round,
        rounds=outcome.last_round,
        duration_ns=duration_ns,
        longest_ns=duration_ns + rounds_left * conditions.round_duration_ns,
        written_bytes=written_bytes,
        tbw_share=tbw_share,
        promises=_promises(subject, run, outcome.steady_round),
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
        profile=plan.profile,
        adjust=plan.adjust,
        consent=Consent(),
        purge_choice=PurgeChoice.AUTO,
        people=People(None, None, None),
        command_line=plan.command_line,
        folder=plan.folder,
        seed=plan.seed,
        pin_to_node=False,
    )


def _duration_ns(run: Run) -> int:
    """Purge and steps."""
    purge = run.manifest.purge
    return sum(step.sample.elapsed_ns for step in run.steps) + (purge.duration_ns if purge else 0)


def _promises(subject: Subject, run: Run, steady_round: int | None) -> tuple[Promise, ...]:
    """Each promise that this test measures beside what the model makes of it: compared, never adjusted."""
    numbered = [(step.round_number, step.sample) for step in run.steps if step.round_number is not None]
    cells = analyse_round_test(run.manifest.conditions, numbered, steady_round).cells
    found = [
        Promise(name, subject.rated[name], cells[point].iops)
        for name, point in _PROMISED_POINTS.items()
        if name in subject.rated and point in cells
    ]
    filling = [step.sample for step in run.steps if step.round_number is None]
    if "sequential_write_bytes_per_s" in subject.rated and filling:
        found.append(
            Promise(
                "sequential_write_bytes_per_s",
                subject.rated["sequential_write_bytes_per_s"],
                filling[0].bandwidth_bytes_per_s,
            )
        )
    return tuple(found)
