"""A question as an operator writes it: ``B slower than A by 5 %``, ``keeps p99.9 <= 10 ms at 4k read``."""

import math
import re
from collections.abc import Mapping
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
_KEPT: Final = re.compile(rf"keeps? (?P<figure>.+?) ?(?P<sign><=|>=|≤|≥) ?(?P<bound>.+?){_END}")
_RATES: Final[Mapping[str, str]] = {"iops": "IOPS", "throughput": "B/s"}
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

    def job(self, round_s: float) -> str:
        """The load as a job file of fio."""
        operation = {0: "write", 100: "read"}.get(self.read_pct, "rw")
        lines = (
            "[load]",
            "ioengine=io_uring",
            "direct=1",
            f"rw={'rand' if self.random else ''}{operation}",
            *([f"rwmixread={self.read_pct}"] if operation == "rw" else []),
            f"bs={self.block_size_bytes}",
            f"numjobs={self.tc}",
            *(["group_reporting"] if self.tc > 1 else []),
            f"iodepth={self.qd}",
            "time_based",
            f"runtime={round(round_s * 1000)}ms",
        )
        return "\n".join(lines) + "\n"


class Question(Struct, frozen=True, kw_only=True):
    """Whether a figure is on one side of a bound, or of the same figure of another drive.

    ``bound`` is in ns, IOPS or B/s; None compares drive ``of`` with the other one, by their places among the
    targets. ``upwards``: yes is above. ``margin_pct`` is how far on that side a yes has to be found.
    """

    text: str
    figure: str
    upwards: bool
    margin_pct: float = _MARGIN_PCT
    bound: float | None = None
    of: int = 0
    load: Load = Load()

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


def read_question(text: str) -> Question:
    """Read a question. Raises UsageError, with the word that was probably meant."""
    plain = " ".join(text.lower().split())
    match = _COMPARED.fullmatch(plain) or _KEPT.fullmatch(plain)
    if match is None or match.groupdict().get("of", "a") == match.groupdict().get("other", "b"):
        raise UsageError(f"{text!r} is no question that can be decided: {_meant(plain)}")
    found, margin_pct = match.groupdict(), float(match["margin"] or _MARGIN_PCT)
    figure = _figure(text, found["figure"] or "iops")
    is_rate, bound, of = figure in _RATES, None, 0
    if "bound" in found:
        upwards = found["sign"] in {">=", "≥"}
        bound = side_of(figure, found["bound"], at_least=upwards).value_in(_RATES.get(figure, "ms"))
        bound *= 1 if is_rate else NS_PER_MS
    else:
        upwards = found["relation"] in {"higher", "faster" if is_rate else "slower"}
        of = "ab".index(found["of"])
    if not 0 < margin_pct < (math.inf if upwards else 100) or (bound is not None and bound <= 0):
        raise UsageError(f"{text!r}: margin and bound have to be above 0, and less than all of it is below")
    load = _load(text, found["load"] or "")
    return Question(
        text=text, figure=figure, upwards=upwards, margin_pct=margin_pct, bound=bound, of=of, load=load
    )


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


def shown(value: float, figure: str) -> str:
    """A value of a figure with a unit that people read."""
    unit = _RATES.get(figure, "ns")
    if unit == "ns":
        return f"{value / NS_PER_US:,.4g} µs" if value < NS_PER_MS else f"{value / NS_PER_MS:,.4g} ms"
    return f"{value / MB:,.4g} MB/s" if unit == "B/s" else f"{value:,.0f} {unit}"
