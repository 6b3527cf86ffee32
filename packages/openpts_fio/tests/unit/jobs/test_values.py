"""Values as fio 3.33 reads them; the numbers here are those that it has moved or counted itself."""

import pytest

from openpts.units import NS_PER_S, NS_PER_US
from openpts_io.fio_values import (
    Size,
    ValueTextError,
    directions_of,
    numbers_of,
    size,
    time_ns,
    weighted_sizes,
    whole_number,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("4096", 4096), ("4k", 4096), ("4K", 4096), ("4ki", 4096), ("4kb", 4096), ("4KB", 4096)),
        *(("4kib", 4000), ("1m", 1 << 20), ("1mi", 1 << 20), ("2g", 2 << 30), ("1t", 1 << 40)),
        *(("4096B", 4096), ("0x1000", 4096), ("0x10k", 16 * 1024)),
    ],
)
def test_a_number_with_a_suffix(text, number) -> None:
    assert whole_number(text) == number


def test_with_kb_base_1000_the_two_kinds_of_suffixes_change_places() -> None:
    assert (whole_number("4k", 1000), whole_number("4kib", 1000)) == (4000, 4096)


@pytest.mark.parametrize("text", ["", "k", "4x", "1.5k", "4 k", "-4k", "4kk", "(2*4)k", "0x"])
def test_what_fio_would_read_as_something_else_is_refused(text) -> None:
    with pytest.raises(ValueTextError):
        whole_number(text)


@pytest.mark.parametrize(
    ("text", "unit_ns", "expected_ns"),
    [
        ("30", NS_PER_S, 30 * NS_PER_S),
        ("10m", NS_PER_S, 600 * NS_PER_S),
        ("500us", NS_PER_S, 500_000),
        ("2h", NS_PER_S, 7200 * NS_PER_S),
        ("12800", NS_PER_US, 12_800_000),
        ("20msec", NS_PER_US, 20_000_000),
    ],
)
def test_a_time(text, unit_ns, expected_ns) -> None:
    assert time_ns(text, unit_ns) == expected_ns


@pytest.mark.parametrize("text", ["", "1.5", "5 s", "2y", "1-2"])
def test_no_time(text) -> None:
    with pytest.raises(ValueTextError):
        time_ns(text, NS_PER_S)


def test_a_size_is_bytes_or_per_cent_of_the_whole() -> None:
    assert size("10%", 1024) == Size(10, is_pct=True)
    assert (size("10%", 1024).of(67_108_864), size("64k", 1024).of(1)) == (6_710_886, 65_536)
    for text in ("101%", "1.5%", "3z"):
        with pytest.raises(ValueTextError):
            size(text, 1024)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", {"read": "a", "write": "a", "trim": "a"}),
        ("a,b", {"read": "a", "write": "b", "trim": "b"}),
        ("a,b,c", {"read": "a", "write": "b", "trim": "c"}),
        ("a,", {"read": "a"}),
        (",b", {"write": "b", "trim": "b"}),
        (",b,", {"write": "b"}),
        (",,c", {"trim": "c"}),
    ],
)
def test_the_last_value_holds_for_the_directions_behind_it_unless_a_comma_follows(text, expected) -> None:
    assert directions_of(text) == expected


def test_more_values_than_directions_are_refused() -> None:
    with pytest.raises(ValueTextError):
        directions_of("1,2,3,4")


def test_numbers_are_read_as_far_as_fio_reads_them() -> None:
    assert numbers_of("4096/95:8192/5", 1024) == {"read": 4096, "write": 8192, "trim": 8192}
    assert numbers_of(",4k/15:1024k:85,", 1024) == {"write": 4096}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4k/10:64k/90", {4096: 10, 65536: 90}),
        ("4k/50:8k:16k", {4096: 100, 8192: 50, 16384: 50}),
        ("4k:8k/20", {4096: 80, 8192: 20}),
        ("4k/50:36k-60k/6:64k/44", {4096: 50, 36864: 6, 65536: 44}),
        ("4k/50:4k/50", {4096: 100}),
        ("64MB", {64 << 20: 100}),
        ("4k/60:8k/60", {4096: 60, 8192: 40}),
        ("4k/50-8k/50", {4096: 100}),
        ("4k/12.5:8k/87.5", {4096: 12, 8192: 88}),
        ("512/11/2:4k/89", {512: 11, 4096: 89}),
        ("4k/30:8k/30", {4096: 30, 8192: 70}),
        ("4k/0:8k/50", {4096: 50, 8192: 50}),
    ],
)
def test_sizes_with_shares(text, expected) -> None:
    assert weighted_sizes(text, 1024) == expected


@pytest.mark.parametrize("text", ["4k/60:8k/60:16k", "4k/a", ""])
def test_no_sizes_with_shares(text) -> None:
    with pytest.raises(ValueTextError):
        weighted_sizes(text, 1024)
