"""What every purge method can be asked: whether a drive has it, to carry it out, what the drive says then."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol, Self, runtime_checkable

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.targets.open_target import OpenTarget
from openpts.vocabulary.facts import Facts

Progress = Callable[[float | None, str], None]
"""Told now and then while a purge runs: the share that is done (0 to 1, None: not known), and a few words."""


class Capability(Struct, frozen=True):
    """Whether a drive has a method. ``reason`` is where that was read, or why not, in words for the operator.

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
    for all methods of one look.
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
    """What is done with the blocks, by the words of AtaIdentity.sanitizes."""

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
