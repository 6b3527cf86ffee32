"""All purge methods for drives, the best first, and which of them a drive has.

What leaves least behind comes first: a sanitize reaches spare and retired blocks too, a format or secure
erase the user's data, a discard only tells the drive what it may forget. An erasure of the key comes behind
one of the blocks, since it may leave them programmed. What takes hours and wears the drive comes last, and
what is no purge is never taken unasked.
"""

from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.purge.discard import Discard
from openpts.device.purge.method import Capability, PurgeMethod
from openpts.errors import UsageError

METHODS: Final[tuple[PurgeMethod, ...]] = (Discard(),)


def capabilities(device: BlockDevice) -> tuple[tuple[PurgeMethod, Capability], ...]:
    """Each method with whether the drive has it, the best first; asks the drive and changes nothing."""
    return tuple((method, method.capability(device)) for method in METHODS)


def method_named(name: str) -> PurgeMethod:
    """The method of that name. Raises UsageError with all names if there is none."""
    for method in METHODS:
        if method.name == name:
            return method
    names = ", ".join(method.name for method in METHODS)
    raise UsageError(f"{name!r} is no purge method: there are auto, none, {names}")
