"""Which purge method to take on a drive: the operator's, or the best that it has."""

import shlex
from collections.abc import Callable, Sequence

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.purge.method import Capability, PurgeMethod
from openpts.device.purge.methods import Unusable, capabilities, method_named
from openpts.errors import PurgeImpossibleError, RefusedError, UsageError
from openpts.vocabulary.facts import PurgeAttempt
from openpts.vocabulary.purge import PurgeChoice

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
        reason = _against(method, capability, confirmed, asked_for=bool(requested))
        if reason is None:
            ways.append(method)
        elif requested or not capability.foreign:
            left_out.append(PurgeAttempt(name, reason))
        if ways and not requested:
            break
    if not ways:
        raise _nothing_left(device, left_out, answers)
    return ChosenMethods(tuple(ways), tuple(left_out))


def _against(
    method: PurgeMethod, capability: Capability, confirmed: frozenset[str], *, asked_for: bool
) -> str | None:
    """Why a method is not to be taken; None: it is. Raises RefusedError."""
    if not capability.supported:
        return capability.reason
    if not (asked_for or method.is_purge):
        return "does not count as a purge: used only if asked for"
    if capability.needs and not asked_for:
        return f"needs {capability.needs}: used only if asked for"
    strangers = [name for name in capability.reaches if name not in confirmed]
    if not strangers:
        return None
    erases = f"would erase {', '.join(strangers)} as well, which was not confirmed"
    if not asked_for:
        return erases
    options = " ".join(f"--confirm-namespace {shlex.quote(name)}" for name in strangers)
    raise RefusedError(f"refused [namespaces]: {method.name} {erases}; to confirm that, add {options}")


def _nothing_left(
    device: BlockDevice, left_out: Sequence[PurgeAttempt], answers: dict[str, tuple[PurgeMethod, Capability]]
) -> PurgeImpossibleError:
    why = "; ".join(f"{attempt.method}: {attempt.outcome}" for attempt in left_out)
    has = [
        method.name if method.is_purge else f"{method.name} (not a purge)"
        for method, capability in answers.values()
        if capability.supported
    ]
    instead = f"; it has {', '.join(has)}" if has else ""
    if (device.folder / "md").is_dir():
        instead += "; purge the members of the array, create it of them again, and run with --purge none"
    return PurgeImpossibleError(f"{device.node} can't be purged this way: {why}{instead}")


def purge_choice(text: str) -> PurgeChoice:
    """The choice that a text means. Raises UsageError where it makes no sense or names no method."""
    try:
        choice = PurgeChoice.parse(text)
    except ValueError as error:
        raise UsageError(f"purge: {error}") from error
    for name in choice.methods:
        method_named(name)
    return choice
