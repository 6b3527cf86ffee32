"""What an operator calls a measure, and the key that it means: order and spelling of the words are free.

``iops.rnd-4k-rw0``, ``IOPS RND4K RW0`` and ``rnd_4_kib_rw0.iops`` are one measure. A percentile is written
``p99.99``, ``P99.99``, ``99.990000``, ``4 nines``, ``four_nines``, ``p99_99`` or ``lat9999thUsec``.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from openpts.analysis.response_times import nines_percentile

Tokens = tuple[str, ...]
"""The words of a key in alphabetical order, in one spelling."""

_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_COUNT: Final = rf"(?P<count>[1-9]|{'|'.join(_NUMBERS)})"
_POINT: Final = "~"  # of a percentile, so that it is not taken for the dot between words
_NOT_INSIDE: Final = rf"(?<![a-z0-9{_POINT}])"
_PERCENTILES: Final = tuple(
    re.compile(_NOT_INSIDE + pattern + rf"(?![a-z0-9{_POINT}])")
    for pattern in (
        rf"{_COUNT}[ _-]?(?:nines|9s)",
        r"lat(?P<whole>[0-9]{2})(?P<part>[0-9]*)th(?:usec|msec|nsec)?",
        r"p ?(?P<whole>[0-9]{1,2})(?:[._](?P<part>[0-9]+))?",
        r"(?P<whole>9[0-9])\.(?P<part>[0-9]+)(?: ?%)?",
    )
)
_NAMED_UNIT: Final = re.compile(r"lat[0-9]{2,}th(?P<unit>usec|msec|nsec)")
_WORDS: Final = re.compile(rf"[^a-z0-9{_POINT}]+")
_SIZE: Final = re.compile(r"([0-9]+)(k|kb|kib|m|mb|mib)")
_PATTERN: Final = re.compile(r"(rnd|seq)([0-9].*)")
_SAME: Final = {
    **dict.fromkeys(("art", "avg", "average", "clat", "latency"), "mean"),
    **dict.fromkeys(("mrt", "maximum"), "max"),
    **dict.fromkeys(("bw", "throughput", "bandwidth"), "mb_per_s"),
    **dict.fromkeys(("kb", "k"), "kib"),
    "m": "mib",
    "random": "rnd",
    "sequential": "seq",
}


def tokens_of(text: str) -> Tokens:
    """The words of a key, or of what an operator wrote for one."""
    return tuple(sorted(words_of(text)))


def words_of(text: str) -> list[str]:
    """The same in their order."""
    lower = text.lower().replace("mb_per_s", "throughput").replace("mb/s", "throughput")
    for pattern in _PERCENTILES:
        lower = pattern.sub(_percentile_word, lower)
    return [_SAME.get(word, word) for raw in _WORDS.split(lower) if raw for word in _split(raw)]


def percentile_of(word: str) -> float | None:
    """The percentile that a word stands for: 99.99 of ``p99~99``; None of what is none, such as ``p100``."""
    number = word.removeprefix("p").replace(_POINT, ".")
    if word == number or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", number):
        return None
    percentile = float(number)
    return percentile if 0 < percentile < 100 else None


def unit_of_name(text: str) -> str:
    """The unit that a name brings along, as ``usec`` of ``lat9999thUsec``; empty for all others."""
    match = _NAMED_UNIT.search(text.lower())
    return match["unit"] if match else ""


def percentile_name(percentile: float) -> str:
    """As it is printed: ``p99.99``."""
    return f"p{percentile:.10g}"


def _percentile_word(match: re.Match[str]) -> str:
    found = match.groupdict()
    if count := found.get("count"):
        nines = _NUMBERS.index(count) + 1 if count in _NUMBERS else int(count)
        value = Decimal(repr(nines_percentile(nines)))
    else:
        value = Decimal(f"{found['whole']}.{found['part'] or 0}")
    text = f"{value.normalize():f}"
    return f" p{text.replace('.', _POINT)} "


def _split(word: str) -> Iterator[str]:
    if match := _PATTERN.fullmatch(word):
        yield match[1]
        word = match[2]
    if match := _SIZE.fullmatch(word):
        yield match[1]
        word = match[2]
    yield word
