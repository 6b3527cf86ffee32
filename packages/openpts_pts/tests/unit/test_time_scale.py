"""The time scale against exact fractions of what each test's conditions say."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from openpts.errors import UsageError
from openpts.fields.conditions import at_time_scale
from openpts.vocabulary.drive_class import DriveClass
from openpts_pts.conformance.catalogue import PTS

MILLISECOND_NS = 10**6
# What 13.2 (6.1.2) and 14.2 (5.1.2) limit is a response time, and no part of the test's length.
LIMITS = {"art_limit_ns"}


def leaves(value: Any, name: str = "") -> list[tuple[str, Any]]:
    """All values with the names of their fields, whatever they lie in."""
    if isinstance(value, Struct):
        return [leaf for field in value.__struct_fields__ for leaf in leaves(getattr(value, field), field)]
    if isinstance(value, tuple):
        return [leaf for entry in value for leaf in leaves(entry, name)]
    return [(name, value)]


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("test", PTS.values(), ids=list(PTS))
@given(scale=st.fractions(min_value=Fraction(1, 100_000), max_value=1))
def test_durations_and_repetitions_are_scaled_and_nothing_else(test, scale) -> None:
    standard = test.standard_conditions(DriveClass.ENTERPRISE, 1)
    scaled = at_time_scale(standard, float(scale))
    for (name, before), (same, after) in zip(leaves(standard), leaves(scaled), strict=True):
        assert name == same
        if name == "time_scale":
            assert after == pytest.approx(float(scale), rel=1e-12)
        elif name == "max_rounds":
            assert after == max(5, round(before * float(scale)))
        elif name == "cycles":
            assert after == max(1, round(before * float(scale)))
        elif name.endswith("_ns") and name not in LIMITS:
            assert after == pytest.approx(max(MILLISECOND_NS, before * scale), abs=1)
        else:
            assert after == before


def test_two_scales_one_after_the_other_are_their_product() -> None:
    standard: Any = PTS["xsr"].standard_conditions(DriveClass.ENTERPRISE, 1)
    twice: Any = at_time_scale(at_time_scale(standard, 0.5), 0.25)
    assert twice.time_scale == 0.125
    assert [group.duration_ns for group in twice.groups] == [3600 * 10**9, 2700 * 10**9, 3600 * 10**9]


@pytest.mark.parametrize("scale", [0, -1, 1.5, float("nan"), float("inf")])
def test_other_scales_are_refused(scale) -> None:
    with pytest.raises(UsageError, match="more than 0 and at most 1"):
        at_time_scale(PTS["iops"].standard_conditions(DriveClass.ENTERPRISE, 1), scale)
