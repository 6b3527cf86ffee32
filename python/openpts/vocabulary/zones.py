"""A drive of zones: how it is laid out, its limits, and what its zones cost."""

from msgspec import Struct

from openpts.vocabulary.requests import Answer, DriverAnswer, DriverRequest


class ZoneTimes(Struct, frozen=True):
    """Times in ns that a command took on zones that were alike; ``what`` names both: ``reset, full``."""

    what: str
    times_ns: tuple[int, ...]


class ZoneWrites(Struct, frozen=True):
    """Writes or appends to one zone; ``in_order``: each byte lay where it was acknowledged, and once."""

    what: str
    block_size_bytes: int
    qd: int
    bytes: int
    elapsed_ns: int
    in_order: bool


class KilledWriter(Struct, frozen=True):
    """A process that wrote a zone block by block until it was killed, and the write pointer after that.

    One write may have been under way, which was not acknowledged.
    """

    block_size_bytes: int
    acknowledged_bytes: int
    write_pointer_bytes: int

    @property
    def kept(self) -> bool:
        """Whether the write pointer is behind all that was acknowledged, and at most one block further."""
        beyond = self.write_pointer_bytes - self.acknowledged_bytes
        return beyond in {0, self.block_size_bytes}


class ZonesMeasured(DriverAnswer, frozen=True):
    """Zones as the kernel reports them, and what was measured; sizes are those of sequential zones.

    ``open_limit`` and ``active_limit`` are the kernel's, 0 for none; ``opened`` and ``activated`` how many
    zones could be, as far as ``tried``. ``append_limit_bytes`` is the largest append, 0 where there is none;
    ``no_append`` says why none was measured.
    """

    model: str
    zones: int = 0
    conventional: int = 0
    zone_bytes: int = 0
    zone_capacity_bytes: int = 0
    open_limit: int = 0
    active_limit: int = 0
    append_limit_bytes: int = 0
    tried: int = 0
    opened: int = 0
    activated: int = 0
    times: tuple[ZoneTimes, ...] = ()
    writes: tuple[ZoneWrites, ...] = ()
    no_append: str = ""
    killed: KilledWriter | None = None


class MeasureZones(DriverRequest, frozen=True):
    """Reset all zones and measure them; the answer is ZonesMeasured.

    ``block_size_bytes`` is the size of writes and appends, ``qds`` of appends. Times are of so many
    ``repeats``; a writer is killed after ``killed_after`` acknowledged writes.
    """

    block_size_bytes: int
    qds: tuple[int, ...]
    repeats: int
    killed_after: int

    @property
    def planned(self) -> tuple[None, ZonesMeasured]:
        """Zones of which nothing is known."""
        return None, ZonesMeasured("planned")


def zones_in(answer: Answer) -> ZonesMeasured:
    """What a runner answers to a MeasureZones."""
    assert isinstance(answer, ZonesMeasured)  # noqa: S101 no runner answers otherwise
    return answer
