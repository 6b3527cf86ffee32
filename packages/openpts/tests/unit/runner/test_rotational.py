"""A rotational disk under tests that are made for solid state storage."""

import pytest

from openpts.runner.preparation import rotational_deviations
from openpts.vocabulary.facts import Fact


@pytest.mark.parametrize("told", ["rotational, 7,200 rpm", "rotational, speed not reported"])
def test_platters_are_entered_in_the_ledger(told, golden) -> None:
    (entry,) = rotational_deviations({"media": Fact(told, "word 217")}, of_specification=True)
    assert (entry.rule_id, entry.used) == ("PTS-GEN-01", told)
    assert entry.effect == golden


@pytest.mark.parametrize("dut", [{}, {"media": Fact(None, "?")}, {"media": Fact("solid state", "word 217")}])
def test_other_media_are_not(dut) -> None:
    assert rotational_deviations(dut, of_specification=True) == ()


def test_tests_of_practice_take_any_disk() -> None:
    dut = {"media": Fact("rotational, 7,200 rpm", "word 217")}
    assert rotational_deviations(dut, of_specification=False) == ()
