"""Percentiles that fio states without a distribution, as a line of an imported run, and read from it."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from openpts.escaped_text import visible_line
from openpts.units import NS_PER_US
from openpts.vocabulary.imported import Imported

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
