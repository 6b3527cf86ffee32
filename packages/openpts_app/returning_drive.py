"""A drive, or a file, that is opened again after it was away: without power, reset or removed."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from openpts.device.guard.guard import open_target
from openpts.device.guard.overlay import stored_at
from openpts.device.journalled_drive import drive_subject, find_drive
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import BlockTarget, FileTarget, Target, parse_target
from openpts.device.write_cache_control import write_cache_control
from openpts.errors import OpenptsError, RefusedError, TargetError
from openpts.journal import Journal
from openpts.runner.device_under_test import DeviceUnderTest, device_under_test
from openpts.runner.healing import heal_before_run
from openpts.runner.physical_device import PhysicalDevice
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.consent import Consent
from openpts_sim.simulated_target import names_simulated

_LOOK_S: Final = 0.05


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
                time.sleep(_LOOK_S)
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
