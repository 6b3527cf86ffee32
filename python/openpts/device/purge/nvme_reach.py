"""Which other namespaces an erasure of a whole NVM subsystem would reach, and whether all are known."""

from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.nvme.nvme_admin import NvmeCommandError
from openpts.device.nvme.nvme_identify import NvmeController
from openpts.device.nvme.nvme_subsystem import NvmeSubsystem
from openpts.device.purge.method import Capability
from openpts.device.purge.nvme_drive import NoAnswerError, NvmeQuestions, opened, without
from openpts.device.purge.nvme_namespace import NvmeNamespace
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError
from openpts.units import format_capacity

_WHERE_TO_LOOK: Final = (
    "detached, or attached to a host on another port: see nvme list-ns --all, then attach it here and "
    "confirm it, or delete it if it isn't needed"
)


def of_all(
    capability: Capability, device: BlockDevice, controller: NvmeController, questions: NvmeQuestions
) -> Capability:
    """A capability that reaches all namespaces of the subsystem; none where it has some that are not shown.

    Those can't be confirmed, and no rule of the guard can check them.
    """
    subsystem = NvmeSubsystem.of(device)
    if controller.manages_namespaces and controller.nn != 1:
        try:
            with opened(device) as fd:
                hidden = _hidden(fd, subsystem, controller, questions)
        except NoAnswerError as error:
            return without(error)
        if hidden is not None:
            return Capability(False, hidden)
    others = tuple(str(other.node) for other in subsystem.besides(device))
    return Capability(capability.supported, capability.reason, capability.duration_s, others)


def check_held(target: OpenTarget, capability: Capability) -> None:
    """Raise PurgeError if a command would reach a namespace that the guard doesn't hold for us.

    What it would reach is not known of a drive that could not be asked, so that is an error too.
    """
    if not capability.supported:
        raise PurgeError(f"{target.facts.path}: {capability.reason}")
    held = {sibling.facts.path for sibling in target.siblings}
    if strangers := [node for node in capability.reaches if node not in held]:
        raise PurgeError(f"{', '.join(strangers)} would be erased as well, which was not confirmed")


def _hidden(
    fd: int, subsystem: NvmeSubsystem, controller: NvmeController, questions: NvmeQuestions
) -> str | None:
    """What the drive keeps that the kernel doesn't show, in words; None: nothing."""
    shown = [nsid for each in subsystem.namespaces if (nsid := each.integer("nsid")) is not None]
    try:
        hidden = sorted(set(questions.allocated(fd)) - set(shown))
    except NvmeCommandError as error:
        return _hidden_space(fd, shown, controller, questions, str(error))
    if not hidden:
        return None
    named = f"namespace{'s' * (len(hidden) > 1)} {' and '.join(map(str, hidden))}"
    return f"would erase {named} as well, which this machine does not show: {_WHERE_TO_LOOK}"


def _hidden_space(
    fd: int, shown: list[int], controller: NvmeController, questions: NvmeQuestions, refused: str
) -> str | None:
    """The same by capacities, of a drive that keeps no list of its namespaces."""
    unknown = f"would erase all namespaces, and which exist is unknown ({refused})"
    if not controller.tnvmcap:
        return unknown
    try:
        found = [NvmeNamespace.parse(questions.namespace(fd, nsid)) for nsid in shown]
    except (NvmeCommandError, ValueError) as error:
        return f"{unknown}: {error}"
    shown_bytes = sum(each.nvmcap or each.nsze * each.block_bytes for each in found)
    more_bytes = controller.tnvmcap - controller.unvmcap - shown_bytes
    if more_bytes <= 0:
        return None
    return f"would erase {format_capacity(more_bytes)} more than this machine shows: {_WHERE_TO_LOOK}"
