"""Names of key values in plain words; the oracle is PTS 2.0.1: RW65 is 65 % reads, five nines 99.999 %."""

import pytest

from openpts.report.plain_words import plain_words


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
