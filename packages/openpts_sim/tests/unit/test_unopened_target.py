"""What can be known of a simulated drive without opening it."""

import pytest

from openpts.errors import UsageError
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import KIB
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus

STEP = Step.of(Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 4, 32, ActiveRange()), Duration.seconds(60))


def test_a_simulated_drive_has_its_scale_and_what_that_bears_on(golden) -> None:
    target = UnopenedTarget.of("sim:enterprise-tlc", SystemRoots())
    assert target.facts.scale > 1
    found = target.deviations([STEP], PurgeChoice.AUTO, False, SystemRoots())
    assert {one.rule_id for one in found} == {"PTS-GEN-05"}
    assert found[0].used == golden
    assert len(found) > 1


def test_a_scale_under_which_figures_say_nothing_is_refused() -> None:
    target = UnopenedTarget.of("sim:enterprise-tlc?capacity=8GB&scale=64", SystemRoots())
    with pytest.raises(UsageError, match="take a scale of"):
        target.deviations([STEP], PurgeChoice.AUTO, False, SystemRoots())
