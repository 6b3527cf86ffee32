"""Facts about the device, the host and the preparation, each with the place it was read from."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact for the report's header. ``value`` is None where nothing reports it; ``source`` says why."""

    value: str | None
    source: str


Facts = dict[str, Fact]


class TargetKind(StrEnum):
    """What stands behind the target's name."""

    FILE = "file"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """The device under test as the engine sees it."""

    kind: TargetKind
    name: str
    path: str
    user_capacity_bytes: int
    sector_bytes: int


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What the purge was and how it was proven (PTS 3.2, 7.3.1).

    ``ran`` is False where no purge was made. ``changed_samples`` of ``samples`` marked places read
    back without their mark after the purge.
    """

    ran: bool
    method: str
    detail: str
    started_at: str
    duration_ns: int
    samples: int
    changed_samples: int


@dataclass(frozen=True, slots=True)
class WriteCacheReport:
    """The volatile write cache as asked for and as found (PTS 3.7): texts such as ``WCD``."""

    required: str
    actual: str
    source: str
