"""Key values in words that need no specification: RND 4 KiB RW0 is ``random writes of 4 KiB, settled``."""

import re
from typing import Final

from openpts.analysis.response_times import nines_percentile
from openpts_pages.measure import Measured

_STIMULUS: Final = re.compile(
    r"(?P<access>RND|SEQ) (?P<size>[\d.]+ [KM]iB) (?:RW(?P<reads>\d+)|(?P<one>[RW]))(?:,? (?P<what>.*))?"
)
_ACCESS: Final = {"RND": "random", "SEQ": "sequential"}
_WHAT: Final = {
    "ART": "mean response time",
    "MRT": "longest response time",
    "FOB plateau": "fresh out of the box",
    "first minute FOB": "fresh, the first minute",
    "steady from FOB": "from fresh until settled",
    "steady after RND": "after random writes until settled",
    "end zone": "at the end",
    "histogram": "in the last minutes",
}
_NINES: Final = re.compile(r"(?P<count>\d) 9s")


def card_words(one: Measured) -> str:
    """A key value in its test's own words or those of its label, and whether it is the figure that lasts."""
    last = one.steady == "reached" or one.steady.startswith(("reached in ", "found in "))
    known = "not settled" if one.state or one.steady.startswith("not ") else "settled" if last else ""
    words = plain_words(one.words or one.cover_label) or one.words
    return ", ".join(part for part in (words, known) if part)


def plain_words(label: str) -> str:
    """A key value's name in words: ``random writes of 4 KiB, 99.9 % are faster`` for ``RND 4 KiB RW0, 3 9s``.

    Empty for names that are words already.
    """
    found = _STIMULUS.fullmatch(label)
    if found is None:
        return ""
    reads = int(found["reads"]) if found["reads"] else {"R": 100, "W": 0}[found["one"]]
    access = _ACCESS[found["access"]]
    operations = {0: f"{access} writes", 100: f"{access} reads"}
    what = operations.get(reads, f"{access} I/O, {reads} % reads,")
    return ", ".join([f"{what} of {found['size']}", *_of_what(found["what"] or "")])


def _of_what(what: str) -> list[str]:
    for name, words in _WHAT.items():
        if what.endswith(name):
            return [words]
    if nines := _NINES.search(what):
        return [f"{nines_percentile(int(nines['count'])):.10g} % are faster"]
    return []
