"""One drive as `openpts devices` shows it: what it is, how it is, and whether it may be tested."""

from typing import Any, Final, Self

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import GuardVerdict
from openpts.device.identity import Media
from openpts.device.purge.methods import Capability, PurgeMethod
from openpts.vocabulary.facts import Facts, HealthReading, fact_of
from openpts_drives.link import NegotiatedLink


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


class ListedLink(Struct, frozen=True):
    """The link as it was negotiated, and the most that both ends could do."""

    current: str | None
    maximum: str | None


class ListedDevice(Struct, frozen=True, kw_only=True):
    """A whole drive; None is what nothing reports.

    ``facts`` have the keys of the report's header and their places. ``other_namespaces`` are nodes of its
    controller. ``warnings`` are sentences that an operator should read before a test. ``silent`` says that
    the drive didn't answer in time, so that only the kernel's own knowledge is here.
    """

    path: str
    model: str | None
    serial: str | None
    slot: str | None
    firmware: str | None
    capacity_bytes: int
    interface: str | None
    link: ListedLink
    form_factor: str | None
    media: str | None
    rotation_rpm: int | None
    logical_sector_bytes: int | None
    physical_sector_bytes: int | None
    write_cache: str | None
    temperature_c: float | None
    percentage_used_pct: float | None
    health: HealthReading
    purge_methods: tuple[PurgeAbility, ...]
    other_namespaces: tuple[str, ...]
    facts: Facts
    warnings: tuple[str, ...]
    silent: str | None
    safety: GuardVerdict

    @classmethod
    def of(cls, device: BlockDevice, facts: Facts, media: Media, link: NegotiatedLink, **known: Any) -> Self:
        """A drive that has answered nothing itself."""
        unknown: dict[str, Any] = {
            "logical_sector_bytes": None,
            "physical_sector_bytes": None,
            "purge_methods": (),
            "other_namespaces": (),
            "warnings": (),
            "silent": None,
        }
        return cls(
            **unknown | known | named(facts) | measured(HealthReading("the drive was not asked")),
            path=str(device.node),
            capacity_bytes=device.capacity_bytes,
            link=ListedLink(link.current, link.most),
            media=media.kind,
            rotation_rpm=media.rpm,
        )


_FACTS: Final = ("model", "serial", "slot", "firmware", "interface", "form_factor", "write_cache")
_VALUES: Final = ("temperature_c", "percentage_used_pct")


def named(facts: Facts) -> dict[str, Any]:
    """The fields of a drive that its facts fill."""
    return {"facts": facts, **{key: fact_of(facts, key) for key in _FACTS}}


def measured(health: HealthReading) -> dict[str, Any]:
    """The fields of a drive that its log fills."""
    return {"health": health, **{key: health.values.get(key) for key in _VALUES}}
