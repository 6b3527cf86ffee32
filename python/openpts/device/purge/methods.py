"""All purge methods for drives, the best first, and which of them a drive has.

What erases the user's data in all its copies comes first, and of those what touches least besides: a format
is over when its command is, and reaches one namespace where the drive can do that; a sanitize reaches the
whole drive and can't be broken off, and there are drives on which it never ends. An erasure of the key comes
behind one of the blocks, since it may leave them programmed. A discard only tells the drive what it may
forget. What takes hours and wears the drive comes last; what is no purge, or needs a number from the drive's
label, is never taken unasked. A drive that is locked obeys no method but the one by that number.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.purge.ata_sanitize import AtaSanitize
from openpts.device.purge.ata_security_erase import AtaSecurityErase
from openpts.device.purge.discard import Discard
from openpts.device.purge.method import Capability, PurgeMethod, SanitizeKind
from openpts.device.purge.nvme_format import NvmeFormat
from openpts.device.purge.nvme_sanitize import NvmeSanitize
from openpts.device.purge.nvme_sanitize_log import SanitizeAction
from openpts.device.purge.overwrite import Overwrite
from openpts.device.purge.psid_revert import PSID_REVERT, PsidRevert
from openpts.device.purge.scsi_format import ScsiFormat
from openpts.device.purge.scsi_sanitize import ScsiSanitize
from openpts.device.security.security import read_security
from openpts.did_you_mean import did_you_mean
from openpts.errors import PluginError, UsageError
from openpts.plugins import Kind, Offer, calling, load, offers
from openpts.programs import Reply, Run, run_program

METHODS: Final[tuple[PurgeMethod, ...]] = (
    NvmeFormat.user_data(),
    NvmeSanitize(SanitizeAction.BLOCK),
    NvmeFormat.crypto(),
    NvmeSanitize(SanitizeAction.CRYPTO),
    AtaSanitize(SanitizeKind.BLOCK),
    AtaSecurityErase(),
    AtaSanitize(SanitizeKind.CRYPTO),
    AtaSecurityErase(enhanced=True),
    ScsiSanitize(SanitizeKind.BLOCK),
    ScsiFormat(),
    ScsiSanitize(SanitizeKind.CRYPTO),
    PsidRevert(),
    Discard(),
    NvmeSanitize(SanitizeAction.OVERWRITE),
    AtaSanitize(SanitizeKind.OVERWRITE),
    ScsiSanitize(SanitizeKind.OVERWRITE),
    Overwrite(),
)


def capabilities(device: BlockDevice, run: Run = run_program) -> tuple[tuple[PurgeMethod, Capability], ...]:
    """Each method with whether the drive has it, the best first; asks the drive and changes nothing.

    Those of plug-ins come last; a broken one is left out here, and named by ``method_named`` and doctor.
    """
    once = _each_question_once(run)
    own = ((method, _asking_by(once, method).capability(device)) for method in METHODS)
    found = (*own, *_of_plugins(device))
    state = read_security(device).state
    if state is None or not state.keeps_data_away:
        return found
    locked = Capability(False, f"{state}: unlock it, or use {PSID_REVERT}")
    return tuple(
        (method, capability if capability.foreign or method.name == PSID_REVERT else locked)
        for method, capability in found
    )


def _offered() -> dict[str, Offer]:
    return offers(Kind.PURGE, {method.name for method in METHODS})


def _of_plugins(device: BlockDevice) -> Iterator[tuple[PurgeMethod, Capability]]:
    for offer in _offered().values():
        with suppress(PluginError), calling(offer):
            method: PurgeMethod = load(offer)
            yield method, method.capability(device)


def _each_question_once(run: Run) -> Run:
    """Methods of one kind of drive ask the same: what is answered holds for all of one look."""
    answers: dict[tuple[str, ...], Reply] = {}

    def ask(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        question = tuple(command)
        if question not in answers:
            answers[question] = run(command, timeout_s, to_the_end=to_the_end)
        return answers[question]

    return ask


def _asking_by(run: Run, method: PurgeMethod) -> PurgeMethod:
    """The method with another way to run programs, for those that do."""
    match method:
        case (
            NvmeFormat() | NvmeSanitize() | AtaSanitize() | AtaSecurityErase() | ScsiSanitize() | ScsiFormat()
        ):
            return replace(method, run=run)
        case _:
            return method


def method_named(name: str) -> PurgeMethod:
    """The method of that name. Raises UsageError with all names if there is none, PluginError."""
    for method in METHODS:
        if method.name == name:
            return method
    if (offer := _offered().get(name)) is not None:
        found: PurgeMethod = load(offer)
        return found
    names = ["auto", "none", *(method.name for method in METHODS), *_offered()]
    hint = did_you_mean(name, names, f"there are {', '.join(names)}")
    raise UsageError(f"{name!r} is not a purge method: {hint}")
