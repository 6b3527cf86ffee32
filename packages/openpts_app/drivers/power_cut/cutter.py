"""Cuts the power of a drive: writers before, the operator's command, the wait for it, the read-back."""

import mmap
import os
import random
import shlex
import time
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.targets.open_target import OpenTarget
from openpts.device.write_cache import DISABLED, ENABLED, NO_CACHE
from openpts.errors import RunFailedError, UsageError, failing_as
from openpts.programs import ProgramError, find_program, run_program
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.system_files import printable
from openpts.units import KIB, NS_PER_S, format_duration
from openpts.vocabulary.facts import WriteCacheReport
from openpts.vocabulary.power_cut import Cut, CutLoad, CutPower
from openpts_app.drivers.power_cut.stamped_writers import PowerRules, StampedWriters
from openpts_app.returning_drive import ReturningDrive
from openpts_drives.nvme.power_fail_unit import power_fail_unit
from openpts_sim.simulated_device import SimulatedDevice

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

    def cut(self, order: CutPower, cache: WriteCacheReport) -> Cut:
        """Write, cut, wait, read back. Raises OpenptsError where that is not possible."""
        number, writers, within_s = order.apply.number, self.writers, order.back_within_ns / NS_PER_S
        rules = rules_of(self.drive.target, cache)
        writers.prepare(self.drive.target.fd)
        writers.start(self.drive.target.fd)
        try:
            self._write(varied_ns(order) / NS_PER_S)
            writers.cutting()
            begun_ns = time.monotonic_ns()
            self._run_command()
            powered_ns = time.monotonic_ns()
            self._expect_silence()
        finally:
            ended = writers.end(within_s)
        if not ended:
            left = writers.writer_progress().at_work
            raise RunFailedError(
                f"{left} I/Os from before the power cut are still outstanding after "
                f"{format_duration(order.back_within_ns)}: they may yet be written, so nothing can be judged"
            )
        self.drive.open_again(within_s)
        away_ns = time.monotonic_ns() - begun_ns
        read_ns = self._first_read_at_ns(order.load.range_bytes, within_s)
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
        while (left_s := deadline_s - time.monotonic()) > 0:
            time.sleep(min(_LOOK_S, left_s))
            self._refuse_failure()
        self._refuse_failure()

    def _refuse_failure(self) -> None:
        if (failure := self.writers.writer_progress().failure) is not None:
            raise RunFailedError(f"an I/O failed before the power was cut: {failure}")

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
            "--cut-command ended, and the drive had answered all the while: its power was not cut; check "
            "which drive the command switches, and keep the power off for a second at least"
        )


class SimulatedCutter(Struct, frozen=True):
    """The same on contents in memory, which have the states of the simulated drive's cache."""

    writers: StampedWriters

    def cut(self, order: CutPower, cache: WriteCacheReport) -> Cut:
        """Write at a fixed rate, cut, read back."""
        on = cache.actual == ENABLED
        rules = PowerRules(cache.actual, on, _SIMULATED_ATOMIC_BYTES, "simulated page", each_sector=False)
        answers = max(1, varied_ns(order) // _SIMULATED_NS_PER_IO)
        return self.writers.simulate(answers, order.apply.number, rules, cache_on=on)


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


def varied_ns(order: CutPower) -> int:
    """When to cut: half to one and a half times the mean, by the seed and the number of the cut."""
    chance = random.Random(f"{order.load.seed}/{order.apply.number}")  # noqa: S311 no secret
    return round(order.write_ns * chance.uniform(*_SPREAD))


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
