"""The plan of a test, printed as lines or as a document."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openpts.cli.live_outputs import log_stream
from openpts.cli.planned_run import fitting_target, planned_run
from openpts.cli.procedure_options import Choices
from openpts.cli.standard_streams import BELOW_LABELS, print_document, wrapped
from openpts.device.guard.guard import GuardVerdict, verdict_on
from openpts.device.targets.target import has_scheme, parse_target
from openpts.errors import UsageError
from openpts.planning.dry_run import AssumedDrive, AssumedDrives, PlannedApply, capture_bytes, record_bytes
from openpts.planning.plan import Extent, PhaseExtent, Repeated, RunPlan, collapsed, extents_of_all, span
from openpts.procedures.kit.procedure import Procedure
from openpts.runner.driver import driver_of
from openpts.runner.resource_check import assumed_drives, interval_ns
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import MB, NS_PER_US, format_capacity, format_count, format_duration, parse_size_bytes
from openpts.vocabulary.document import Document
from openpts.vocabulary.sample import Phase, phase_text
from openpts.vocabulary.stimulus import (
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Steady,
    Step,
    StopRule,
    Stream,
)
from openpts.vocabulary.verdict import Deviation


def suite_lines(
    plans: Sequence[RunPlan], target: str, assumed: Sequence[str], tbw_bytes: int | None
) -> Iterator[str]:
    """What several tests take together, each of them, and what is taken for granted."""
    first = plans[0]
    capacity = format_capacity(first.user_capacity_bytes)
    yield f"{format_count(len(plans), 'test')}, {first.conditions.class_text}, on {target}, {capacity}"
    yield ""
    yield from answer_lines(plans, tbw_bytes)
    yield ""
    yield f"{'test':<36}{'shortest':>14}{'longest':>14}{'writes at most':>16}"
    for plan in plans:
        yield _extent_line(plan.test.name, plan.shortest_extent, plan.longest_extent)
    yield ""
    yield from (f"assumed     {assumption}" for assumption in (*_drive_lines(first.drives), *assumed))


def answer_lines(plans: Sequence[RunPlan], tbw_bytes: int | None) -> Iterator[str]:
    """How long, how much it writes, how much of the endurance that is, and the room that the record takes."""
    extents = extents_of_all(plans)
    lengths = [format_duration(extent.duration_ns) for extent in extents]
    rated_bytes = tbw_bytes or plans[0].drives.tbw_bytes
    purges = any(plan.longest and plan.test.purges for plan in plans)
    yield f"takes       {span(*lengths)}{', purges not counted' if purges else ''}"
    written = [extent.written_bytes for extent in extents]
    fills = (f"{amount / plans[0].user_capacity_bytes:.1f}" for amount in written)
    yield f"writes      {span(*map(format_capacity, written))}, {span(*fills)} drive fills"
    if rated_bytes is None:
        yield "wear        rated endurance unknown (--tbw)"
    else:
        shares = (f"{100 * amount / rated_bytes:.2g} %" for amount in written)
        yield f"wear        {span(*shares)} of the rated {format_capacity(round(rated_bytes))}"
    stored = sum(
        record_bytes(plan.longest, interval_ns(plan.conditions.minute_ns))
        + capture_bytes(plan.longest, plan.drives.fast)
        for plan in plans
    )
    yield f"space       {format_capacity(stored)} for the {'records' if len(plans) > 1 else 'record'} at most"


class PlannedExtent(Struct, frozen=True):
    """``tbw_share`` is the part of the rated endurance that is written; None where nothing is rated."""

    duration_ns: int
    written_bytes: int
    drive_fills: float
    tbw_share: float | None


class RepeatedSteps(Struct, frozen=True):
    """Steps as the record keeps them, and how often they come one after the other."""

    count: int
    steps: tuple[Step, ...]


class PlannedPart(Struct, frozen=True):
    """A round, a wait state and so on."""

    cycle: int
    phase: Phase
    number: int
    steps: tuple[RepeatedSteps, ...]
    duration_ns: int
    written_bytes: int

    @classmethod
    def of(cls, planned: PlannedApply) -> Self:
        """With all steps together."""
        again = (RepeatedSteps(one.count, one.pattern) for one in collapsed(planned.apply.steps))
        apply, extent = planned.apply, Extent.of((planned,))
        return cls(
            planned.cycle, apply.phase, apply.number, tuple(again), extent.duration_ns, extent.written_bytes
        )


class PlannedBlock(Struct, frozen=True):
    """Parts that come so often, in turn."""

    count: int
    parts: tuple[PlannedPart, ...]


class Assumptions(Struct, frozen=True):
    """The drives that times follow from, the fastest and the slowest; what else is assumed, in words."""

    drive: AssumedDrive
    slow: AssumedDrive
    others: tuple[str, ...]


class PlanDocument(Document, frozen=True, kw_only=True, tag="openpts.plan/1"):
    """What a run would do. Times are in ns, shares are parts of one.

    ``conditions`` are those of the test, as the record has them. ``planned`` says in words what a test does
    whose steps a program decides. ``safety`` is None without a drive or a file.
    """

    test: str
    target: str
    user_capacity_bytes: int
    conditions: dict[str, Any]
    purge: str
    shortened: bool
    shortest: PlannedExtent
    longest: PlannedExtent
    planned: tuple[str, ...]
    blocks: tuple[PlannedBlock, ...]
    phases: tuple[PhaseExtent, ...]
    assumptions: Assumptions
    ledger: tuple[Deviation, ...]
    safety: GuardVerdict | None


class SuitePlanDocument(Document, frozen=True, kw_only=True, tag="openpts.suite-plan/1"):
    """What a suite would do: the plan of each test, but for purge, guard and a drive's own deviations."""

    plans: tuple[PlanDocument, ...]


class PrintedPlan(Struct, frozen=True):
    """A plan, the name of what it is for, and what is known beside it: the ledger to come, assumptions."""

    plan: RunPlan
    target: str
    ledger: Sequence[Deviation]
    assumed: Sequence[str]
    tbw_bytes: int | None
    purge: str = ""
    safety: GuardVerdict | None = None

    def lines(self, *, steps: bool) -> Iterator[str]:
        """What it takes, its parts, with ``steps`` every step in its order, assumptions, the ledger."""
        plan, conditions, assumed = self.plan, self.plan.conditions, self.assumed
        capacity = format_capacity(plan.user_capacity_bytes)
        yield f"{plan.test.title} ({plan.test.source}), {conditions.class_text}, on {self.target}, {capacity}"
        yield ""
        if conditions.planned_lines:
            yield from conditions.planned_lines
        else:
            yield from answer_lines([plan], self.tbw_bytes)
            yield ""
            yield from _table_lines(plan)
            yield ""
            if steps:
                yield from _step_lines(plan)
                yield ""
            yield f"purge       {self.purge}"
            assumed = (*_drive_lines(plan.drives), *assumed)
        yield from (f"assumed     {assumption}" for assumption in assumed)
        if not self.ledger:
            yield "ledger      empty as far as known without the device"
        for one in self.ledger:
            yield f"deviation   {one.rule_id} ({one.clause}): required {one.required}; used {one.used}"
        if self.safety is not None:
            yield from self.safety.lines()

    def document(self) -> PlanDocument:
        """The same for machines."""
        plan = self.plan
        return PlanDocument(
            test=plan.test.name,
            target=self.target,
            user_capacity_bytes=plan.user_capacity_bytes,
            conditions=msgspec.to_builtins(plan.conditions),
            purge=self.purge,
            shortened=plan.shortened,
            shortest=self._extent(plan.shortest_extent),
            longest=self._extent(plan.longest_extent),
            planned=tuple(plan.conditions.planned_lines),
            blocks=tuple(
                PlannedBlock(block.count, tuple(map(PlannedPart.of, block.pattern))) for block in plan.blocks
            ),
            phases=tuple(plan.phases),
            assumptions=Assumptions(plan.drives.fast, plan.drives.slow, tuple(self.assumed)),
            ledger=tuple(self.ledger),
            safety=self.safety,
        )

    def _extent(self, extent: Extent) -> PlannedExtent:
        written_bytes, tbw_bytes = extent.written_bytes, self.tbw_bytes or self.plan.drives.tbw_bytes
        tbw_share = None if tbw_bytes is None else written_bytes / tbw_bytes
        fills = written_bytes / self.plan.user_capacity_bytes
        return PlannedExtent(extent.duration_ns, written_bytes, fills, tbw_share)


def _step_lines(plan: RunPlan) -> Iterator[str]:
    cycle = 0
    for block in plan.blocks:
        if block.pattern[0].cycle != cycle:
            cycle = block.pattern[0].cycle
            yield f"cycle {cycle}: purge" if plan.longest[-1].cycle > 1 else "purge"
        yield from _block_lines(block)


def _block_lines(block: Repeated[PlannedApply]) -> Iterator[str]:
    """Rounds and their pre-writes, one line each: "in turn" marks that they alternate."""
    turn = ", in turn" if len(block.pattern) > 1 else ""
    each = " each" if block.count > 1 else ""
    for planned in block.pattern:
        name, steps = _range_text(planned, block.count), format_count(len(planned.apply.steps), "step")
        yield f"{name}: {steps}, {format_duration(sum(planned.durations_ns))}{each}{turn}"
        for again in collapsed(planned.apply.steps):
            times = f"{again.count} x  " if again.count > 1 else ""
            yield f"    {times}{'; '.join(step_text(step) for step in again.pattern)}"


def _range_text(planned: PlannedApply, count: int) -> str:
    first = phase_text(planned.apply.phase, planned.apply.number)
    if count == 1:
        return first
    return f"{first.replace('round', 'rounds')} to {planned.apply.number + count - 1}"


def step_text(step: Step) -> str:
    """A step with its demand and what ends it: ``RND 4 KiB 0/100, TC 4 QD 32, 1 min 0 s``."""
    rules = step.stop.rules if isinstance(step.stop, FirstOf) else (step.stop,)
    counts_reads = any(isinstance(rule, ByteAmount | DriveFills) for rule in rules) and any(
        stimulus.operations.read for stimulus in step.stimuli
    )
    streams = "; ".join(_stream_text(stream) for stream in step.streams) or str(step)
    reads = ", reads included" if counts_reads else ""
    return f"{streams}, {stop_text(step.stop)}{reads}{', every I/O captured' if step.capture else ''}"


def _stream_text(stream: Stream) -> str:
    """A stream in words: stimulus, demand, and how often I/Os are planned."""
    planned = stream.stimulus.planned_ios_per_s
    rate = "" if planned is None else f", {planned:,.0f} arrivals/s"
    return f"{stream}, TC {stream.stimulus.tc} QD {stream.stimulus.qd}{rate}"


def stop_text(stop: StopRule) -> str:
    """What ends a step, in words."""
    match stop:
        case Duration(duration_ns):
            text = format_duration(duration_ns)
        case ByteAmount(amount_bytes):
            text = format_capacity(amount_bytes)
        case DriveFills(fills):
            text = f"{fills:g} x user capacity"
        case IoCount(ios):
            text = f"{ios:,} I/Os"
        case Steady(figure, window_ns, windows):
            text = f"until {figure.value} is steady over {windows} x {format_duration(window_ns)}"
        case FirstOf(()):
            text = "each to its own end"
        case FirstOf(rules, at_least_ns):
            text = " or ".join(stop_text(rule) for rule in rules)
            if at_least_ns:
                text += f", but at least {format_duration(at_least_ns)}"
    return text


def _table_lines(plan: RunPlan) -> Iterator[str]:
    yield f"{'phase':<36}{'shortest':>14}{'longest':>14}{'writes at most':>16}"
    several = plan.longest[-1].cycle > 1 if plan.longest else False
    for phase in plan.phases:
        name = _NAMES.get(phase.phase) or f"{phase.phase.replace('_', ' ')}s"
        if phase.longest_applies != 1:
            # the short form continues without its pass at full length
            applies = sorted({phase.shortest_applies, phase.longest_applies})
            name += f", {' to '.join(map(str, applies))}"
        yield _extent_line(f"cycle {phase.cycle}, {name}" if several else name, phase.shortest, phase.longest)


def _extent_line(name: str, shortest: Extent, longest: Extent) -> str:
    lengths = (format_duration(extent.duration_ns) for extent in (shortest, longest))
    most = format_capacity(max(shortest.written_bytes, longest.written_bytes))
    return f"{name:<36}{next(lengths):>14}{next(lengths):>14}{most:>16}"


_NAMES = {
    Phase.WIPC: "WIPC",
    Phase.WDPC: "preconditioning",
    Phase.SATURATION: "saturation",
    Phase.RETURN_TO_BASELINE: "returns to baseline",
    Phase.ROUND_PREWRITE: "pre-writes of rounds",
    Phase.HISTOGRAM_PREWRITE: "pre-writes of histograms",
    Phase.CONDITIONING: "conditioning",
    Phase.PROFILE: "profile rows",
}


def _drive_lines(drives: AssumedDrives) -> Iterator[str]:
    yield f"{_drive_text(drives.fast)} at most"
    yield f"{_drive_text(drives.slow)} at least, as behind a cache"


def _drive_text(drive: AssumedDrive) -> str:
    return (
        f"reads {drive.read_iops:,.0f} IOPS and {drive.read_bytes_per_s / MB:,.0f} MB/s, "
        f"writes {drive.write_iops:,.0f} IOPS and {drive.write_bytes_per_s / MB:,.0f} MB/s, "
        f"{drive.latency_ns / NS_PER_US:g} us each,"
    )


def print_plan(
    target: str | None,
    choices: Choices,
    *,
    as_json: bool,
    steps: bool,
    capacity: str | None,
    tbw: int | None,
    purge: str | None = None,
    **rates: float | None,
) -> None:
    """Print it as text or as JSON, with what would be refused now. Raises UsageError and TargetError."""
    roots = SystemRoots()
    if target is not None:
        target = fitting_target(target, [choices], log_stream(as_json=as_json))
    unopened = plan_target(target, capacity, choices.test, roots)
    plan = planned_run(choices, unopened, drives_of(unopened, **rates))
    planned = [step for planned in plan.longest for step in planned.apply.steps]
    if not driver_of(choices.test).depends_on_scale:
        planned = []  # as in a run
    cache = plan.conditions.write_cache_enabled
    choice = choices.purge(purge) if choices.test.purges else None
    by = "the test makes none" if choice is None else unopened.purge_text(choice)
    ledger = (*unopened.deviations(planned, choice, cache, roots), *plan.deviations)
    name = unopened.facts.path if unopened.exists else unopened.facts.name
    if target is None:
        name = unopened.facts.name
    no_drive = target is None or has_scheme(target) or Path(target).is_dir()
    verdict = None if target is None or no_drive else verdict_on(parse_target(target), roots)
    printed = PrintedPlan(plan, name, ledger, unopened.assumed, tbw, by, verdict)
    if as_json:
        print_document(printed.document())
        return
    for line in printed.lines(steps=steps):
        click.echo(wrapped(line, sys.stdout, BELOW_LABELS))


def plan_target(
    target: str | None, capacity: str | None, test: Procedure, roots: SystemRoots
) -> UnopenedTarget:
    """What is planned for: a target, or a drive of that capacity. Raises UsageError for both or neither."""
    match target, capacity:
        case None, None:
            context = click.get_current_context()
            raise click.MissingParameter(
                "Give one of them.", ctx=context, param_hint=["TARGET", "--capacity"], param_type="parameter"
            )
        case str(), None:
            driver = driver_of(test)
            unopened = driver.unopened(target, roots)
            driver.refuse_zones(unopened.device)
            return unopened
        case None, str():
            return UnopenedTarget.of_capacity(parse_size_bytes(capacity))
    raise UsageError("name either a target or --capacity to plan for")


def drives_of(
    unopened: UnopenedTarget,
    *,
    read_iops: float | None,
    write_iops: float | None,
    read_rate: float | None,
    write_rate: float | None,
    latency_us: float | None,
) -> AssumedDrives:
    """With the rates that the operator names: the most that the drive does, before its cache is full."""
    given = {
        "read_iops": read_iops,
        "write_iops": write_iops,
        "read_bytes_per_s": None if read_rate is None else read_rate * MB,
        "write_bytes_per_s": None if write_rate is None else write_rate * MB,
        "latency_ns": None if latency_us is None else max(1, round(latency_us * NS_PER_US)),
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    drives = assumed_drives(unopened.facts.path)
    fast, slow = replace(drives.fast, **changes), replace(drives.slow, **changes)
    if write_iops is not None or write_rate is not None:
        fast = replace(fast, settled_write_iops=None, settled_write_bytes_per_s=None)
        slow = fast.behind_cache()
    return replace(drives, fast=fast, slow=slow)
