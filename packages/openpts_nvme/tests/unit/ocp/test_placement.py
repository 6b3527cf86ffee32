"""Each requirement of the specification is placed once, in few words."""

import tomllib
from collections import Counter

import pytest

from openpts_nvme.dssd.rules import RequirementKind, identifiers, read_all, reasons, requirements
from tests import DATA

IDENTIFIERS = DATA / "ocp/identifiers.toml"


def test_each_identifier_of_the_specification_is_placed_exactly_once() -> None:
    highest: dict[str, int] = tomllib.loads(IDENTIFIERS.read_text())
    expected = {f"{prefix}-{number}" for prefix, most in highest.items() for number in range(1, most + 1)}
    placed = Counter(each.identifier for each in read_all())
    assert set(placed) == expected
    assert [identifier for identifier, times in placed.items() if times > 1] == []
    assert len(expected) == 1744


def test_words_are_few_and_reasons_are_used() -> None:
    assert [each.identifier for each in read_all() if not 1 <= len(each.words.split()) <= 13] == []
    assert {each.reason for each in read_all() if each.kind is RequirementKind.OUT} == set(reasons())
    assert all(each.why_not for each in read_all() if each.kind is RequirementKind.OUT)


def test_ranges_and_lists_of_identifiers() -> None:
    assert list(identifiers("TELDF-34,36,40..41")) == ["TELDF-34", "TELDF-36", "TELDF-40", "TELDF-41"]
    assert list(identifiers("TEL-CFG-SF-1")) == ["TEL-CFG-SF-1"]
    assert requirements()["SMART-27"].section.startswith("4.8.6")
    with pytest.raises(ValueError, match="SMART"):
        list(identifiers("SMART"))
