"""What all gauges share: growth of counters, numbers of files, words of names."""

from openpts.gauge import Growth, known, name_word, whole_number


def test_growth_is_per_second_since_the_reading_before() -> None:
    growth = Growth()
    assert growth.per_s({"a": 10}, 5 * 10**9) == {}
    assert growth.per_s({"a": 30, "b": 7}, 7 * 10**9) == {"a": 10}
    assert growth.per_s({"a": 30, "b": 9}, 8 * 10**9) == {"a": 0, "b": 2}


def test_a_counter_that_begins_anew_gives_nothing_once() -> None:
    growth = Growth()
    growth.per_s({"a": 100}, 0)
    assert growth.per_s({"a": 3}, 10**9) == {}
    assert growth.per_s({"a": 4}, 2 * 10**9) == {"a": 1}


def test_two_readings_at_one_moment_give_nothing() -> None:
    growth = Growth()
    growth.per_s({"a": 1}, 10**9)
    assert growth.per_s({"a": 2}, 10**9) == {}


def test_a_number_is_whole_or_none() -> None:
    assert [whole_number(text) for text in (b"12\n", b"-3", b"", b"n/a", b"1.5", b"--1")] == [
        12,
        -3,
        *[None] * 4,
    ]


def test_only_what_is_known_is_kept() -> None:
    assert known([("a", 1), ("b", None), ("c", 0)]) == {"a": 1, "c": 0}


def test_labels_become_words() -> None:
    assert name_word("Package-0") == "package_0"
    assert name_word("  SSD 3.3V\N{SNOWMAN}!") == "ssd_3_3v"
