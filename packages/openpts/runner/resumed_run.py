"""A run that goes on, or follows a finished one: what stands, and how its device gets back there.

A run that begins has the same interface, so that nothing else asks which it is. The script of one that goes
on is answered from the record up to there, then driven as in any run. A drive that exists continues from the
purge of the cycle that was cut, as the specification allows no interruption between the purge and the end of
the rounds; or from the round that was cut, if the operator accepts that or the test is made for it. A
simulated drive is restored to its state by repeating in virtual time what it did.
"""

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.engine.contract import CapturingEngine
from openpts.engine.options import NativeOptions, Resumed
from openpts.errors import RecordError, TargetError, UsageError
from openpts.fields.conditions import Conditions
from openpts.ownership import CLAIM_NAME, RunOwner, folder_claimed, new_run_id, read_owner
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import procedure_of
from openpts.record.database import LastStep, last_step
from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.manifest import Attempt, Manifest, RunState
from openpts.record.reader import Run, ns_between, read_manifest, stored_run
from openpts.record.writer import CAPTURE_FOLDER, RunWriter
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver, driver_of
from openpts.runner.preparation import Preparation
from openpts.runner.replay import Interruption, ReplayedRequest, ResumePoint, cut_of, resumed
from openpts.runner.resource_check import demand_of, interval_ns
from openpts.runner.script_runner import RecordedPrefix, ScriptRunner
from openpts.system_files import SystemRoots, boot_id
from openpts.units import format_capacity, format_count, format_duration
from openpts.vocabulary.facts import Facts, HealthReading, PurgeReport, fact_of
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, ReadHealth, Script, SetWriteCache
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.verdict import Deviation

_IDENTITY: Final = ("serial", "model", "firmware")
_POLL_S: Final = 1.0


def other_identity(then: Manifest, now: Manifest) -> list[str]:
    """What a drive is known by and is not as in the record, each in words; nothing for the same drive."""
    before, found = _identity(then), _identity(now)
    return [
        f"{name} {found[name]} instead of {before[name]}" for name in before if found[name] != before[name]
    ]


def _identity(manifest: Manifest) -> dict[str, str]:
    """What must be as it was; of a simulated drive all that it is made from."""
    target, dut = manifest.target, manifest.dut
    return {
        **{name: (fact.value or "none") if (fact := dut.get(name)) else "none" for name in _IDENTITY},
        "kind": target.kind,
        "capacity": f"{format_capacity(target.user_capacity_bytes)} ({target.user_capacity_bytes} B)",
        "LBA size": f"{target.sector_bytes} B",
        "simulation": str(target.simulation),
    }


def repeat(
    requests: Iterable[ReplayedRequest],
    run: Run,
    engine: CapturingEngine,
    preparation: Preparation,
    verb: str,
) -> None:
    """Carry out again what the record has of a simulated drive, and hold the figures against it.

    Raises RecordError if they are others: another version computed them. ``verb`` is what can't be done then.
    """
    samples = {step.place: step.sample for step in run.steps}
    for answered in requests:
        match answered.request:
            case Purge(needed=True):
                preparation.purge(lambda _share, _text: None)
            case SetWriteCache(enabled):
                preparation.write_cache(enabled)
            case Apply(steps=steps):
                engine.submit(steps)
                for stored in (samples[place] for place in answered.places):
                    while (again := engine.poll(_POLL_S)) is None:
                        pass
                    if _figures(again) != _figures(stored):
                        raise RecordError(
                            f"can't {verb} {run.folder}: this version of openpts computes other figures of "
                            f"{stored.step} than its record has; run the test again"
                        )
            case _:
                pass


def _figures(sample: Sample) -> tuple[object, ...]:
    """Figures by which two simulations of one step are compared: they must be equal."""
    times = sample.started_ns, sample.elapsed_ns, sample.gap_ns
    return times, sample.operations, sample.streams, sample.state


_WRITTEN: Final = "host_write_bytes"
_LATE_SHARE: Final = 0.001
"""Of the capacity: by so much the log of a drive may lag behind, or be rounded."""


class Continuation(Struct, frozen=True):
    """The finished ``run`` that is continued; ``rest_ns`` is None unless the operator gave it."""

    run: Run
    rest_ns: int | None = None

    def conditions(self, test: Procedure, seed: int) -> Conditions:
        """Conditions of the continued run, numbered on. Raises RecordError where it can't be continued."""
        found: Conditions = test.part("continuation").following(self.run, self.rest_ns or 0, seed)
        return found

    def check(self, now: Manifest, log: Mapping[str, float]) -> None:
        """Raises TargetError for another drive, or one that was written since; ``log`` is the drive's own.

        Raises UsageError where the operator wants what the run's data, or this drive, does not allow.
        """
        then, folder = self.run.manifest, self.run.folder
        if others := other_identity(then, now):
            raise TargetError(
                f"can't continue {folder} on {now.target.path}: it is not the drive of that run: "
                f"{', '.join(others)}"
            )
        for name, option in (("active_range", "--active-range"), ("data", "--data-pattern")):
            if getattr(now.conditions, name) != getattr(then.conditions, name):
                raise UsageError(
                    f"{option} must be that of {folder}, whose data is read first: leave it out, or begin a "
                    "new run without --continue"
                )
        if now.target.simulation is not None:
            return
        if self.rest_ns is not None:
            raise UsageError("--rest-days is for simulated drives: the data of this one ages by itself")
        written = [one.reading.values[_WRITTEN] for one in self.run.health if _WRITTEN in one.reading.values]
        since_bytes = log[_WRITTEN] - written[-1] if written and _WRITTEN in log else 0
        if since_bytes > _LATE_SHARE * now.target.user_capacity_bytes:
            raise TargetError(
                f"can't continue {folder} on {now.target.path}: by its log "
                f"{format_capacity(int(since_bytes))} were written to it since, so what that run wrote may "
                "be gone. Begin a new run without --continue"
            )


def bring_back_earlier(conditions: Conditions, device: DeviceUnderTest, preparation: Preparation) -> None:
    """A simulated drive as the runs before left it; nothing for a run that continues none.

    Raises RecordError where one of them is not there, or this version of openpts computes other figures.
    """
    after = conditions.earlier_run
    if after is None or device.facts.simulation is None:
        return
    folder = Path(after.folder)
    if not folder.is_dir():
        raise RecordError(
            f"can't bring back the simulated drive: {after.run}, which this run continues, is not in "
            f"{folder} any more; put it back, or run the test again"
        )
    if (found := stored_run(folder).manifest.test_id) != after.run:
        raise RecordError(
            f"can't bring back the simulated drive: {folder} holds {found} instead of {after.run}; put it "
            "back, or run the test again"
        )
    run = stored_run(folder)
    before = run.manifest.conditions
    bring_back_earlier(before, device, preparation)
    test = procedure_of(before.test)
    script = test.script(before, device.facts.user_capacity_bytes)
    kept = cut_of(script, run, ResumePoint.PROGRAM, driver_of(test).recorded).kept
    steps = [step for one in kept if isinstance(one.request, Apply) for step in one.request.steps]
    options = NativeOptions(
        interval_ns=interval_ns(before.minute_ns), over_read_errors=before.goes_on_over_read_errors
    )
    with device.engine(demand_of(steps), before.seed, options, near=False) as engine:
        repeat(kept, run, engine, preparation, "continue")


_POWER_CYCLES: Final = "power_cycles"


def attempt_here(software: Facts) -> Attempt:
    """The attempt that this process begins."""
    return Attempt(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        pid=os.getpid(),
        host=platform.node(),
        boot_id=boot_id(SystemRoots()) or None,
        kernel=fact_of(software, "kernel"),
        openpts=fact_of(software, "test_software"),
    )


def ended(manifest: Manifest, last: LastStep, set_aside: Sequence[PurgeReport]) -> Attempt:
    """The last attempt of a run that ended early, with how; ``set_aside`` are purges that stand no more."""
    was_killed, attempt = manifest.state is RunState.RUNNING, manifest.attempts[-1]
    last_seen = last.stored_at if last.steps > attempt.steps else attempt.started_at
    return replace(
        attempt,
        end=manifest.state,
        ended_at=last_seen if was_killed else manifest.ended_at,
        reason="killed, or lost its power" if was_killed else manifest.state_reason,
        set_aside=tuple(set_aside),
    )


def power_cycles_since(health: Sequence[HealthRecord], now: HealthReading) -> int | None:
    """How often the drive was switched on since its log was last read; None where the log does not say."""
    earlier = [record for record in health if record.occasion is not ReadingPoint.SET_ASIDE]
    before = earlier[-1].reading.values.get(_POWER_CYCLES) if earlier else None
    after = now.values.get(_POWER_CYCLES)
    return None if before is None or after is None else round(after - before)


class Resumption(Struct, frozen=True):
    """What the operator wants of a run that was cut off, and accepts."""

    run: Run
    accept_interruption: bool = False
    accept_other_host: bool = False
    accept_other_version: bool = False

    @property
    def run_id(self) -> str:
        """The ID under which the run has claimed its folder; a new one if it was killed before that."""
        owner = read_owner(self.run.folder / CLAIM_NAME)
        return new_run_id() if owner is None else owner.run_id


class BegunRun(Struct, frozen=True):
    """What of a run differs where it continues; the defaults are those of one that begins.

    ``number`` is that of the attempt, from 1; ``where``: where it continues, and what stands. ``begins`` is
    the occasion of the first reading of the drive's log.
    """

    manifest: Manifest
    number: int = 1
    where: str = ""
    begins: ReadingPoint = ReadingPoint.BEFORE
    engine_state: Resumed | None = None

    @classmethod
    def of(cls, manifest: Manifest, folder: Path) -> Self:
        """One that begins in a folder. Raises RecordError if that holds anything."""
        RunWriter.check_free(folder)
        return cls(manifest)

    def rest_of(self, script: Script) -> Script:
        """All of it."""
        return script

    @contextmanager
    def record(
        self, folder: Path, manifest: Manifest, owner: RunOwner, inputs: Mapping[str, bytes]
    ) -> Iterator[tuple[RunWriter, RecordedPrefix]]:
        """A new record; its folder is claimed as long as the block lasts."""
        writer = RunWriter.create(folder, manifest, expected=CAPTURE_FOLDER, inputs=inputs)
        with folder_claimed(folder, owner):
            yield writer, RecordedPrefix()

    def bring_back(
        self, device: DeviceUnderTest, engine: CapturingEngine, preparation: Preparation, runner: ScriptRunner
    ) -> None:
        """A simulated drive as the runs have left it that this one continues."""
        del engine, runner
        bring_back_earlier(self.manifest.conditions, device, preparation)


class ResumedRun(BegunRun, frozen=True, kw_only=True):
    """A run that continues at ``cut``, in the attempt ``begun``. ``entries`` are of the ledger.

    ``healed`` is what had to be put back on the drive before it.
    """

    run: Run
    cut: Interruption
    last: LastStep
    begun: Attempt
    entries: tuple[Deviation, ...]
    healed: tuple[str, ...]

    def rest_of(self, script: Script) -> Script:
        """The part of the script that is left to be driven."""
        return resumed(script, self.cut)

    @contextmanager
    def record(
        self, folder: Path, manifest: Manifest, owner: RunOwner, inputs: Mapping[str, bytes]
    ) -> Iterator[tuple[RunWriter, RecordedPrefix]]:
        """The record, in which only what stands counts; its folder is claimed as long as the block lasts."""
        del inputs  # it has them
        with folder_claimed(folder, owner, again=True):
            yield self._reopened(manifest)

    def _reopened(self, manifest: Manifest) -> tuple[RunWriter, RecordedPrefix]:
        cut, run = self.cut, self.run
        purges = manifest.purges[: cut.count(Purge)]
        idle_ns = self.begun.idle_ns
        past = RecordedPrefix(
            purges,
            manifest.write_caches[: cut.count(SetWriteCache)],
            manifest.cycles[: cut.count(CycleFinished)],
            run.ledger,
            cut.at,
            0 if idle_ns is None else self.last.ended_ns + idle_ns,
            self.last.ended_ns if self.last.steps else None,
        )
        earlier = ended(manifest, self.last, manifest.purges[len(purges) :])
        if len(read_manifest(run.folder).attempts) != len(manifest.attempts):
            raise RecordError(f"{run.folder} was resumed by another process just now: look at what it holds")
        writer = RunWriter.reopen(run.folder)
        # in this order: a purge that stands no more is gone before the steps behind it are
        writer.update_manifest(
            state=RunState.RUNNING,
            state_reason=None,
            ended_at=None,
            purges=past.purges,
            write_caches=past.write_caches,
            cycles=past.cycles,
            attempts=(*manifest.attempts[:-1], earlier, self.begun),
            healed=(*manifest.healed, *self.healed),
        )
        writer.set_aside_after(cut.steps, cut.kept_health(run.health))
        return writer, past

    def bring_back(
        self, device: DeviceUnderTest, engine: CapturingEngine, preparation: Preparation, runner: ScriptRunner
    ) -> None:
        """The device as it was where the run continues, as far as it can be restored to that."""
        if device.facts.simulation is not None:
            bring_back_earlier(self.manifest.conditions, device, preparation)
            repeat(self.cut.kept, self.run, engine, preparation, "resume")
            return
        runner.add_deviations(self.entries)
        runner.driver.bring_back(self.manifest, self.cut, runner)


def resumed_run(
    driver: Driver, resumption: Resumption, now: Manifest, health: HealthReading, script: Script
) -> ResumedRun:
    """What stands of a run, whose manifest would be ``now`` if it began now; ``health`` is the drive's log.

    Raises RecordError if it can't continue, TargetError if this is another drive, UsageError if anything else
    is different that the operator has not accepted.
    """
    run, manifest = resumption.run, resumption.run.manifest
    if others := other_identity(manifest, now):
        raise TargetError(
            f"can't resume on {now.target.path}: it is not as the run left it: {', '.join(others)}. Name the "
            "drive of the run with --target, or run the test again"
        )
    _refuse_other_platform(resumption, manifest.attempts[-1], now.attempts[-1])
    simulated = now.target.simulation is not None
    goes_on = ResumePoint.PROGRAM if simulated else driver.goes_on(accepted=resumption.accept_interruption)
    cut = cut_of(script, run, goes_on, driver.recorded)
    last = last_step(run.folder)
    idle_ns = None
    if not simulated and last.stored_at is not None:  # a clock that was set back counts as no time
        idle_ns = max(0, ns_between(last.stored_at, datetime.now(UTC).isoformat()))
    kept = [step for one in cut.kept if isinstance(one.request, Apply) for step in one.request.steps]
    stands_captured = not simulated and any(step.capture for step in kept)
    begun = replace(
        now.attempts[-1],
        steps=last.steps,
        went_on_at=cut.text,
        idle_ns=idle_ns,
        power_cycles=power_cycles_since(run.health, health),
    )
    entries = () if simulated else tuple(_entries(driver.test, resumption, cut, begun))
    return ResumedRun(
        manifest=replace(manifest, capture=manifest.capture if stands_captured else None),
        number=len(manifest.attempts) + 1,
        where=cut.where,
        begins=ReadingPoint.RESUMED if run.health else ReadingPoint.BEFORE,
        # also steps that don't stand drew their offsets
        engine_state=Resumed(len(manifest.attempts), last.carried),
        run=run,
        cut=cut,
        last=last,
        begun=begun,
        entries=entries,
        healed=now.healed,
    )


def _refuse_other_platform(resumption: Resumption, then: Attempt, now: Attempt) -> None:
    """Raises UsageError where host or software is another and that was not accepted."""
    if not resumption.accept_other_host and now.host != then.host:
        raise UsageError(
            f"can't resume {resumption.run.folder} here: it ran on host {then.host}, and this is {now.host}. "
            "Resume it there, or accept another host with --accept-other-host, which the report discloses"
        )
    if not resumption.accept_other_version and (others := _other_software(then, now)):
        text = ", ".join(f"{old}, and this is {new}" for old, new in others)
        raise UsageError(
            f"can't resume {resumption.run.folder}: it ran with {text}; resume it with the same, or accept "
            "other versions with --accept-other-version, which the report discloses"
        )


def _other_software(then: Attempt, now: Attempt) -> list[tuple[str | None, str | None]]:
    """openpts and kernel, if they are others, each as it was and as it is."""
    pairs = ((then.openpts, now.openpts), (then.kernel, now.kernel))
    return [(old, new) for old, new in pairs if old != new]


def _entries(test: Procedure, resumption: Resumption, cut: Interruption, begun: Attempt) -> list[Deviation]:
    """The entries of a run that continues on a drive that exists."""
    then = resumption.run.manifest.attempts[-1]
    entries = []
    in_cycle = isinstance(cut.next, Apply | ReadHealth | SetWriteCache) and cut.count(Purge)
    if resumption.accept_interruption and not test.resumes and in_cycle:
        count = begun.power_cycles
        cycles = "an unknown number of power cycles" if count is None else format_count(count, "power cycle")
        length = "an unknown time" if begun.idle_ns is None else format_duration(begun.idle_ns)
        entries.append(
            Deviation(
                rule_id="PTS-PRE-05",
                clause="4 (note)",
                required="preconditioning and test loop, each without interruption",
                used=f"interrupted for {length} before {cut.text}, drive idle, {cycles}",
                effect="the drive could clean up meanwhile; what was cut off was repeated as a whole",
            )
        )
    others = [] if begun.host == then.host else [f"host {begun.host} after {then.host}"]
    if software := _other_software(then, begun):
        others.append(", ".join(f"{old}, then {new}" for old, new in software))
    if others:
        entries.append(
            Deviation(
                rule_id="PTS-GEN-01",
                clause="1.1",
                required="one test platform for the whole test",
                used=f"from {cut.text} on: {'; '.join(others)}",
                effect="what host and software add to the figures may differ between the steps",
            )
        )
    return entries
