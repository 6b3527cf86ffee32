"""Figures of tests that did not reach steady state say so wherever they stand without their page."""

import pytest

from openpts.report.key_values import key_values
from openpts.report.suite_figures import key_figures
from openpts.report.tests import reported_test
from tests.support.made_up_run import made_up_run, restless_rate


@pytest.mark.parametrize("name", ["iops", "tp", "lat", "cbw", "dirth"])
def test_key_values_of_other_tests_say_that_they_are_not_steady(name: str) -> None:
    run = made_up_run(name, rate=restless_rate)
    values = key_values(run, reported_test(name).report(run))
    assert values
    assert all("Steady State not reached" in value.state for value in values if value.value is not None)
    steady = made_up_run(name)
    assert {value.state for value in key_values(steady, reported_test(name).report(steady))} == {""}


@pytest.mark.parametrize("name", ["wsat", "hir"])
def test_the_suites_index_says_that_an_end_was_not_steady(name: str) -> None:
    shown = dict(key_figures(made_up_run(name, rate=restless_rate)))
    assert [text for text in shown if text.endswith(", not steady")]
    assert not [text for text in dict(key_figures(made_up_run(name))) if "not steady" in text]
