from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.errors import UsageError
from openpts.units import (
    format_block_size,
    format_capacity,
    format_duration,
    format_gap,
    format_latency_ms,
    format_significant,
    in_ms,
    parse_size_bytes,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("4096B", 4096),
        ("0.5KiB", 512),
        ("512MiB", 512 * 1024**2),
        ("1GiB", 1024**3),
        ("1GB", 10**9),
        ("1.92TB", 1_920_000_000_000),
        (" 2 gib ", 2 * 1024**3),
        ("16PiB", 16 * 1024**5),
    ],
)
def test_sizes_are_read_with_their_base(text, size) -> None:
    assert parse_size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "1K", "1M", "-1GiB", "1 GiB GiB", "1e9", "0x10", "1.5B", "١GiB"])
def test_nonsense_and_ambiguous_sizes_are_refused(text) -> None:
    with pytest.raises(UsageError):
        parse_size_bytes(text)


@given(st.text(max_size=20))
def test_any_text_is_a_size_or_refused(text) -> None:
    with suppress(UsageError):
        assert parse_size_bytes(text) >= 0


@pytest.mark.proves("PTS-UNIT-01")
@pytest.mark.parametrize(
    ("capacity", "text"),
    [
        (1_920_383_410_176, "1,920 GB"),
        (512 * 1024**2, "537 MB"),
        (1_000_000, "1.00 MB"),
        (800, "800 B"),
        (4_294_967_296, "4.29 GB"),
    ],
)
def test_capacities_are_base_10(capacity, text) -> None:
    assert format_capacity(capacity) == text


@pytest.mark.proves("PTS-UNIT-02")
@pytest.mark.parametrize(
    ("size", "text"), [(512, "0.5 KiB"), (3584, "3.5 KiB"), (4096, "4 KiB"), (2**20, "1024 KiB")]
)
def test_transfer_sizes_are_base_2(size, text) -> None:
    assert format_block_size(size) == text


@pytest.mark.proves("PTS-UNIT-05")
@pytest.mark.parametrize(
    ("latency_ns", "text"),
    [
        (14_200, "0.0142"),
        (1_660_000, "1.66"),
        (392_000_000, "392"),
        (999, "0.000999"),
        (1e10, "10,000"),
        (0, "0"),
    ],
)
def test_latencies_have_three_significant_digits_and_no_exponent(latency_ns, text) -> None:
    assert format_latency_ms(latency_ns) == text


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [(400_000_000, "0.40 s"), (125 * 10**9, "2 min 5 s"), (22_320 * 10**9, "6 h 12 min")],
)
def test_durations_show_their_two_leading_units(duration_ns, text) -> None:
    assert format_duration(duration_ns) == text


@pytest.mark.parametrize(
    ("gap_ns", "text"),
    [
        (0, "0 ms"),
        (3_100, "0.00310 ms"),
        (41_000, "0.0410 ms"),
        (12_345_000, "12.3 ms"),
        (999_400_000, "999 ms"),
        (1_500_000_000, "1.50 s"),
    ],
)
def test_gaps_of_microseconds_are_not_written_as_none(gap_ns, text) -> None:
    assert format_gap(gap_ns) == text


def test_a_time_that_there_is_not_stays_none() -> None:
    assert in_ms(None) is None
    assert in_ms(1_500_000) == 1.5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "2"),
        (0.01416, "0.0142"),
        (27_468, "27,500"),
        (2.5, "2.5"),
        (100, "100"),
        (-3.456, "-3.46"),
        (0, "0"),
    ],
)
def test_three_significant_digits_have_no_exponent(value, text) -> None:
    assert format_significant(value) == text
