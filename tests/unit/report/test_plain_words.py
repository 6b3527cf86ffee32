"""Names of key values in plain words; the oracle is PTS 2.0.1: RW65 is 65 % reads, five nines 99.999 %."""

import pytest

from openpts.pages.measure import NO_STEADY_STATE, Measured
from openpts.pages.model import Cell
from openpts.report.plain_words import card_words, plain_words
from openpts.vocabulary.better import Better


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("RND 4 KiB RW0", "random writes of 4 KiB"),
        ("RND 0.5 KiB RW100", "random reads of 0.5 KiB"),
        ("RND 8 KiB RW65", "random I/O, 65 % reads, of 8 KiB"),
        ("SEQ 1024 KiB W", "sequential writes of 1024 KiB"),
        ("SEQ 128 KiB R", "sequential reads of 128 KiB"),
        ("RND 4 KiB RW0, ART", "random writes of 4 KiB, mean response time"),
        ("RND 4 KiB RW0, FOB plateau", "random writes of 4 KiB, fresh out of the box"),
        ("RND 4 KiB RW0, 5 9s", "random writes of 4 KiB, 99.999 % are faster"),
        ("RND 4 KiB RW0, histogram 2 9s", "random writes of 4 KiB, 99 % are faster"),
        ("Cache, GB", ""),
    ],
)
def test_a_name_says_what_it_stands_for(label: str, words: str) -> None:
    assert plain_words(label) == words


@pytest.mark.parametrize(
    ("words", "steady", "state", "shown"),
    [
        ("", "reached in Round 5", "", "random writes of 4 KiB, settled"),
        ("", "found in Tracking Round 7", "", "random writes of 4 KiB, settled"),
        ("", "found in Tracking Round 7", "another level at the end", "random writes of 4 KiB, not settled"),
        ("", "not reached", "", "random writes of 4 KiB, not settled"),
        ("", NO_STEADY_STATE, "", "random writes of 4 KiB"),
        ("SEQ 1024 KiB RW0", "n.a.", "", "sequential writes of 1024 KiB"),
        ("one at a time", "reached", "", "one at a time, settled"),
    ],
)
def test_a_large_figure_says_whether_it_lasts(words: str, steady: str, state: str, shown: str) -> None:
    label = "RND 4 KiB RW0"
    one = Measured(
        "key", label, "IOPS", Cell("1", 1.0), Better.HIGHER, "", state, steady, cover_label=label, words=words
    )
    assert card_words(one) == shown
