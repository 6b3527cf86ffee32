"""Figures that fio states, as far as a record can hold them, and percentiles without a distribution."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

from msgspec import Meta

from openpts.analysis.latency import LatencyDistribution
from openpts.escaped_text import visible_line
from openpts.units import NS_PER_US
from openpts.vocabulary.run_request import Imported
from openpts.vocabulary.sample import NOTHING, OperationSample

MOST: Final = 2**63 - 1
_NUMBERED: Final = "FIO_IO_U_PLAT_BITS"

Count = Annotated[int, Meta(ge=0, le=MOST)]
Figure = Annotated[float, Meta(ge=0, le=sys.float_info.max)]


OPERATIONS: Final = ("read", "write", "trim", "flush", "fsync")


def operations_of(found: Mapping[str, OperationSample]) -> dict[str, Any]:
    """Each operation of a sample: what is found, or nothing."""
    return {name: found.get(name, NOTHING) for name in OPERATIONS}


def merged(parts: Sequence[OperationSample]) -> OperationSample:
    """One operation of several: a figure that one of them lacks, all of them lack. Raises OverflowError."""
    active = [part for part in parts if part.ios]
    if len(active) < 2:
        return active[0] if active else NOTHING
    known = all(part.latency_sum_ns for part in active)
    least = [part.latency_min_ns for part in active if part.latency_min_ns is not None]
    most = [part.latency_max_ns for part in active if part.latency_max_ns is not None]
    has_all = all(part.histogram for part in active)
    return OperationSample(
        ios=storable(sum(part.ios for part in active)),
        bytes=storable(sum(part.bytes for part in active)),
        latency_sum_ns=storable(sum(part.latency_sum_ns for part in active)) if known else 0,
        latency_min_ns=min(least) if len(least) == len(active) else None,
        latency_max_ns=max(most) if len(most) == len(active) else None,
        histogram=LatencyDistribution.merged(part.histogram for part in active).encode() if has_all else b"",
    )


def storable(figure: float) -> int:
    """The whole number nearest to it. Raises OverflowError for what no record can hold."""
    if not 0 <= figure <= MOST:
        raise OverflowError
    return round(figure)


def bins_of(bins: Mapping[str, int], unit: int) -> Counter[int]:
    """Latency in ns and count of each bin: fio 3 names the latency, fio 2 the number of the bin.

    Raises OverflowError, ValueError for what no record can hold.
    """
    found: Counter[int] = Counter()
    bits = bins.get(_NUMBERED)
    if bits is not None and not 0 < bits < 16:
        raise ValueError
    for name, ios in bins.items():
        if name.isascii() and name.isdecimal() and ios:
            latency = int(name[:20]) if bits is None else _latency_of_bin(int(name[:20]), bits)
            found[storable(latency * unit)] += ios
    storable(sum(found.values()))
    return found


def _latency_of_bin(number: int, bits: int) -> int:
    """The middle of a bin in fio's numbering: linear below, then as many bins in each power of two."""
    if number < 2 << bits:
        return number
    shift = (number >> bits) - 1
    if shift > 64:
        raise ValueError
    return (1 << shift + bits) + (number % (1 << bits) << shift) + (1 << shift - 1)


_UNITS_NS: Final = {"ns": 1, "us": NS_PER_US}
_LINE: Final = re.compile(r"(s?c?lat) \((ns|us)\) (.*)")
_ONE: Final = re.compile(r"(?:^|, )([0-9]+(?:\.[0-9]+)?) %: ([0-9,]*[0-9])(?=, |$)")


def stated_percentiles(
    job: str, operation: str, latency: str, unit: str, values: Iterable[tuple[float, float]]
) -> tuple[str, str] | None:
    """The line of an operation of a job, of ``latency`` in fio's word; None without any percentile."""
    text = ", ".join(f"{level:.10g} %: {value:,.0f}" for level, value in sorted(values) if level)
    return (_subject(job, operation), f"{latency} ({unit}) {text}") if text else None


def percentiles_of(imported: Imported | None, job: str, operation: str) -> tuple[str, Mapping[float, int]]:
    """fio's word for the latency, and its percentiles in ns; none where several threads state their own."""
    stated = () if imported is None else imported.stated
    lines = [text for name, text in stated if name == visible_line(_subject(job, operation))]
    found = _LINE.fullmatch(lines[0]) if len(lines) == 1 else None
    if found is None:
        return "", {}
    unit_ns = _UNITS_NS[found[2]]
    return found[1], {
        float(level): int(value.replace(",", "")) * unit_ns for level, value in _ONE.findall(found[3])
    }


def _subject(job: str, operation: str) -> str:
    return f"Percentiles of {job}, {operation}"
