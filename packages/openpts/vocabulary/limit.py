"""What became of the limits that an operator sets, or a test has, for what is measured."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct


class Judgement(StrEnum):
    """What became of a limit."""

    PASS = "pass"  # noqa: S105 no secret
    FAIL = "fail"
    NO_VERDICT = "no verdict"


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


def whole_of(judged: Iterable[JudgedLimit]) -> Judgement:
    """One verdict for all: a failure counts most, then a doubt; without a limit there is no verdict."""
    found = {one.judgement for one in judged}
    if Judgement.FAIL in found:
        return Judgement.FAIL
    return Judgement.PASS if found == {Judgement.PASS} else Judgement.NO_VERDICT


_ORDER: Final = (Judgement.FAIL, Judgement.NO_VERDICT, Judgement.PASS)


def worst(judged: Sequence[JudgedLimit]) -> JudgedLimit:
    """The verdict on what was measured several times: a failure, then a doubt, then the least room."""

    def rank(one: JudgedLimit) -> tuple[int, float]:
        value = one.value or 0.0
        return _ORDER.index(one.judgement), value if one.at_most is None else -value

    return min(judged, key=rank)
