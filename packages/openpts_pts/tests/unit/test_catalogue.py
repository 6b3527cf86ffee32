"""The catalogue has all requirements of the specification, and nothing else."""

import re
from collections import Counter

import pytest

from openpts.vocabulary.sample import Phase
from openpts_pts.conformance.catalogue import TESTS, Level, catalogue

# Shall, should and may for each group of requirements, counted in the list made from the specification.
EXPECTED = {
    "GEN": (5, 4, 2),
    "UNIT": (5, 1, 0),
    "DEF": (11, 0, 2),
    "SS": (5, 1, 1),
    "SSV": (6, 1, 0),
    "PRG": (3, 0, 2),
    "PRE": (5, 0, 1),
    "AR": (1, 0, 0),
    "DAT": (2, 0, 1),
    "THR": (1, 1, 1),
    "CACHE": (1, 1, 0),
    "FLOW": (9, 0, 1),
    "RPT": (24, 0, 1),
    "HDR": (8, 0, 0),
    "TOOL": (11, 0, 0),
    "RNG": (3, 0, 0),
    "IOPS": (29, 3, 5),
    "TP": (29, 2, 2),
    "LAT": (34, 1, 5),
    "WSAT": (18, 4, 12),
    "HIR": (24, 3, 1),
    "XSR": (20, 4, 2),
    "CBW": (56, 3, 3),
    "DIRTH": (49, 2, 2),
}
NEEDS = {*Phase, "record", "steps", "purge", "cache", "window", "tracking_window", "result"}


def group(requirement_id: str) -> str:
    return requirement_id.split("-")[1]


@pytest.mark.parametrize("name", EXPECTED)
def test_each_group_has_its_requirements_numbered_from_one(name) -> None:
    found = [r for r in catalogue() if group(r.id) == name]
    assert [r.id for r in found] == [f"PTS-{name}-{n:02}" for n in range(1, sum(EXPECTED[name]) + 1)]
    levels = Counter(r.level for r in found)
    assert (levels[Level.SHALL], levels[Level.SHOULD], levels[Level.MAY]) == EXPECTED[name]


def test_there_are_no_other_groups() -> None:
    assert {group(r.id) for r in catalogue()} == set(EXPECTED)


def test_each_requirement_is_told_in_a_line_and_has_its_clause() -> None:
    for requirement in catalogue():
        assert 4 < len(requirement.text) <= 110, requirement.id
        assert re.search(r"[0-9A]", requirement.clause), requirement.id


def test_a_requirement_of_a_test_binds_that_test_alone_and_others_bind_some() -> None:
    for requirement in catalogue():
        own = group(requirement.id).lower()
        assert requirement.tests == (own,) if own in TESTS else set(requirement.tests) <= set(TESTS)
        assert requirement.tests


def test_what_a_requirement_needs_is_something_that_can_happen() -> None:
    assert {requirement.needs.what for requirement in catalogue()} <= NEEDS
