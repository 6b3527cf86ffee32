"""Purge methods: what each can be asked, all of them, the choice among them.

Each comes in by the door, openpts' own too, and openpts' listing says which of its own there are and how good
they are. One of these that is missing or broken is refused by its name where its turn comes, and never passed
over: what comes behind it is worse. What other packages bring comes last.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Final, Protocol, Self, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.security import read_security
from openpts.device.targets.open_target import OpenTarget
from openpts.did_you_mean import did_you_mean
from openpts.errors import PluginError, PurgeImpossibleError, RefusedError, UsageError
from openpts.plugins import Kind, Offer, calling, listing, load, offers
from openpts.programs import ProgramRunner, Reply, run_program
from openpts.vocabulary.facts import Facts, PurgeAttempt
from openpts.vocabulary.purge import PurgeChoice

Progress = Callable[[float | None, str], None]
"""Called now and then while a purge runs: the share done (0 to 1; None is unknown), and a short text."""


class Capability(Struct, frozen=True):
    """Whether a drive has a method. ``reason`` is where that was read, or why not, for the operator.

    ``duration_s`` is the drive's own estimate, None where it gives none. ``reaches`` are the nodes of other
    drives that it erases as well: the other namespaces of an NVMe subsystem. ``foreign``: the method is of
    another kind of drive, so its reason is not shown for this one. ``needs`` is what only the operator has,
    without which it is never taken unasked.
    """

    supported: bool
    reason: str
    duration_s: float | None = None
    reaches: tuple[str, ...] = ()
    foreign: bool = False
    needs: str = ""

    @classmethod
    def of_writing(cls, device: BlockDevice) -> Self:
        """Of a method that goes by writes or discards of ours: whether the kernel lets programs write."""
        place = device.place("ro")
        return (
            cls(False, f"is set read-only: {place} is 1") if device.read_only else cls(True, f"{place} is 0")
        )


@runtime_checkable
class PurgeMethod(Protocol):
    """One way to purge.

    One that is a msgspec struct with a field ``run`` asks the drive through it: what programs answer holds
    for all methods of one query.
    """

    @property
    def name(self) -> str:
        """As an operator asks for it, such as ``nvme-format``."""

    @property
    def title(self) -> str:
        """As a report names it, such as ``NVMe Format NVM, user data erase``."""

    @property
    def is_purge(self) -> bool:
        """Whether it takes a drive back to a state as if never written (PTS 2.1.11); overwriting does not."""

    def capability(self, device: BlockDevice) -> Capability:
        """Whether the drive has it, asked of the drive before anything is changed.

        Opens for reading at most; never raises: an unknown answer counts as not supported, with its reason.
        """

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        """Do it, to the end, on a target that the guard has opened; the detail for the report.

        Raises PurgeError. That it ended without an error proves nothing: the caller reads back.
        """

    def status(self, target: OpenTarget) -> Facts:
        """What the drive's own logs say of it afterwards; empty where it keeps none. Never raises."""


@runtime_checkable
class ByPsid(Protocol):
    """A method by the number on the drive's label: a drive that is locked obeys no other."""

    def with_psid(self, psid: Callable[[], bytes]) -> PurgeMethod:
        """The same method, which gets the number so."""


_LIMIT_S: Final = 4 * 3600.0
# the slowest that a disk writes, with a margin
_OVERWRITE_BYTES_PER_S: Final = 20 * 1000**2


class SanitizeKind(StrEnum):
    """What is done with the blocks, by the names of AtaIdentity.sanitizes."""

    BLOCK = "block"
    CRYPTO = "crypto"
    OVERWRITE = "overwrite"

    @property
    def is_purge(self) -> bool:
        """Whether a drive is as if never written afterwards: an overwrite leaves all its blocks written."""
        return self is not SanitizeKind.OVERWRITE

    def limit_s(self, capacity_bytes: int) -> float:
        """When a wait for its end is given up."""
        if self is SanitizeKind.OVERWRITE:
            return _LIMIT_S + capacity_bytes / _OVERWRITE_BYTES_PER_S
        return _LIMIT_S


class Unusable(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod for one that can't be loaded, or fails."""

    name: str
    error: PluginError
    is_purge: bool = True

    @property
    def title(self) -> str:
        return self.name

    def capability(self, _device: BlockDevice) -> Capability:
        return Capability(False, str(self.error))

    def carry_out(self, _target: OpenTarget, _progress: Progress) -> str:
        raise self.error

    def status(self, _target: OpenTarget) -> Facts:
        return {}


def methods() -> Iterator[PurgeMethod]:
    """Every method in its order; what can't be used as an ``Unusable`` one."""
    for name, offer in _offered().items():
        try:
            yield _loaded(name, offer)
        except PluginError as error:
            yield Unusable(name, error)


def capabilities(
    device: BlockDevice, run: ProgramRunner = run_program
) -> tuple[tuple[PurgeMethod, Capability], ...]:
    """Each method with whether the drive has it, the best first; asks the drive and changes nothing."""
    once = _each_question_once(run)
    found = [_asked(method, once, device) for method in methods()]
    state = read_security(device).state
    if state is None or not state.keeps_data_away:
        return tuple(found)
    by_psid = "".join(f", or use {method.name}" for method, _ in found if isinstance(method, ByPsid))
    locked = Capability(False, f"{state}: unlock it{by_psid}")
    return tuple(
        (method, capability if capability.foreign or isinstance(method, ByPsid) else locked)
        for method, capability in found
    )


def method_named(name: str) -> PurgeMethod:
    """The method of that name. Raises UsageError with all names if there is none, PluginError."""
    offered = _offered()
    if name in offered:
        return _loaded(name, offered[name])
    names = ["auto", "none", *offered]
    hint = did_you_mean(name, names, f"there are {', '.join(names)}")
    raise UsageError(f"{name!r} is not a purge method: {hint}")


def _offered() -> dict[str, Offer | None]:
    """All by name; None for one that openpts should have, which no other package may take the place of."""
    found = offers(Kind.PURGE)
    own = {name: found.pop(name, None) for name in listing().purges}
    sound = {name: offer if offer is None or offer.package.is_own else None for name, offer in own.items()}
    return {**sound, **found}


def _loaded(name: str, offer: Offer | None) -> PurgeMethod:
    if offer is None:
        raise PluginError(f"this installation lacks the purge method {name!r}: install openpts again")
    method: PurgeMethod = load(offer)
    return method


def _asked(method: PurgeMethod, run: ProgramRunner, device: BlockDevice) -> tuple[PurgeMethod, Capability]:
    offer = _offered()[method.name]
    if offer is None or isinstance(method, Unusable):
        return method, method.capability(device)
    try:
        with calling(offer):
            asking: PurgeMethod = method
            if isinstance(method, Struct) and "run" in method.__struct_fields__:
                asking = replace(method, run=run)
            return method, asking.capability(device)
    except PluginError as error:
        broken = Unusable(method.name, error)
        return broken, broken.capability(device)


def _each_question_once(run: ProgramRunner) -> ProgramRunner:
    """Methods of one kind of drive ask the same: an answer holds for all of one query."""
    answers: dict[tuple[str, ...], Reply] = {}

    def ask(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        question = tuple(command)
        if question not in answers:
            answers[question] = run(command, timeout_s, to_the_end=to_the_end)
        return answers[question]

    return ask


Ask = Callable[[BlockDevice], Sequence[tuple[PurgeMethod, Capability]]]


class ChosenMethods(Struct, frozen=True):
    """What to try, in this order, and what was left out before anything was tried, with the reasons."""

    methods: tuple[PurgeMethod, ...]
    left_out: tuple[PurgeAttempt, ...]


def choose(
    choice: PurgeChoice, device: BlockDevice, confirmed: frozenset[str], ask: Ask = capabilities
) -> ChosenMethods:
    """The methods of a choice that is not ``none``. Without names: the best that the drive has, alone.

    ``confirmed`` are names of other drives that the operator gave up too, since some methods reach them.
    Raises PurgeImpossibleError where nothing of it can be done, RefusedError where something that the
    operator named would erase a drive that was not confirmed, UsageError for an unknown name, and PluginError
    for a method that is missing or broken and would come before one that the drive has.
    """
    requested = [method_named(name).name for name in choice.methods]
    answers = {method.name: (method, capability) for method, capability in ask(device)}
    ways, left_out = [], []
    for name in requested or answers:
        method, capability = answers[name]
        if isinstance(method, Unusable):
            raise method.error
        reason = _against(method, capability, confirmed, requested=bool(requested))
        if reason is None:
            ways.append(method)
        elif requested or not capability.foreign:
            left_out.append(PurgeAttempt(name, reason))
        if ways and not requested:
            break
    if not ways:
        why = "; ".join(f"{attempt.method}: {attempt.outcome}" for attempt in left_out)
        has = [
            method.name if method.is_purge else f"{method.name} (not a purge)"
            for method, capability in answers.values()
            if capability.supported
        ]
        instead = f"; it has {', '.join(has)}" if has else ""
        if (device.folder / "md").is_dir():
            instead += "; purge the members of the array, create it of them again, and run with --purge none"
        raise PurgeImpossibleError(f"{device.node} can't be purged this way: {why}{instead}")
    return ChosenMethods(tuple(ways), tuple(left_out))


def _against(
    method: PurgeMethod, capability: Capability, confirmed: frozenset[str], *, requested: bool
) -> str | None:
    """Why a method is not to be taken; None: it is. Raises RefusedError."""
    if not capability.supported:
        return capability.reason
    if not (requested or method.is_purge):
        return "does not count as a purge: used only if asked for"
    if capability.needs and not requested:
        return f"needs {capability.needs}: used only if asked for"
    strangers = [name for name in capability.reaches if name not in confirmed]
    if not strangers:
        return None
    erases = f"would erase {', '.join(strangers)} as well, which was not confirmed"
    if not requested:
        return erases
    options = " ".join(f"--confirm-namespace {shlex.quote(name)}" for name in strangers)
    raise RefusedError(f"refused [namespaces]: {method.name} {erases}; to confirm that, add {options}")


def purge_choice(text: str) -> PurgeChoice:
    """The choice that a text means. Raises UsageError where it makes no sense or names no method."""
    try:
        choice = PurgeChoice.parse(text)
    except ValueError as error:
        raise UsageError(f"purge: {error}") from error
    for name in choice.methods:
        method_named(name)
    return choice
