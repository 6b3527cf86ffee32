"""A drive interrupted several times, held by the guard all the while."""

import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from openpts.device.guard.guard import open_target
from openpts.device.guard.rules import quiet_refusals, refuse
from openpts.device.guard.usage import read_usage
from openpts.device.nvme.nvme_subsystem import NvmeSubsystem
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.errors import TargetError, UsageError
from openpts.journal import Journal, Kind
from openpts.runner.healing import heal
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.system_files import SystemRoots
from openpts.units import format_latency_ms
from openpts.vocabulary.consent import Consent
from openpts_nvme.ready.kernel_drive import KernelDrive
from openpts_nvme.ready.measure import Interruption, interrupted
from openpts_nvme.ready.ways import Way

_BETWEEN_S: Final = 1.0


class Session(Struct, frozen=True):
    """What was measured, in order; ``path`` is where the drive is in the end, None where nowhere."""

    serial: str
    path: str | None
    interruptions: tuple[Interruption, ...]


def measured(target: str, consent: Consent, way: Way, times: int, hear: Callable[[str], None]) -> Session:
    """Interrupt a drive so many times; ``hear`` is told of each. Raises OpenptsError."""
    roots, journal = SystemRoots(), Journal.of_machine()
    for healing in heal(journal, roots, {Kind.REMOVED_DRIVE}):
        hear(healing.text)
    parsed = parse_target(target)
    if not isinstance(parsed, BlockTarget):
        raise UsageError(f"{target} is no drive: name one such as /dev/nvme0n1")
    with terminate_as_interrupt(), open_target(parsed, consent, roots) as opened:
        _refuse_neighbors(opened, roots)
        with KernelDrive(opened) as drive:
            found = []
            for number in range(1, times + 1):
                found.append(interrupted(drive, lambda: way.order(drive, roots)))
                hear(f"{number} of {times}: first read after {format_latency_ms(found[-1].read_ns)} ms")
                time.sleep(_BETWEEN_S)
            namespace = drive.namespace()
            path = None if namespace is None else str(namespace.node)
            return Session(drive.serial, path, tuple(found))


def _refuse_neighbors(opened: OpenTarget, roots: SystemRoots) -> None:
    """Other namespaces of the controller are interrupted too: they must not be in use."""
    if opened.device is None:
        raise TargetError(f"{opened.facts.path} is no drive")
    usage = read_usage(roots)
    for other in NvmeSubsystem.of(opened.device).besides(opened.device):
        refuse(quiet_refusals(other, usage))
