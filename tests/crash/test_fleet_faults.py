"""A fleet under random faults, OPENPTS_FLEET_FAULTS of them; see tests/fleet/faults.py."""

import os

import pytest

from tests.fleet import cluster, watch
from tests.fleet.faults import trial

_FAULTS = int(os.environ.get("OPENPTS_FLEET_FAULTS", "12"))


def test_a_fleet_under_random_faults_writes_once_and_to_the_right_drives() -> None:
    if why := cluster.missing() or watch.missing():
        pytest.skip(why)
    seed = int.from_bytes(os.urandom(3)) if _FAULTS > 12 else 5
    with trial(seed) as running:
        outcome = running.go(_FAULTS)
    assert not outcome.wrong, (seed, outcome)
    assert outcome.writers, (seed, outcome)
    assert outcome.faults.total() == _FAULTS
