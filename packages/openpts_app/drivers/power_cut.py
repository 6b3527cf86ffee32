"""Power cuts: stamped writers, the operator's command, the read-back."""

import mmap
import os
import random
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from openpts import _native
from openpts.device.guard.guard import open_target
from openpts.device.guard.usage import stored_at
from openpts.device.journalled_drive import drive_subject, find_drive
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import BlockTarget, FileTarget, Target, parse_target
from openpts.device.write_cache import DISABLED, ENABLED, NO_CACHE, write_cache_control
from openpts.engine.contract import NoSteps
from openpts.errors import (
    DataLossError,
    OpenptsError,
    RefusedError,
    RunFailedError,
    TargetError,
    UsageError,
    failing_as,
)
from openpts.journal import Journal
from openpts.procedures.kit.procedure import Procedure
from openpts.programs import ProgramError, find_program, run_program
from openpts.record.manifest import Manifest
from openpts.record.reader import read_manifest
from openpts.runner.device_under_test import DeviceUnderTest, device_under_test
from openpts.runner.driver import Driver, Engine
from openpts.runner.event_lines import PowerWasCut
from openpts.runner.healing import heal_before_run
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.script_runner import ScriptRunner
from openpts.system_files import SystemRoots, printable
from openpts.units import KIB, NS_PER_S, format_duration
from openpts.vocabulary.facts import Fact, Facts, WriteCacheReport
from openpts.vocabulary.power import Cut, CutLoad, CutPower, DataLoss
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.requests import DriverRequest, Script
from openpts_drives.nvme import power_fail_unit
from openpts_sim.simulated_device import SimulatedDevice
from openpts_sim.simulated_target import names_simulated

_SOURCE: Final = "openpts._native"


class PowerRules(Struct, frozen=True):
    """What a drive promises: see vocabulary.power_cut.Cut.

    ``each_sector``: of interrupted writes that are longer than the atomic unit, each sector is old or new;
    otherwise nothing is promised of them.
    """

    write_cache: str
    volatile: bool
    atomic_bytes: int
    atomic_source: str
    each_sector: bool


class WriterProgress(Struct, frozen=True):
    """``ended``: nothing that is acknowledged from now on counts. ``failure``: of an I/O before the cut."""

    writes: int
    flushes: int
    at_work: int
    ended: bool
    failure: str | None


class StampedWriters(NoSteps):
    """Writes until a power cut.

    It holds no target: each call gets the descriptor of what is open then.
    """

    def __init__(
        self,
        load: CutLoad,
        sector_bytes: int,
        simulated: tuple[int, Sequence[tuple[str, float]], int] | None = None,
    ) -> None:
        """``simulated``: contents in memory, with an atomic unit in bytes, faults by rate, and a seed.

        Raises UsageError where the load makes no sense.
        """
        self._sector_bytes = sector_bytes
        self._simulated = simulated is not None
        try:
            self.bench = _native.PowerCut(
                sector_bytes=sector_bytes,
                sectors=load.range_bytes // sector_bytes,
                write_sectors=[size_bytes // sector_bytes for size_bytes in load.write_sizes_bytes],
                writers=load.writers,
                writes_per_flush=load.writes_per_flush,
                fua_pct=load.fua_pct,
                seed=load.seed,
                simulated=None if simulated is None else (simulated[0], list(simulated[1]), simulated[2]),
            )
        except ValueError as error:
            raise UsageError(f"--range is too small: {error}; or use fewer writers, --tc and --qd") from error

    @property
    def facts(self) -> Facts:
        """See the contract."""
        build = _native.build_info()
        how = "contents in memory" if self._simulated else "one system call for each I/O"
        return {
            "engine": Fact("stamped writers", _SOURCE),
            "build": Fact(f"{build['version']} {build['profile']} {build['architecture']}", _SOURCE),
            "stamped_io": Fact(how, _SOURCE),
        }

    def writer_progress(self) -> WriterProgress:
        """What was acknowledged so far."""
        return WriterProgress(*self.bench.progress())

    def verify(self, descriptor: int, number: int, rules: PowerRules, away_ns: int) -> Cut:
        """Read everything back after a cut. Raises RunFailedError if nothing can be read."""
        with failing_as(RunFailedError, "the range can't be read"):
            counts, accused = self.bench.verify(
                descriptor,
                volatile=rules.volatile,
                atomic_sectors=self._sectors(rules),
                each_sector=rules.each_sector,
            )
        return _cut(number, rules, away_ns, counts, accused)

    def simulate(self, answers: int, number: int, rules: PowerRules, *, cache_on: bool) -> Cut:
        """A whole cycle on simulated contents, whose power goes after so many answers."""
        counts, accused = self.bench.simulate(
            answers,
            cache_on=cache_on,
            volatile=rules.volatile,
            atomic_sectors=self._sectors(rules),
            each_sector=rules.each_sector,
        )
        return _cut(number, rules, 0, counts, accused)

    def _sectors(self, rules: PowerRules) -> int:
        return max(1, rules.atomic_bytes // self._sector_bytes)


def _cut(
    number: int,
    rules: PowerRules,
    away_ns: int,
    counts: dict[str, int],
    accused: list[tuple[str, int, int, str, str, str]],
) -> Cut:
    figures = (
        "writes",
        "flushes",
        "promised",
        "outstanding",
        "lost_unpromised_sectors",
        "indeterminate_sectors",
    )
    return Cut(
        number=number,
        write_cache=rules.write_cache,
        volatile=rules.volatile,
        atomic_bytes=rules.atomic_bytes,
        atomic_source=rules.atomic_source,
        away_ns=away_ns,
        losses={name: count for name, count in counts.items() if name not in figures and count},
        accusations=tuple(DataLoss(*each) for each in accused),
        **{name: counts[name] for name in figures},
    )


_REOPEN_S: Final = 0.05


class ReturningDrive(PhysicalDevice, kw_only=True):
    """A drive or a file. ``held`` has it open; a drive is found again by its ``subject``."""

    named: Target
    consent: Consent
    held: ExitStack
    subject: dict[str, str]

    def _now(self) -> Target:
        """A drive that was away may have another name now, by its serial number; a file is not made again."""
        if isinstance(self.named, FileTarget):
            return parse_target(str(FileTarget(self.named.path, None)))
        if "serial" not in self.subject:
            return self.named
        return BlockTarget(find_drive(self.subject, self.roots).node)

    def open_again(self, within_s: float) -> None:
        """Open the same target once it is back.

        Raises TargetError if it is not there in time, RefusedError if it is not as it was.
        """
        before, was_file, run_id = self.target, _file_of(self.target), self.owner.run_id
        self.held.close()
        deadline_s = time.monotonic() + within_s
        while True:
            try:
                opening = open_target(self._now(), self.consent, self.roots, run_id)
                opened = self.held.enter_context(opening)
                break
            except OpenptsError as error:
                if time.monotonic() > deadline_s:
                    waited = format_duration(round(within_s * NS_PER_S))
                    raise TargetError(
                        f"{before.facts.path} did not come back within {waited}: {error}"
                    ) from error
                time.sleep(_REOPEN_S)
        _refuse_other(before, opened, was_file)
        self.target = self.cache.target = opened


def _file_of(target: OpenTarget) -> tuple[int, int] | None:
    """What tells a file from another one under its name; None for a drive."""
    if target.device is not None:
        return None
    found = os.fstat(target.fd)
    return found.st_dev, found.st_ino


def _refuse_other(before: OpenTarget, opened: OpenTarget, was_file: tuple[int, int] | None) -> None:
    """Raise RefusedError if what came back is not what was there before."""
    differences = [
        f"{name.replace('_', ' ')} {found:,}, before {was:,}"
        for name in ("user_capacity_bytes", "sector_bytes")
        if (was := getattr(before.facts, name)) != (found := getattr(opened.facts, name))
    ]
    if was_file != _file_of(opened):
        differences.append("another file of that name")
    if differences:
        raise RefusedError(
            f"what came back as {opened.facts.path} is not what was there before: "
            f"{'; '.join(differences)}; nothing of it was read or written"
        )


@contextmanager
def returning_device(text: str, consent: Consent, run_id: str) -> Iterator[DeviceUnderTest]:
    """The device that the operator's text names: a ReturningDrive, unless it is simulated."""
    target = None if names_simulated(text) else parse_target(text)
    if target is None:
        with device_under_test(text, consent, for_writing=True, run_id=run_id) as device:
            yield device
        return
    roots, journal = SystemRoots(), Journal.of_machine()
    healed = heal_before_run(target, journal, roots, run_id)
    with ExitStack() as held:
        opened = held.enter_context(open_target(target, consent, roots, run_id))
        if isinstance(target, FileTarget):
            stored_at(Path(opened.facts.path), roots)  # or else it is refused when it is opened again
        subject = {} if opened.device is None else drive_subject(opened.device)
        with write_cache_control(opened, roots, journal) as cache:
            yield ReturningDrive(
                opened, roots, cache, healed, named=target, consent=consent, held=held, subject=subject
            )


_LOOK_S: Final = 0.05
_LONGEST_COMMAND_S: Final = 3600.0
# Writes that were sent before the cut come back with an error, or after a silence.
_UNNOTICED_S: Final = 5.0
_SIMULATED_NS_PER_IO: Final = 20_000
_SPREAD: Final = (0.5, 1.5)
_SIMULATED_ATOMIC_BYTES: Final = 4 * KIB
"""What a simulated drive writes as a whole or not at all when its power goes: a page of its map."""


class DriveCutter(Struct):
    """Cuts the power of a drive, or of what a file stands for, again and again."""

    drive: ReturningDrive
    writers: StampedWriters
    command: tuple[str, ...]

    def cut(self, request: CutPower, cache: WriteCacheReport) -> Cut:
        """Write, cut, wait, read back. Raises OpenptsError where that is not possible."""
        number, writers, within_s = request.apply.number, self.writers, request.back_within_ns / NS_PER_S
        rules = rules_of(self.drive.target, cache)
        with failing_as(
            RunFailedError, "the range can't be filled"
        ):  # all of it, later what a cut has damaged
            writers.bench.prepare(self.drive.target.fd)
        writers.bench.start(self.drive.target.fd)
        try:
            self._write(varied_ns(request) / NS_PER_S)
            writers.bench.cut()  # I/Os that fail from now on are no faults of the drive
            begun_ns = time.monotonic_ns()
            self._run_command()
            powered_ns = time.monotonic_ns()
            self._expect_silence()
        finally:
            ended = writers.bench.end(within_s)
        if not ended:
            left = writers.writer_progress().at_work
            raise RunFailedError(
                f"{left} I/Os from before the power cut are still outstanding after "
                f"{format_duration(request.back_within_ns)}: they may yet be written, so nothing can be "
                "judged"
            )
        self.drive.open_again(within_s)
        away_ns = time.monotonic_ns() - begun_ns
        read_ns = self._first_read_at_ns(request.load.range_bytes, within_s)
        cut = writers.verify(self.drive.target.fd, number, rules, away_ns)
        return replace(cut, first_read_ns=None if read_ns is None else read_ns - powered_ns)

    def _first_read_at_ns(self, range_bytes: int, within_s: float) -> int | None:
        """When the first read succeeded. Each try takes another place: a cut may leave some unreadable."""
        deadline_s, offset_bytes = time.monotonic() + within_s, 0
        with mmap.mmap(-1, mmap.PAGESIZE) as block:  # aligned, as direct I/O asks for
            while time.monotonic() < deadline_s:
                try:
                    os.preadv(self.drive.target.fd, [block], offset_bytes)
                    return time.monotonic_ns()
                except OSError:
                    offset_bytes = (offset_bytes + mmap.PAGESIZE) % (range_bytes - mmap.PAGESIZE)
                    time.sleep(_LOOK_S)
        return None

    def _write(self, duration_s: float) -> None:
        deadline_s = time.monotonic() + duration_s
        while True:
            left_s = deadline_s - time.monotonic()
            if (failure := self.writers.writer_progress().failure) is not None:
                raise RunFailedError(f"an I/O failed before the power was cut: {failure}")
            if left_s <= 0:
                return
            time.sleep(min(_LOOK_S, left_s))

    def _run_command(self) -> None:
        with failing_as(RunFailedError, "--cut-command", of=ProgramError):
            answer = run_program(self.command, _LONGEST_COMMAND_S)
        if answer.returncode:
            raise RunFailedError(
                f"--cut-command ended with status {answer.returncode}: {answer.complaint}; whether "
                "the power was cut is unknown"
            )

    def _expect_silence(self) -> None:
        """The drive was away if no I/O was answered for a while, or none is any more."""
        deadline_s = time.monotonic() + _UNNOTICED_S
        while time.monotonic() < deadline_s:
            progress = self.writers.writer_progress()
            if progress.ended or not progress.at_work:
                return
            before = progress.writes
            time.sleep(1.0)
            if self.writers.writer_progress().writes == before:
                return
        raise RunFailedError(
            "--cut-command ended, and the drive had answered all the while: its power was not cut. Check "
            "which drive the command switches, and keep the power off for a second at least"
        )


class SimulatedCutter(Struct, frozen=True):
    """The same on contents in memory, which have the states of the simulated drive's cache."""

    writers: StampedWriters

    def cut(self, request: CutPower, cache: WriteCacheReport) -> Cut:
        """Write at a fixed rate, cut, read back."""
        on = cache.actual == ENABLED
        rules = PowerRules(cache.actual, on, _SIMULATED_ATOMIC_BYTES, "simulated page", each_sector=False)
        answers = max(1, varied_ns(request) // _SIMULATED_NS_PER_IO)
        return self.writers.simulate(answers, request.apply.number, rules, cache_on=on)


PowerCutter: TypeAlias = DriveCutter | SimulatedCutter
"""What cuts the power of one device; ``writers`` are the engine of such a run."""


def cutter_of(device: DeviceUnderTest, load: CutLoad, command: str | None) -> PowerCutter:
    """What cuts the power of the device, by the operator's command where it exists. Raises UsageError."""
    facts = device.facts
    if isinstance(device, SimulatedDevice):
        contents = (_SIMULATED_ATOMIC_BYTES, device.power_faults, device.drive.simulation.seed)
        return SimulatedCutter(StampedWriters(load, facts.sector_bytes, contents))
    if not isinstance(device, ReturningDrive):
        raise UsageError(f"{facts.path}: the power of this target can't be cut: name a single drive")
    return DriveCutter(device, StampedWriters(load, facts.sector_bytes), cut_command(command))


def rules_of(target: OpenTarget, cache: WriteCacheReport) -> PowerRules:
    """What such a drive promises; a cache in an unknown state may lose what is not flushed."""
    unit = power_fail_unit(target)
    volatile = cache.actual not in {DISABLED, NO_CACHE}
    return PowerRules(cache.actual, volatile, unit.bytes, unit.source, unit.each_sector)


def varied_ns(request: CutPower) -> int:
    """When to cut: half to one and a half times the mean, by the seed and the number of the cut."""
    chance = random.Random(f"{request.load.seed}/{request.apply.number}")  # noqa: S311 no secret
    return round(request.write_ns * chance.uniform(*_SPREAD))


def cut_command(command: str | None) -> tuple[str, ...]:
    """The words of the operator's command. Raises UsageError if there is none, or no such program."""
    if command is None:
        raise UsageError(
            "--cut-command is missing: name a program that cuts the power of the drive and gives it back"
        )
    try:
        args = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"invalid --cut-command {command!r}: {error}") from error
    if not args or find_program(args[0]) is None:
        raise UsageError(f"--cut-command: program {printable(args[0] if args else command)} not found")
    return args


class PowerCutDriver(Driver):
    """Carries out CutPower, and no steps: no figure of speed is asked of the drive."""

    depends_on_scale = False
    drive_stays = False

    def __init__(self, test: Procedure) -> None:
        super().__init__(test)
        self._cuts: list[Cut] = []

    def opened(self, target: str, consent: Consent, run_id: str) -> AbstractContextManager[DeviceUnderTest]:
        """See the base; a drive that exists can be opened again after its power was cut."""
        return returning_device(target, consent, run_id)

    def check(self, script: Script, device: DeviceUnderTest) -> None:
        """See the base: the script begins with a power cut, and has the same load in all of them."""
        request = next(script)
        assert isinstance(request, CutPower)  # noqa: S101 it is that of such a test
        self._cutter: PowerCutter = cutter_of(device, request.load, request.command)

    def engine(self, of_device: Engine) -> Engine:
        """See the base: steps are only for the plan."""
        del of_device
        return nullcontext(self._cutter.writers)

    def answer(self, request: DriverRequest, runner: ScriptRunner) -> Cut:
        """Set the cache, which a drive may forget with its power, and cut; the record has all cuts."""
        assert isinstance(request, CutPower)  # noqa: S101 the scripts of such tests ask for nothing else
        report, deviations = runner.preparation.write_cache(request.write_cache_enabled)
        if not self._cuts or self._cuts[-1].write_cache != report.actual:
            runner.keep_write_cache(report, deviations)
        cut = self._cutter.cut(request, report)
        self._cuts.append(cut)
        runner.writer.update_manifest(cuts=self._cuts)
        runner.emit(PowerWasCut(cut=cut))
        return cut

    def unresumable(self, manifest: Manifest) -> str:
        """See the base."""
        return (
            "only the process that was cut off knew what its drive had acknowledged; "
            f"{len(manifest.cuts):,} cuts are in its report, run the test again"
        )

    def end(self, folder: Path) -> None:
        """Raise DataLossError if the drive of a run lost what had to survive, so that scripts see it."""
        cuts = read_manifest(folder).cuts
        if accused := sum(cut.accused for cut in cuts):
            raise DataLossError(
                f"the drive lost data in {accused} of {len(cuts)} power cuts; see the report on {folder}"
            )
