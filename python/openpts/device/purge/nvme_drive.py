"""What NVMe's purge methods ask of a drive before, while and after they work."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.nvme.nvme_admin import (
    NvmeCommandError,
    allocated_namespaces,
    identify_controller,
    identify_namespace,
    read_log,
)
from openpts.device.nvme.nvme_identify import NvmeController
from openpts.device.nvme.nvme_subsystem import NvmeSubsystem
from openpts.device.open_for_query import open_to_ask
from openpts.device.purge.held_drive import held_drive
from openpts.device.purge.method import Capability
from openpts.device.purge.nvme_namespace import NvmeNamespace
from openpts.device.purge.nvme_sanitize_log import (
    SANITIZE_LOG,
    SANITIZE_LOG_BYTES,
    SanitizeLog,
    SanitizeState,
)
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError
from openpts.programs import ProgramError, Run
from openpts.system_files import read_text
from openpts.units import format_capacity
from openpts.vocabulary.facts import Fact, Facts

_THIN_PROVISIONING: Final = 1 << 0  # of NSFEAT
_VERSION_TIMEOUT_S: Final = 20.0
# A drive that sanitizes may be slow to answer, and the kernel resets one whose answer is late.
_LOG_TIMEOUT_MS: Final = 60_000


def _sanitize_log(fd: int) -> bytes:
    return read_log(fd, SANITIZE_LOG, SANITIZE_LOG_BYTES, _LOG_TIMEOUT_MS)


@dataclass(frozen=True, slots=True)
class NvmeQuestions:
    """The admin commands that only ask, each on a descriptor; tests hand in recorded answers."""

    controller: Callable[[int], NvmeController] = identify_controller
    namespace: Callable[[int, int], bytes] = identify_namespace
    sanitize_log: Callable[[int], bytes] = _sanitize_log
    allocated: Callable[[int], tuple[int, ...]] = allocated_namespaces


@dataclass(frozen=True, slots=True)
class NvmeAnswers:
    """``sanitize`` is None where the drive has no sanitize at all."""

    controller: NvmeController
    namespace: NvmeNamespace
    sanitize: SanitizeLog | None


class NoAnswerError(Exception):
    """The drive can't be asked; the text says why."""


class NotNvmeError(NoAnswerError):
    """There is nothing to ask for: it is not an NVMe drive."""


def ask(fd: int, nsid: int, questions: NvmeQuestions) -> NvmeAnswers:
    """All that a method wants to know of a namespace that is open. Raises NoAnswerError."""
    try:
        controller = questions.controller(fd)
        namespace = NvmeNamespace.parse(questions.namespace(fd, nsid))
        log = SanitizeLog.parse(questions.sanitize_log(fd)) if controller.sanicap & 0x7 else None
    except (NvmeCommandError, ValueError) as error:
        raise NoAnswerError(f"can't query the controller: {error}") from error
    return NvmeAnswers(controller, namespace, log)


def ask_closed(device: BlockDevice, questions: NvmeQuestions, run: Run) -> NvmeAnswers:
    """The same of a drive that is not open, if nvme-cli is there to act on it. Raises NoAnswerError."""
    if device.kind is not DeviceKind.NVME:
        raise NotNvmeError(f"{device.node} is not an NVMe drive")
    try:
        run(["nvme", "version"], _VERSION_TIMEOUT_S)
    except ProgramError as error:
        raise NoAnswerError(str(error)) from error
    with opened(device) as fd:
        answers = ask(fd, namespace_id(device), questions)
    if (log := answers.sanitize) is not None and log.state is SanitizeState.IN_PROGRESS:
        raise NoAnswerError(f"a sanitize is in progress, {log.share_done:.0%} done: wait for its end")
    return answers


@contextmanager
def opened(device: BlockDevice) -> Iterator[int]:
    """A descriptor that only asks. Raises NoAnswerError."""
    with ExitStack() as held:
        try:
            fd = held.enter_context(open_to_ask(device))
        except OSError as error:
            raise NoAnswerError(f"{device.node} can't be opened: {error.strerror}; run as root") from error
        yield fd


def namespace_id(device: BlockDevice) -> int:
    """NSID. Raises NoAnswerError."""
    nsid = device.whole.integer("nsid")
    if nsid is None:
        raise NoAnswerError(f"{device.place('nsid')} tells no number")
    return nsid


def without(error: NoAnswerError) -> Capability:
    """The capability of a drive that could not be asked."""
    return Capability(False, str(error), foreign=isinstance(error, NotNvmeError))


def controller_node(target: OpenTarget, questions: NvmeQuestions) -> Path:
    """The character device for commands to exactly the drive that we hold. Raises PurgeError.

    Our descriptor keeps the kernel from giving the namespace's name to another drive; whether the
    controller with that name is the one that answers on it is looked at right before each command.
    """
    device = held_drive(target, "a command")
    controller = NvmeSubsystem.of(device).live_controller
    if controller is None:
        raise PurgeError(f"{target.facts.path} has lost its controller: see dmesg")
    try:
        serial = questions.controller(target.fd).sn
    except NvmeCommandError as error:
        raise PurgeError(f"{target.facts.path} can't be identified: {error}") from error
    told = read_text(controller / "serial") or ""
    if told.strip() != serial.strip():
        raise PurgeError(f"{target.facts.path} has serial number {serial}, but {controller.name} has {told}")
    return device.roots.dev / controller.name


def status_facts(target: OpenTarget, questions: NvmeQuestions) -> Facts:
    """What the drive's own data structures say of its space and of its last sanitize; never raises."""
    assert target.device is not None  # noqa: S101 only drives have such methods
    try:
        answers = ask(target.fd, namespace_id(target.device), questions)
    except NoAnswerError as error:
        return {"utilisation": Fact(None, str(error))}
    namespace, log = answers.namespace, answers.sanitize
    facts = {
        "utilisation": _utilisation(namespace),
        "lba_format": Fact(namespace.format_text, "Identify Namespace"),
        "reads_as": Fact(namespace.reads_as, f"DLFEAT {namespace.dlfeat:#x}"),
    }
    if log is not None:
        facts["sanitize_status"] = Fact(str(log), "Sanitize Status log (81h)")
    return facts


def _utilisation(namespace: NvmeNamespace) -> Fact:
    if namespace.nuse == namespace.ncap and not namespace.nsfeat & _THIN_PROVISIONING:
        return Fact(None, "the drive keeps no count: NUSE is NCAP, without thin provisioning")
    used_bytes = namespace.nuse * namespace.block_bytes
    return Fact(f"{format_capacity(used_bytes)} = {namespace.nuse / namespace.nsze:.1%}", "NUSE of NSZE")
