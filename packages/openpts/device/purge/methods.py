"""All purge methods for drives, the best first, and which of them a drive has.

Each comes in by the door, openpts' own too, and openpts' listing says which of its own there are and how good
they are. One of these that is missing or broken is refused by its name where its turn comes, and never passed
over: what comes behind it is worse. What other packages bring comes last.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.purge.method import ByPsid, Capability, Progress, PurgeMethod
from openpts.device.security.security import read_security
from openpts.device.targets.open_target import OpenTarget
from openpts.did_you_mean import did_you_mean
from openpts.errors import PluginError, UsageError
from openpts.plugins import Kind, Offer, calling, listing, load, offers
from openpts.programs import ProgramRunner, Reply, run_program
from openpts.vocabulary.facts import Facts


class Unusable(Struct, frozen=True):
    """Implements openpts.device.purge.method.PurgeMethod for one that can't be loaded, or fails."""

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
            return method, _asking_by(run, method).capability(device)
    except PluginError as error:
        broken = Unusable(method.name, error)
        return broken, broken.capability(device)


def _each_question_once(run: ProgramRunner) -> ProgramRunner:
    """Methods of one kind of drive ask the same: what is answered holds for all of one look."""
    answers: dict[tuple[str, ...], Reply] = {}

    def ask(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        question = tuple(command)
        if question not in answers:
            answers[question] = run(command, timeout_s, to_the_end=to_the_end)
        return answers[question]

    return ask


def _asking_by(run: ProgramRunner, method: PurgeMethod) -> PurgeMethod:
    """The method with another way to run programs, for those that do."""
    if isinstance(method, Struct) and "run" in method.__struct_fields__:
        return replace(method, run=run)
    return method
