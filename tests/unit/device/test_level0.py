"""Level 0 discovery: the states that drives are met in, and answers whose lengths contradict each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.security.level0 import Level0
from tests.support.level0_answers import (
    BROKEN,
    ENABLED,
    LOCKED,
    MBR_DONE,
    MBR_ENABLED,
    OPAL_2,
    TPER,
    WORDS_OF,
    answer,
    feature,
    locking,
)


@pytest.mark.parametrize("state", WORDS_OF)
def test_a_state_has_its_words(state: str) -> None:
    data, words = WORDS_OF[state]
    found = Level0.parse(data)
    assert str(found) == words
    assert found.keeps_data_away == (state in {"locked", "shadow-mbr", "enterprise", "pyrite"})


def test_no_descriptor_and_no_data_at_all_are_no_tcg() -> None:
    assert Level0.parse(answer()) == Level0.parse(bytes(2048)) == Level0()
    assert str(Level0()) == "no TCG"


def test_a_shadow_that_its_owner_has_taken_away_hides_nothing() -> None:
    found = Level0.parse(answer(TPER, locking(ENABLED, MBR_ENABLED, MBR_DONE), OPAL_2))
    assert not found.keeps_data_away


def test_a_drive_of_several_classes_names_them() -> None:
    found = Level0.parse(answer(locking(ENABLED, LOCKED), OPAL_2, feature(0x0200), feature(0xC001)))
    assert found.classes == ("Opal 1", "Opal 2")
    assert str(found) == "TCG Opal 1, Opal 2: locked"


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_lengths_that_contradict_each_other_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match=r"length|bytes|descriptor"):
        Level0.parse(BROKEN[number])


@given(
    st.lists(
        st.tuples(st.integers(0, 0xFFFF), st.binary(max_size=255)), max_size=6, unique_by=lambda one: one[0]
    )
)
def test_each_flag_is_where_the_specification_has_it(features: list[tuple[int, bytes]]) -> None:
    """Against a reading by offsets that are counted here."""
    data = answer(*(feature(code, *body, length=len(body)) for code, body in features))
    bodies = dict(features)
    flags = bodies.get(0x0002, b"\0")
    if not flags or not bodies.get(0x0402, b"\0"):
        with pytest.raises(ValueError, match="empty"):
            Level0.parse(data)
        return
    found = Level0.parse(data)
    assert (found.locking, found.enabled, found.locked) == tuple(
        bool(flags[0] >> bit & 1) for bit in range(3)
    )
    assert found.shadowed == (flags[0] >> 4 & 3 == 1)
