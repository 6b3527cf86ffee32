"""A purge by itself, without a test after it: what the drive has, the purge, and its proof."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import open_target, settled
from openpts.device.guard.rules import quiet_refusals, refuse
from openpts.device.guard.usage import at_work, read_usage
from openpts.device.purge.methods import Capability, Progress, PurgeMethod, capabilities
from openpts.device.purge.purge import purge
from openpts.device.targets.target import FileTarget, parse_target
from openpts.errors import RefusedError
from openpts.journal import Journal
from openpts.runner.healing import Healing, heal_before_run
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import PurgeReport
from openpts.vocabulary.purge import Consent, PurgeChoice


class PurgeRequest(Struct, frozen=True):
    """What the operator requested; ``psid`` gives the number of the drive's label, which nothing records."""

    target: str
    consent: Consent
    choice: PurgeChoice
    psid: Callable[[], bytes] | None = None


def methods_of(
    target: str, *, to_purge: bool, roots: SystemRoots | None = None
) -> Sequence[tuple[PurgeMethod, Capability]]:
    """The methods of a drive; none for a file. Changes nothing and needs no consent.

    The drive is queried, but not before the kernel's own lists have nothing against that: ``to_purge`` counts
    every use, else only a program that may be at work on it. Raises OpenptsError, also where there is no
    such target.
    """
    parsed, roots = parse_target(target), roots or SystemRoots()
    if isinstance(parsed, FileTarget):
        return ()
    device = BlockDevice.of_node(parsed.path, roots)
    usage = read_usage(roots)
    if to_purge:
        usage = settled(usage, [device])
        refuse(quiet_refusals(device, usage))
    if (busy := at_work(device, usage)) is not None:
        raise RefusedError(f"refused [open]: {busy}: a query could interrupt that; wait until it has ended")
    return capabilities(device)


def purge_alone(request: PurgeRequest, progress: Progress, healed: Callable[[Healing], None]) -> PurgeReport:
    """Purge a drive or a file and prove it; ``healed`` gets what was restored before. Raises OpenptsError."""
    target, roots = parse_target(request.target), SystemRoots()
    with terminate_as_interrupt():
        for healing in heal_before_run(target, Journal.of_machine(), roots):
            healed(healing)
        with open_target(target, request.consent, roots, to_revert=request.psid is not None) as opened:
            return purge(opened, request.choice, progress, psid=request.psid)
