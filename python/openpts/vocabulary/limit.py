"""Limits that an operator sets for what is measured, and what became of each."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, Self

from msgspec import Struct

from openpts.units import MB, NS_PER_MS


class LimitedFigure(StrEnum):
    """What a limit is for: rates have to reach it, response times must not exceed it."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    MEAN_LATENCY = "mean_latency"
    PERCENTILE = "percentile"
    MAX_LATENCY = "max_latency"


class LimitedOperation(StrEnum):
    """The I/Os that a limit is for."""

    READ = "read"
    WRITE = "write"
    TRIM = "trim"


_UNITS: Final = {LimitedFigure.IOPS: ("IOPS", 1), LimitedFigure.THROUGHPUT: ("MB/s", MB)}
_WORDS: Final = {
    LimitedFigure.IOPS: "IOPS",
    LimitedFigure.THROUGHPUT: "throughput",
    LimitedFigure.MEAN_LATENCY: "mean response time",
    LimitedFigure.MAX_LATENCY: "maximum response time",
}


class Limit(Struct, frozen=True, omit_defaults=True):
    """A value for all reads, or all writes or trims: IOPS, bytes/s, or ns.

    ``percentile`` is that of a ``PERCENTILE``.
    """

    operation: LimitedOperation
    figure: LimitedFigure
    value: float
    percentile: float = 0.0

    @property
    def is_rate(self) -> bool:
        """Whether at least the value is asked for; at most, otherwise."""
        return self.figure in _UNITS

    @property
    def unit(self) -> str:
        """In what the figure is shown: IOPS, MB/s or ms."""
        return _UNITS[self.figure][0] if self.is_rate else "ms"

    def in_unit(self, value: float) -> float:
        """A value of the figure, in ``unit``."""
        return value / (_UNITS[self.figure][1] if self.is_rate else NS_PER_MS)

    @property
    def name(self) -> str:
        """What is limited: ``read P99.99 response time``."""
        if self.figure is LimitedFigure.PERCENTILE:
            return f"{self.operation} P{self.percentile:.10g} response time"
        return f"{self.operation} {_WORDS[self.figure]}"

    def __str__(self) -> str:
        bound = "at least" if self.is_rate else "at most"
        return f"{self.name} {bound} {self.in_unit(self.value):,.6g} {self.unit}"


class Judgement(StrEnum):
    """What became of a limit."""

    PASS = "pass"  # noqa: S105 no secret
    FAIL = "fail"
    NO_VERDICT = "no verdict"


class LimitVerdict(Struct, frozen=True):
    """A limit and what was measured, in the limit's own unit; ``reason`` says why there is no verdict."""

    limit: Limit
    value: float | None
    judgement: Judgement
    reason: str = ""


class JudgedLimit(Struct, frozen=True):
    """A limit of the operator's or of a test with its verdict, for pages and other programs.

    ``name`` is what is limited: the key of a measure behind its test (``iops.rnd_4_kib_rw0.iops``), a
    condition, or a test's own words. ``limit`` says the bound in words. ``at_least``, ``at_most`` and
    ``value`` are in ``unit``, or shares of the baseline where ``is_relative``; all are None for a condition.
    ``reason`` says why there is no verdict, or what was found. ``low`` and ``high`` are the bounds of a
    ratio, ``runs`` and ``base_runs`` what it is made of; ``note`` is the operator's own.
    """

    name: str
    limit: str
    judgement: Judgement
    reason: str = ""
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    value: float | None = None
    is_relative: bool = False
    low: float | None = None
    high: float | None = None
    runs: int = 0
    base_runs: int = 0
    rounds_spread_pct: float | None = None
    runs_spread_pct: float | None = None
    note: str = ""

    @classmethod
    def of(cls, name: str, verdict: LimitVerdict) -> Self:
        """A limit that a test has of its own, in what is named."""
        limit = verdict.limit
        bound = limit.in_unit(limit.value)
        return cls(
            name=f"{name}: {limit.name}",
            limit=f"{'at least' if limit.is_rate else 'at most'} {bound:,.6g} {limit.unit}",
            judgement=verdict.judgement,
            reason=verdict.reason,
            unit=limit.unit,
            at_least=bound if limit.is_rate else None,
            at_most=None if limit.is_rate else bound,
            value=None if verdict.value is None else limit.in_unit(verdict.value),
            runs=1,
        )


def whole_of(judged: Iterable[JudgedLimit]) -> Judgement:
    """One verdict for all: a failure counts most, then a doubt; without a limit there is no verdict."""
    found = {one.judgement for one in judged}
    if Judgement.FAIL in found:
        return Judgement.FAIL
    return Judgement.PASS if found == {Judgement.PASS} else Judgement.NO_VERDICT
