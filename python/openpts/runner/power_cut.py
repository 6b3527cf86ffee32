"""Cuts the power of a drive: writers before, the operator's command, the wait for it, the read-back."""

import os
import random
import shlex
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from openpts.device.guard.consent import Consent
from openpts.device.guard.guard import open_target
from openpts.device.journalled_drive import drive_subject, find_drive
from openpts.device.nvme.power_fail_unit import power_fail_unit
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import BlockTarget, FileTarget, Target, parse_target
from openpts.device.write_cache import DISABLED, ENABLED, NO_CACHE
from openpts.engine.stamped_writers import PowerRules, StampedWriters
from openpts.errors import (
    DataLossError,
    OpenptsError,
    RefusedError,
    RunFailedError,
    TargetError,
    UsageError,
    failing_as,
)
from openpts.programs import ProgramError, find_program, run_program
from openpts.record.reader import read_run
from openpts.system_files import SystemRoots, printable
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.facts import WriteCacheReport
from openpts.vocabulary.power_cut import Cut, CutPower

_LOOK_S: Final = 0.05
_LONGEST_COMMAND_S: Final = 3600.0
# Writes that were sent before the cut come back with an error, or after a silence.
_UNNOTICED_S: Final = 5.0
_SIMULATED_NS_PER_IO: Final = 20_000
_SPREAD: Final = (0.5, 1.5)


class PowerCutter(Protocol):
    """What cuts the power of one device, again and again."""

    @property
    def writers(self) -> StampedWriters:
        """The engine of such a run."""

    def cut(self, order: CutPower, cache: WriteCacheReport) -> Cut:
        """Write, cut, wait, read back. Raises OpenptsError where that is not possible."""


@dataclass(slots=True)
class Door:
    """Opens one target by the guard, and again after its power was cut."""

    target: Target
    consent: Consent
    roots: SystemRoots
    held: ExitStack
    run_id: str | None = None
    _subject: dict[str, str] = field(default_factory=dict)

    def open(self) -> OpenTarget:
        """The target, ours until the stack is closed. Raises OpenptsError."""
        opened = self.held.enter_context(open_target(self.target, self.consent, self.roots, self.run_id))
        if opened.device is not None:
            self._subject = drive_subject(opened.device)
        return opened

    def _now(self) -> Target:
        """A drive that was away may have another name now, by its serial number; a file is not made again."""
        if isinstance(self.target, FileTarget):
            return parse_target(str(FileTarget(self.target.path, None)))
        if "serial" not in self._subject:
            return self.target
        return BlockTarget(find_drive(self._subject, self.roots).node)

    def open_again(self, before: OpenTarget, within_s: float) -> OpenTarget:
        """The same target once it is back. Raises TargetError if it is not there in time, RefusedError if it
        is not as it was.
        """
        was_file = _file_of(before)
        self.held.close()
        deadline_s = time.monotonic() + within_s
        while True:
            try:
                opening = open_target(self._now(), self.consent, self.roots, self.run_id)
                opened = self.held.enter_context(opening)
                break
            except OpenptsError as error:
                if time.monotonic() > deadline_s:
                    waited = format_duration(round(within_s * NS_PER_S))
                    raise TargetError(
                        f"{before.facts.path} did not come back within {waited} of its power cut: {error}"
                    ) from error
                time.sleep(_LOOK_S)
        _refuse_other(before, opened, was_file)
        return opened


def _file_of(target: OpenTarget) -> tuple[int, int] | None:
    """What tells a file from another one under its name; None for a drive."""
    if target.device is not None:
        return None
    found = os.fstat(target.fd)
    return found.st_dev, found.st_ino


def _refuse_other(before: OpenTarget, opened: OpenTarget, was_file: tuple[int, int] | None) -> None:
    """Raise RefusedError if what came back is not what was there before the cut."""
    differences = [
        f"{name.replace('_', ' ')} {found:,}, before {was:,}"
        for name in ("user_capacity_bytes", "sector_bytes")
        if (was := getattr(before.facts, name)) != (found := getattr(opened.facts, name))
    ]
    if was_file != _file_of(opened):
        differences.append("another file of that name")
    if differences:
        raise RefusedError(
            f"what came back as {opened.facts.path} is not what was there before the power cut: "
            f"{'; '.join(differences)}; nothing of it was read or written"
        )


@dataclass(slots=True)
class DriveCutter:
    """Implements PowerCutter on a target that is open; ``opened_again`` hands it on to its device."""

    door: Door
    target: OpenTarget
    writers: StampedWriters
    command: tuple[str, ...]
    opened_again: Callable[[OpenTarget], None]

    def cut(self, order: CutPower, cache: WriteCacheReport) -> Cut:
        """See the protocol."""
        number, writers, within_s = order.apply.number, self.writers, order.back_within_ns / NS_PER_S
        rules = rules_of(self.target, cache)
        writers.prepare(self.target.fd)
        writers.start(self.target.fd)
        try:
            self._write(varied_ns(order) / NS_PER_S)
            writers.cutting()
            begun_ns = time.monotonic_ns()
            self._run_command()
            self._expect_silence()
        finally:
            ended = writers.end(within_s)
        if not ended:
            left = writers.writer_progress().at_work
            raise RunFailedError(
                f"{left} I/Os from before the power cut are still outstanding after "
                f"{format_duration(order.back_within_ns)}: they may yet be written, so nothing can be judged"
            )
        self.target = self.door.open_again(self.target, within_s)
        self.opened_again(self.target)
        return writers.verify(self.target.fd, number, rules, time.monotonic_ns() - begun_ns)

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


@dataclass(frozen=True, slots=True)
class SimulatedCutter:
    """Implements PowerCutter on contents in memory, which have the states of the simulated drive's cache."""

    writers: StampedWriters
    atomic_bytes: int

    def cut(self, order: CutPower, cache: WriteCacheReport) -> Cut:
        """See the protocol; writes come at a fixed rate."""
        on = cache.actual == ENABLED
        rules = PowerRules(cache.actual, on, self.atomic_bytes, "simulated page", each_sector=False)
        answers = max(1, varied_ns(order) // _SIMULATED_NS_PER_IO)
        return self.writers.simulate(answers, order.apply.number, rules, cache_on=on)


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
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"invalid --cut-command {command!r}: {error}") from error
    if not words or find_program(words[0]) is None:
        raise UsageError(f"--cut-command: program {printable(words[0] if words else command)} not found")
    return words


def end_with_losses(folder: Path) -> None:
    """Raise DataLossError if the drive of a run lost what had to survive, so that scripts see it."""
    cuts = read_run(folder).manifest.cuts
    if accused := sum(cut.accused for cut in cuts):
        raise DataLossError(
            f"the drive lost data in {accused} of {len(cuts)} power cuts; see the report on {folder}"
        )
