"""A question as an operator writes it: ``B slower than A by 5 %``, ``keeps p99.9 <= 10 ms at 4k read``.

A figure of a whole test has the test's name in front, as a limit of `openpts gate` has: ``iops.rnd-4k-rw0``.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.did_you_mean import did_you_mean
from openpts.errors import UsageError
from openpts.limits.bound import side_of
from openpts.units import KIB, MB, MIB, NS_PER_MS, NS_PER_US, format_block_size

EXAMPLES: Final = "'B slower than A by 5 %' or 'keeps p99.9 <= 10 ms at 4k random read qd 8'"
_NUMBER: Final = r"[0-9]{1,6}(?:\.[0-9]{1,6})?"
_END: Final = rf"(?: by (?P<margin>{_NUMBER}) ?%)?(?: (?:at|in|under|with) (?P<load>.+))?"
_COMPARED: Final = re.compile(
    r"(?P<of>[ab])(?:['’]s)?(?: (?P<figure>.+?))?(?: is)? (?P<relation>slower|faster|lower|higher) than "
    rf"(?P<other>[ab])(?:['’]s)?{_END}"
)
_KEPT: Final = re.compile(rf"(?:keeps? )?(?P<figure>.+?) ?(?P<sign><=|>=|≤|≥) ?(?P<bound>.+?){_END}")
_RATES: Final[Mapping[str, str]] = {"iops": "IOPS", "throughput": "B/s"}
_OF_RATES: Final = frozenset({"IOPS", "MB/s", "B/s"})
_OF_TIMES: Final = frozenset({"ns", "us", "µs", "ms", "s", "min", "h"})
_FIGURES: Final[Mapping[str, str]] = {
    **{word: word for word in ("iops", "throughput", "mean", "max")},
    "rate": "iops",
    "bandwidth": "throughput",
    "latency": "mean",
}
_PERCENTILE: Final = re.compile(r"p[0-9]{1,2}(?:\.[0-9]{1,7})?")
_ORDERS: Final[Mapping[str, bool]] = {"random": True, "rnd": True, "sequential": False, "seq": False}
_READS: Final[Mapping[str, int]] = {"read": 100, "reads": 100, "write": 0, "writes": 0}
_SIZE: Final = re.compile(r"([0-9]{1,5}) ?(k|m)(?:i?b)?")
_MIX: Final = re.compile(r"rw([0-9]{1,2}|100)")
_MARGIN_PCT: Final = 5.0
_LOAD_WORDS: Final = (*_ORDERS, *_READS, "qd", "tc", "4k", "128k", "rw65")
_QUESTION_WORDS: Final = ("slower", "faster", "lower", "higher", "than", "keeps", *_FIGURES, *_LOAD_WORDS)


class Load(Struct, frozen=True, kw_only=True):
    """What is applied in each round: one size in one order, at a demand."""

    random: bool = True
    block_size_bytes: int = 4 * KIB
    read_pct: int = 0
    tc: int = 1
    qd: int = 32

    def __str__(self) -> str:
        size, order = format_block_size(self.block_size_bytes), "RND" if self.random else "SEQ"
        return f"{order} {size} RW{self.read_pct} at TC {self.tc}, QD {self.qd}"

    def job(self, round_s: float, parts: int) -> str:
        """The load as a job file of fio, for a round of so many equal parts."""
        operation = {0: "write", 100: "read"}.get(self.read_pct, "rw")
        lines = (
            "[global]",
            "ioengine=io_uring",
            "direct=1",
            f"rw={'rand' if self.random else ''}{operation}",
            *([f"rwmixread={self.read_pct}"] if operation == "rw" else []),
            f"bs={self.block_size_bytes}",
            f"numjobs={self.tc}",
            *(["group_reporting"] if self.tc > 1 else []),
            f"iodepth={self.qd}",
            "time_based",
            f"runtime={round(round_s * 1000 / parts)}ms",
            *(["[load]", "stonewall"] * parts),
        )
        return "\n".join(lines) + "\n"


class Question(Struct, frozen=True, kw_only=True):
    """Whether a figure is on one side of a bound, or of the same figure of another drive.

    ``bound`` is in ns, IOPS or B/s, or in ``test_unit``; None compares drive ``of`` with the other one, by
    their places among the targets. ``upwards``: yes is above. ``margin_pct`` is how far on that side a yes
    has to be found. ``test`` is the one that the figure is a result of, and then there is no ``load``.
    """

    text: str
    figure: str
    upwards: bool
    margin_pct: float = _MARGIN_PCT
    bound: float | None = None
    of: int = 0
    load: Load | None = Load()
    test: str = ""
    test_unit: str = ""

    @property
    def unit(self) -> str:
        """Unit of the figure."""
        return self.test_unit if self.test else _RATES.get(self.figure, "ns")

    @property
    def repeats(self) -> str:
        """What is made again and again: rounds of a load, or runs of a test."""
        return "runs" if self.test else "rounds"

    @property
    def targets(self) -> int:
        """How many drives it is on."""
        return 1 if self.bound is not None else 2

    @property
    def margin(self) -> float:
        """The margin as a difference of natural logarithms; above 0."""
        share = 1 + self.margin_pct / 100 if self.upwards else 1 - self.margin_pct / 100
        return abs(math.log(share))

    def towards_yes(self, values: tuple[float, ...]) -> float:
        """How far the figures of a round are on the side of yes, as a difference of natural logarithms."""
        own = values[self.of]
        other = self.bound if self.bound is not None else values[1 - self.of]
        return math.log(own / other) if self.upwards else math.log(other / own)


UnitOf = Callable[[str], str]
"""Gives the unit of a whole test's figure. Raises UsageError where the test has none of that name."""


def read_question(text: str, unit_of: UnitOf) -> Question:
    """Read a question. Raises UsageError, with the word that was probably meant."""
    from openpts.runs.measured_run import test_named  # noqa: PLC0415 help needs nothing that runs

    plain = " ".join(text.lower().split())
    match = _COMPARED.fullmatch(plain) or _KEPT.fullmatch(plain)
    if match is None or match.groupdict().get("of", "a") == match.groupdict().get("other", "b"):
        raise UsageError(f"{text!r} is no question that can be decided: {_meant(plain)}")
    found, words = match.groupdict(), match["figure"] or "iops"
    test = test_named(words) if re.search("[a-z0-9][ .]+[a-z0-9]", words) else ""
    question = Question(
        text=text,
        figure=words if test else _figure(text, words),
        upwards=found.get("sign") in {">=", "≥"} or found.get("relation") == "higher",
        margin_pct=float(found["margin"] or _MARGIN_PCT),
        of="ab".index(found["of"]) if "of" in found else 0,
        load=None if test else _load(text, found["load"] or ""),
        test=test,
    )
    if test:
        if found["load"]:
            raise UsageError(
                f"{text!r}: {words} is of the {test} test, which has its own load: leave this out"
            )
        question = replace(question, test_unit=unit_of(words))
    if found.get("relation") in {"slower", "faster"}:
        question = replace(question, upwards=_is_upwards(text, found["relation"], question.unit))
    if "bound" in found:
        question = replace(question, bound=_bound(question, found["bound"]))
    bound, most_pct = question.bound, math.inf if question.upwards else 100
    if not 0 < question.margin_pct < most_pct or (bound is not None and bound <= 0):
        raise UsageError(f"{text!r}: margin and bound have to be above 0, and less than all of it is below")
    return question


def _is_upwards(text: str, relation: str, unit: str) -> bool:
    """Of rates more is faster, of times less."""
    if unit not in _OF_RATES | _OF_TIMES:
        raise UsageError(f"{text!r}: the figure is in {unit or 'no unit'}: write higher or lower than")
    return (relation == "faster") == (unit in _OF_RATES)


def _bound(question: Question, words: str) -> float:
    unit = "ms" if question.unit == "ns" else question.unit
    bound = side_of(question.figure, words, at_least=question.upwards).value_in(unit)
    return bound * NS_PER_MS if question.unit == "ns" else bound


def _meant(plain: str) -> str:
    unknown = [
        word for word in re.findall("[a-z]{2,}", plain) if word not in {*_QUESTION_WORDS, "is", "by", "at"}
    ]
    near = (did_you_mean(word, _QUESTION_WORDS) for word in unknown)
    return next(filter(None, near), f"write {EXAMPLES}")


def _figure(text: str, words: str) -> str:
    word = words.removesuffix(" latency")
    if _PERCENTILE.fullmatch(word):
        return word
    if word not in _FIGURES:
        guess = did_you_mean(word, (*_FIGURES, "p99", "p99.9"), "write iops, throughput, mean, p99.9 or max")
        raise UsageError(f"{text!r}: {word!r} is no figure: {guess}")
    return _FIGURES[word]


def _load(text: str, words: str) -> Load:
    load, rest = Load(), iter(re.sub(r"([0-9]) (?=[km])", r"\1", words).split())
    for word in rest:
        if word in _ORDERS:
            load = replace(load, random=_ORDERS[word])
        elif word in _READS:
            load = replace(load, read_pct=_READS[word])
        elif match := _MIX.fullmatch(word):
            load = replace(load, read_pct=int(match[1]))
        elif (match := _SIZE.fullmatch(word)) and int(match[1]):
            load = replace(load, block_size_bytes=int(match[1]) * (KIB if match[2] == "k" else MIB))
        elif word in {"qd", "tc"}:
            number = next(rest, "")
            if not number.isdecimal() or not 1 <= int(number) <= 1024:
                raise UsageError(f"{text!r}: write {word} and a number from 1 to 1024")
            load = replace(load, **{word: int(number)})
        else:
            guess = did_you_mean(word, _LOAD_WORDS, "write for example 4k random write qd 32")
            raise UsageError(f"{text!r}: {word!r} says nothing of a load: {guess}")
    return load


def shown(value: float, unit: str) -> str:
    """A value in ns, B/s, IOPS or another unit as people read it."""
    if unit == "ns":
        return f"{value / NS_PER_US:,.4g} µs" if value < NS_PER_MS else f"{value / NS_PER_MS:,.4g} ms"
    if unit == "B/s":
        return f"{value / MB:,.4g} MB/s"
    return f"{value:,.0f} {unit}" if unit == "IOPS" else f"{value:,.4g} {unit}".rstrip()
