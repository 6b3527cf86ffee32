"""What is found of a drive's inside: values under the names that a preset has for them, with their evidence.

The report of an x-ray has them in its JSON as ``findings``; ``findings_in`` reads them from there.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct


class Confidence(StrEnum):
    """How far a value can be relied on.

    HIGH: two readings agree, or one is so clear that noise can't make it. LOW: one reading near its limit, or
    one that rests on an assumption which the evidence names.
    """

    LOW = "low"
    HIGH = "high"


Value = bool | int | float | str


class Finding(Struct, frozen=True):
    """One property of a drive.

    ``name`` is the dotted name that a preset has for it (``page_mapped.geometry.dies``), or one word where a
    preset has none. ``value`` is None where the drive can't be told; ``evidence`` then says why, and else
    what the value was read from. Bytes are those of the drive as it is, whatever the scale of a simulation.
    """

    name: str
    value: Value | None
    unit: str
    confidence: Confidence | None
    evidence: str

    @property
    def is_told(self) -> bool:
        """Whether there is a value."""
        return self.value is not None


def told(name: str, value: Value, unit: str, evidence: str, *, high: bool) -> Finding:
    """A finding with a value."""
    return Finding(name, value, unit, Confidence.HIGH if high else Confidence.LOW, evidence)


def cannot_tell(name: str, why: str) -> Finding:
    """A property that the measurements leave open."""
    return Finding(name, None, "", None, why)


FINDINGS: Final = "findings"
"""Their key in the JSON of a report."""


def findings_in(figures: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The findings in the figures of a report. Raises msgspec.ValidationError if they are of another form."""
    return msgspec.convert(figures.get(FINDINGS, ()), tuple[Finding, ...])
