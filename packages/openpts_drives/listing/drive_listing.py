"""One drive as `openpts devices` shows it: what it is, how it is, and whether it may be tested."""

from typing import Self

from msgspec import Struct, field

from openpts.device.guard.verdict import GuardVerdict, Safety
from openpts.device.identity.interface import Media
from openpts.device.purge.methods import Capability, PurgeMethod
from openpts.vocabulary.facts import Facts, HealthReading
from openpts_drives.link import NegotiatedLink

_NOT_ASKED = HealthReading("the drive was not asked")


class PurgeAbility(Struct, frozen=True):
    """A purge method, and whether the drive has it; ``reason`` is where that was read, or why not.

    ``reaches`` are nodes of other namespaces that it would erase too.
    """

    name: str
    title: str
    is_purge: bool
    supported: bool
    reason: str
    duration_s: float | None
    reaches: tuple[str, ...]

    @classmethod
    def of(cls, method: PurgeMethod, capability: Capability) -> Self:
        """What the drive says of one of the methods."""
        return cls(
            method.name,
            method.title,
            method.is_purge,
            capability.supported,
            capability.reason,
            capability.duration_s,
            capability.reaches,
        )


class DeviceListing(Struct, frozen=True):
    """One whole drive.

    ``facts`` have the keys of the report's header and their places. ``siblings`` are nodes of other
    namespaces of its controller. ``warnings`` are sentences that an operator should read before a test.
    ``silent`` says that the drive didn't answer in time, so that only the kernel's own knowledge is here.
    """

    path: str
    facts: Facts
    capacity_bytes: int
    sector_bytes: int | None
    physical_sector_bytes: int | None
    media: Media
    link: NegotiatedLink
    verdict: GuardVerdict
    siblings: tuple[str, ...] = ()
    health: HealthReading = _NOT_ASKED
    purge: tuple[PurgeAbility, ...] = ()
    warnings: tuple[str, ...] = field(default=())
    silent: str = ""

    @property
    def safety(self) -> Safety:
        """Whether it may be tested."""
        return self.verdict.safety

    @property
    def reason(self) -> str:
        """Why not, or why that is unknown."""
        return self.verdict.reason

    @property
    def temperature_c(self) -> float | None:
        """Composite temperature."""
        return self.health.values.get("temperature_c")

    @property
    def percentage_used_pct(self) -> float | None:
        """Share of the rated life that is used; may pass 100."""
        return self.health.values.get("percentage_used_pct")
