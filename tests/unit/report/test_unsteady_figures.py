"""Figures of tests that did not reach steady state say so wherever they stand without their page."""

import pytest

from openpts.pages.measure import Measured
from openpts.procedures.registry import procedure_of
from openpts.record.reader import Run
from tests.support.made_up_run import made_up_run, restless_rate


def key_values(run: Run) -> list[Measured]:
    found = procedure_of(run.manifest.conditions.test).report(run).measures
    return [one for one in found if one.is_key]


@pytest.mark.parametrize("name", ["iops", "tp", "lat", "cbw", "dirth"])
def test_key_values_of_other_tests_say_that_they_are_not_steady(name: str) -> None:
    values = key_values(made_up_run(name, rate=restless_rate))
    assert values
    assert all(value.state for value in values if value.value is not None)
    assert {value.state for value in key_values(made_up_run(name))} == {""}


@pytest.mark.parametrize(("name", "words"), [("wsat", "Steady State not found"), ("hir", "not measured")])
def test_key_values_say_that_an_end_was_not_steady(name: str, words: str) -> None:
    found = key_values(made_up_run(name, rate=restless_rate))
    assert [value for value in found if words in value.noted_cell.note]
    assert not [value for value in key_values(made_up_run(name)) if words in value.noted_cell.note]
