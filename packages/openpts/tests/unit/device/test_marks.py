import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.purge.purge import MARKED_PLACES, choose_places, count_changed, write_marks


@given(st.integers(65, 10**10), st.sampled_from([512, 4096]), st.integers(0, 511))
def test_places_are_spread_from_the_first_to_the_last_sector(sectors, sector_bytes, rest) -> None:
    places = choose_places(sectors * sector_bytes + rest, sector_bytes)
    assert len(set(places)) == MARKED_PLACES
    assert places[0] == 0
    assert places[-1] == (sectors - 1) * sector_bytes
    assert list(places) == sorted(places)
    assert all(place % sector_bytes == 0 for place in places)


@given(st.integers(0, 64))
def test_a_tiny_target_is_marked_all_over(sectors) -> None:
    assert choose_places(sectors * 512, 512) == tuple(range(0, sectors * 512, 512))


def test_places_differ_from_time_to_time() -> None:
    assert choose_places(10**12, 512) != choose_places(10**12, 512)


@pytest.fixture
def fd(tmp_path):
    descriptor = os.open(tmp_path / "target", os.O_RDWR | os.O_CREAT)
    os.ftruncate(descriptor, 1 << 20)
    yield descriptor
    os.close(descriptor)


def test_marks_are_there_until_something_takes_them(fd) -> None:
    marks = write_marks(fd, (0, 4096, 1 << 19), 4096)
    assert count_changed(fd, marks) == 0
    os.pwrite(fd, bytes([marks[1].content[-1] ^ 1]), 4096 + 4095)
    assert count_changed(fd, marks) == 1
    os.ftruncate(fd, 0)
    os.ftruncate(fd, 1 << 20)
    assert count_changed(fd, marks) == 3


def test_marks_are_all_different(fd) -> None:
    marks = write_marks(fd, choose_places(1 << 20, 512), 512)
    assert len({mark.content for mark in marks}) == MARKED_PLACES


def test_a_drive_that_was_pulled_out_reads_nothing_and_is_an_error(fd) -> None:
    marks = write_marks(fd, (0, 4096), 512)
    os.ftruncate(fd, 0)
    with pytest.raises(OSError, match="0 of 512 bytes transferred at byte 0"):
        count_changed(fd, marks)


def test_a_drive_that_keeps_nothing_cannot_be_marked() -> None:
    with Path("/dev/zero").open("r+b", buffering=0) as zero, pytest.raises(OSError, match="2 of 2 sectors"):
        write_marks(zero.fileno(), (0, 4096), 512)
