"""Rated endurance as data sheets print it."""

import click
import pytest

from openpts.cli.number_types import Endurance


@pytest.mark.parametrize(
    ("text", "endurance_bytes"),
    [
        ("600", 600 * 10**12),
        ("7,000", 7000 * 10**12),
        ("600TBW", 600 * 10**12),
        ("7,000 TBW", 7000 * 10**12),
        ("1.2PBW", 1200 * 10**12),
        ("1.2pbw", 1200 * 10**12),
        ("1.2PB", 1200 * 10**12),
    ],
)
def test_endurance_is_read_as_printed(text: str, endurance_bytes: int) -> None:
    assert Endurance().convert(text, None, None) == endurance_bytes


@pytest.mark.parametrize("text", ["", "W", "600W", "7,00", "1,2PB", "1.4M", "0TBW", "600TBWW", "nan"])
def test_what_is_no_endurance_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Endurance().convert(text, None, None)
