"""SMART attributes and Device Statistics of an ATA drive, out of what smartctl printed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from openpts.device.health.smartctl import SmartctlAnswer, number

_USUAL_LBA_BYTES: Final = 512
_LONGEST_COUNT: Final = len(str(2**64))


@dataclass(frozen=True, slots=True)
class Attribute:
    """One vendor's attribute under smartmontools' name; ``value`` is normalized.

    ``raw`` is the raw value as smartmontools decodes it, None where that is not one whole number.
    """

    number: int
    name: str
    value: float | None
    raw: int | None


@dataclass(frozen=True, slots=True)
class AtaLogs:
    """``statistics`` are the valid ones, by the names of ACS. ``family`` is "" for an unknown model."""

    attributes: tuple[Attribute, ...]
    statistics: Mapping[str, float]
    lba_bytes: int
    in_database: bool
    family: str

    @classmethod
    def of(cls, answer: SmartctlAnswer) -> Self:
        """Whatever of them smartctl printed."""
        attributes = (_attribute(item) for item in answer.items("ata_smart_attributes", "table"))
        return cls(
            attributes=tuple(attribute for attribute in attributes if attribute is not None),
            statistics=_statistics(answer),
            lba_bytes=int(answer.number("logical_block_size") or _USUAL_LBA_BYTES),
            in_database=answer.in_database,
            family=answer.text("model_family"),
        )

    def raw(self, names: tuple[str, ...]) -> float | None:
        """Raw value of the first attribute with one of these names."""
        found = (attribute.raw for attribute in self.attributes if attribute.name in names)
        return next((float(raw) for raw in found if raw is not None), None)


def _attribute(item: Mapping[str, object]) -> Attribute | None:
    identifier, name = number(item.get("id")), item.get("name")
    if identifier is None or not isinstance(name, str):
        return None
    raw = item.get("raw")
    told = raw.get("string") if isinstance(raw, dict) else None
    return Attribute(int(identifier), name, number(item.get("value")), _whole(told))


def _whole(text: object) -> int | None:
    if not isinstance(text, str) or len(text) > _LONGEST_COUNT or not text.isascii():
        return None
    return int(text) if text.isdecimal() else None


def _statistics(answer: SmartctlAnswer) -> dict[str, float]:
    found = {}
    for page in answer.items("ata_device_statistics", "pages"):
        table = page.get("table")
        for item in table if isinstance(table, list) else ():
            if isinstance(item, dict) and (told := _statistic(item)) is not None:
                found[told[0]] = told[1]
    return found


def _statistic(item: Mapping[str, object]) -> tuple[str, float] | None:
    name, value, flags = item.get("name"), number(item.get("value")), item.get("flags")
    if not isinstance(name, str) or value is None or value < 0:
        return None
    valid = not isinstance(flags, dict) or flags.get("valid") is not False
    return (name, value) if valid else None
