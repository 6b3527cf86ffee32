"""Workloads as an operator names or describes them: by name, in the specification's words, or as a table."""

import math
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.fields.parsing import refuse
from openpts.fields.readers import block_size_bytes, point_of
from openpts.units import format_block_size
from openpts.vocabulary.condition_text import workload_text
from openpts.vocabulary.placement import Uniform, Zone, Zones
from openpts.vocabulary.stimulus import BlockSize
from openpts.vocabulary.workload import WORKLOADS, Workload, simple_workload

NAMES: Final = ", ".join(WORKLOADS)
# Sizes are dealt like cards, so that every thousands of accesses hold each as often as its weight says.
_MOST_CARDS: Final = 10_000

Share = Annotated[int, Meta(ge=0, le=100)]


class ZoneTable(Struct, frozen=True, forbid_unknown_fields=True):
    """An access range: one behind the other from the start of the active range."""

    accesses_pct: Annotated[int, Meta(ge=0, le=100, description="Per cent of the accesses.")]
    range_pct: Annotated[float, Meta(gt=0, le=100, description="Per cent of the active range.")]


class WorkloadTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A workload of the operator's own."""

    name: Annotated[
        str, Meta(min_length=1, max_length=60, description="What tables and plots call the workload.")
    ]
    block_sizes: Annotated[
        dict[str, Annotated[int, Meta(ge=1, le=_MOST_CARDS)]],
        Meta(
            min_length=1,
            max_length=64,
            description="Block sizes, each with its weight in the number of accesses.",
            examples=[{"4KiB": 70, "64KiB": 30}],
        ),
    ]
    read_pct: Annotated[int, Meta(ge=0, le=100, description="Per cent of the accesses that read.")]
    random_pct: Annotated[
        int, Meta(ge=0, le=100, description="Per cent of the accesses that go to random places; 100.")
    ] = 100
    zones: Annotated[
        list[ZoneTable],
        Meta(max_length=64, description="Access ranges; without them all blocks are accessed alike."),
    ] = []


WorkloadWord = Annotated[
    str,
    Meta(
        description=f"One of {NAMES}; or order, size and mix, such as RND 8KiB RW65.",
        examples=["oltp", "RND 8KiB RW65"],
    ),
]


def workload_of(name: str, word: str | WorkloadTable) -> Workload:
    """The workload that is meant. Raises UsageError."""
    if isinstance(word, WorkloadTable):
        return _own(name, word)
    if word in WORKLOADS:
        return WORKLOADS[word]
    if not word.upper().startswith(("RND", "SEQ")):
        refuse(name, word, f"is not one of {NAMES}, and not of the form RND 8KiB RW65")
    point = point_of(name, word)
    order = point.access_pattern
    named = f"{order.short}-{format_block_size(point.block_size_bytes)}-rw{point.read_pct}"
    return simple_workload(named.lower().replace(" ", ""), order, point.block_size_bytes, point.read_pct)


def workload_or_same(name: str, word: str | WorkloadTable, present: Workload) -> Workload:
    """The workload that is meant; the present one where it is the same under another name."""
    meant = workload_of(name, word)
    same = replace(meant, name=present.name, title=present.title) == present
    return present if same and not isinstance(word, WorkloadTable) else meant


def workload_word(workload: Workload) -> str:
    """The word for a workload: its name, or its description."""
    return workload.name if workload.name in WORKLOADS else workload_text(workload)


def _own(name: str, table: WorkloadTable) -> Workload:
    where = f"{name}: workload {table.name!r}"
    if table.name in WORKLOADS:
        raise UsageError(f"{where}: the specification has one of that name; use another")
    sizes = tuple(
        BlockSize(block_size_bytes(f"{where}: block size", size), weight)
        for size, weight in table.block_sizes.items()
    )
    if len({size.block_size_bytes for size in sizes}) < len(sizes):
        raise UsageError(f"{where}: a block size is given twice")
    weights = [size.weight for size in sizes]
    if sum(weights) // math.gcd(*weights) > _MOST_CARDS:
        raise UsageError(f"{where}: the weights sum to more than {_MOST_CARDS:,}")
    if table.zones:
        _check_zones(where, table)
    return Workload(
        name=table.name,
        title=table.name,
        random_pct=table.random_pct,
        block_sizes=sizes,
        read_pct=table.read_pct,
        placement=Zones(tuple(Zone(zone.accesses_pct, zone.range_pct) for zone in table.zones))
        if table.zones
        else Uniform(),
    )


def _check_zones(where: str, table: WorkloadTable) -> None:
    if not table.random_pct:
        raise UsageError(f"{where}: zones apply to random accesses, and the workload has none")
    if (accesses := sum(zone.accesses_pct for zone in table.zones)) != 100:
        raise UsageError(f"{where}: the zones' accesses sum to {accesses} per cent, not to 100")
    if abs((ranges := sum(zone.range_pct for zone in table.zones)) - 100) > 1e-6:
        raise UsageError(f"{where}: the zones' ranges sum to {ranges:g} per cent, not to 100")
