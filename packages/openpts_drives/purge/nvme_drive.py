"""What NVMe's purge methods ask of a drive before, while and after they work.

Among it: which other namespaces an erasure of a whole NVM subsystem would reach, and whether all are known;
and what an operator can do when a drive refuses a command that it announces.
"""

import re
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.kernel_calls import open_to_ask
from openpts.device.nvme_admin import (
    NvmeCommandError,
    NvmeController,
    NvmeNamespace,
    allocated_namespaces,
    identify_controller,
    identify_namespace,
    read_log,
)
from openpts.device.nvme_subsystem import NvmeSubsystem
from openpts.device.purge.methods import Capability
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, failing_as
from openpts.programs import ProgramError, ProgramRunner, Reply
from openpts.system_files import read_text
from openpts.units import format_capacity
from openpts.vocabulary.facts import Fact, Facts
from openpts_drives.purge.purge_programs import held_drive

SANITIZE_LOG: Final = 0x81
SANITIZE_LOG_BYTES: Final = 512

_FIELDS: Final = struct.Struct("<HHI3I")
_NO_ESTIMATE: Final = 0xFFFF_FFFF
_PROGRESS_WHOLE: Final = 65_536


class SanitizeState(Enum):
    """Bits 2:0 of SSTAT, and the text for each."""

    NEVER = (0, "never sanitized")
    DONE = (1, "completed successfully")
    IN_PROGRESS = (2, "in progress")
    FAILED = (3, "failed")
    DONE_DEALLOCATED = (4, "completed successfully, all blocks deallocated")

    @property
    def text(self) -> str:
        """As the log would say it."""
        return self.value[1]

    @property
    def succeeded(self) -> bool:
        """Whether the last sanitize ended well."""
        return self in {SanitizeState.DONE, SanitizeState.DONE_DEALLOCATED}


class SanitizeAction(Enum):
    """The values of SANACT that erase."""

    BLOCK = (2, "Block Erase")
    OVERWRITE = (3, "Overwrite")
    CRYPTO = (4, "Crypto Erase")

    @property
    def number(self) -> int:
        """As it goes into dword 10."""
        return self.value[0]

    @property
    def text(self) -> str:
        """The specification's name."""
        return self.value[1]


class SanitizeLog(Struct, frozen=True):
    """One reading. ``share_done`` is 1 unless a sanitize is in progress; ``command`` is dword 10 of the last.

    ``erased_since`` is the Global Data Erased bit: nothing was written since the last sanitize.
    ``estimates_s`` has those actions for which the drive gives a time.
    """

    state: SanitizeState
    share_done: float
    command: int
    erased_since: bool
    estimates_s: dict[SanitizeAction, int]

    @classmethod
    def parse(cls, data: bytes) -> "SanitizeLog":
        """Read the log's first bytes. Raises ValueError if they make no sense."""
        if len(data) < _FIELDS.size:
            raise ValueError(f"a Sanitize Status log has {SANITIZE_LOG_BYTES} bytes, not {len(data)}")
        progress, status, command, *estimates = _FIELDS.unpack_from(data)
        state = next((state for state in SanitizeState if state.value[0] == status & 0x7), None)
        if state is None:
            raise ValueError(f"the Sanitize Status log has the unknown status {status & 0x7}")
        actions = (SanitizeAction.OVERWRITE, SanitizeAction.BLOCK, SanitizeAction.CRYPTO)
        return cls(
            state=state,
            share_done=progress / _PROGRESS_WHOLE if state is SanitizeState.IN_PROGRESS else 1.0,
            command=command,
            erased_since=bool(status & 1 << 8),
            estimates_s={
                action: estimate_s
                for action, estimate_s in zip(actions, estimates, strict=True)
                if estimate_s != _NO_ESTIMATE
            },
        )

    def __str__(self) -> str:
        text = self.state.text
        if self.state is SanitizeState.IN_PROGRESS:
            text += f", {self.share_done:.0%} done"
        return f"{text}; nothing written since" if self.erased_since and self.state.succeeded else text


_THIN_PROVISIONING: Final = 1 << 0  # of NSFEAT
_VERSION_TIMEOUT_S: Final = 20.0
# A drive that sanitizes may be slow to answer, and the kernel resets one whose answer is late.
_LOG_TIMEOUT_MS: Final = 60_000


def _sanitize_log(fd: int) -> bytes:
    return read_log(fd, SANITIZE_LOG, SANITIZE_LOG_BYTES, _LOG_TIMEOUT_MS)


class NvmeQuestions(Struct, frozen=True):
    """The admin commands that only ask, each on a descriptor; tests hand in recorded answers."""

    controller: Callable[[int], NvmeController] = identify_controller
    namespace: Callable[[int, int], bytes] = identify_namespace
    sanitize_log: Callable[[int], bytes] = _sanitize_log
    allocated: Callable[[int], tuple[int, ...]] = allocated_namespaces


class NvmeAnswers(Struct, frozen=True):
    """``sanitize`` is None where the drive has no sanitize at all."""

    controller: NvmeController
    namespace: NvmeNamespace
    sanitize: SanitizeLog | None


class NoAnswerError(Exception):
    """The drive can't be queried; the text says why."""


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


def ask_closed(device: BlockDevice, questions: NvmeQuestions, run: ProgramRunner) -> NvmeAnswers:
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
        with failing_as(NoAnswerError, f"{device.node} can't be opened", "run as root"):
            fd = held.enter_context(open_to_ask(device))
        yield fd


def namespace_id(device: BlockDevice) -> int:
    """NSID. Raises NoAnswerError."""
    nsid = device.whole.integer("nsid")
    if nsid is None:
        raise NoAnswerError(f"{device.place('nsid')} has no number")
    return nsid


def without(error: NoAnswerError) -> Capability:
    """The capability of a drive that could not be queried."""
    return Capability(False, str(error), foreign=isinstance(error, NotNvmeError))


def controller_node(target: OpenTarget, questions: NvmeQuestions) -> Path:
    """The character device for commands to exactly the drive that we hold. Raises PurgeError.

    Our descriptor keeps the kernel from giving the namespace's name to another drive; whether the
    controller with that name is the one that answers on it is checked right before each command.
    """
    device = held_drive(target, "a command")
    controller = NvmeSubsystem.of(device).live_controller
    if controller is None:
        raise PurgeError(f"{target.facts.path} has lost its controller: see dmesg")
    with failing_as(PurgeError, f"{target.facts.path} can't be identified", of=NvmeCommandError):
        serial = questions.controller(target.fd).sn
    reported = read_text(controller / "serial") or ""
    if reported.strip() != serial.strip():
        raise PurgeError(
            f"{target.facts.path} has serial number {serial}, but {controller.name} has {reported}"
        )
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


# nvme-cli ends its sentence with the status in brackets, "More" and "Do Not Retry" above the 11 bits
_STATUS: Final = re.compile(r"\((?:0x)?([0-9a-f]{1,4})\)\s*$", re.MULTILINE)
_STATUS_BITS: Final = 0x7FF

_ASLEEP: Final = (
    "firmware of many machines locks this command until the next sleep: suspend and resume the machine "
    "(systemctl suspend), or plug the drive into another one"
)
_HELP: Final = {
    0x001: _ASLEEP,
    0x00C: _ASLEEP,
    0x10A: _ASLEEP,
    0x01D: "a sanitize is in progress: wait for its end, see nvme sanitize-log",
    0x01C: "the last sanitize failed: only another one that succeeds makes the drive usable again",
    0x020: "the namespace is write protected: see nvme get-feature -f 0x84",
    0x286: "it is locked by a password or TCG Opal: unlock it in the machine's firmware or with sedutil-cli",
    0x123: "the controller lets nothing write to its persistent memory region: disable it first",
}


def what_helps(answer: Reply) -> str | None:
    """A hint for the status that the program reports; None where we know none."""
    if found := _STATUS.search(answer.stderr.strip() or answer.stdout.strip()):
        return _HELP.get(int(found[1], 16) & _STATUS_BITS)
    return None


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
    return replace(capability, reaches=others)


def check_held(target: OpenTarget, capability: Capability) -> None:
    """Raise PurgeError if a command would reach a namespace that the guard doesn't hold for us.

    What it would reach is not known of a drive that could not be queried, so that is an error too.
    """
    if not capability.supported:
        raise PurgeError(f"{target.facts.path}: {capability.reason}")
    held = {sibling.facts.path for sibling in target.siblings}
    if strangers := [node for node in capability.reaches if node not in held]:
        raise PurgeError(f"{', '.join(strangers)} would be erased as well, which was not confirmed")


def _hidden(
    fd: int, subsystem: NvmeSubsystem, controller: NvmeController, questions: NvmeQuestions
) -> str | None:
    """What the drive keeps that the kernel doesn't show, as a sentence; None: nothing."""
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
