"""Public fio job files in a few seconds of a simulated drive's time."""

import pytest

from openpts.vocabulary.purge import Consent
from openpts.vocabulary.stimulus import Duration
from tests.support.shortened_jobs import assert_that_they_run


@pytest.mark.slow
def test_at_least_60_of_66_run_to_their_end() -> None:
    assert_that_they_run("sim:tlc?capacity=200GB&scale=4", Consent(), Duration.seconds(2))
