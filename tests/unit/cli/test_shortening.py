"""What --quick makes of a test, on a drive that exists and on a simulated one."""

import pytest

from openpts.cli.shortening import QUICK_STEP_S, Shortening, quick_on_simulated
from openpts.device.simulated_target import parse_simulated_target
from openpts.errors import UsageError
from openpts.pts import iops
from openpts.runner.simulated_device import size_and_scale
from openpts.simulation.presets import load_preset, shipped_presets
from openpts.simulation.scale import Severity, scale_concerns
from openpts.units import NS_PER_S
from openpts.vocabulary.conditions import Profile, TestConditions

_STANDARD = iops.standard_conditions(Profile.ENTERPRISE, 1)


def _shortening(
    *, quick: bool = True, round_seconds: float | None = None, step_seconds: float | None = None
) -> Shortening:
    return Shortening(quick, round_seconds, step_seconds, None, None, None, None, None)


def _quick(text: str) -> TestConditions:
    return quick_on_simulated(_shortening(), parse_simulated_target(text))(_STANDARD)


@pytest.mark.parametrize("preset", [preset.name for preset in shipped_presets()])
def test_a_quick_run_on_a_shipped_drive_is_never_refused(preset: str) -> None:
    loaded = load_preset(preset)
    capacity_bytes, scale = size_and_scale(parse_simulated_target(f"sim:{preset}"), loaded)
    steps = iops.steps(_quick(f"sim:{preset}"), capacity_bytes)
    concerns = scale_concerns(loaded, capacity_bytes, scale, steps)
    assert Severity.REFUSE not in {concern.severity for concern in concerns}


def test_elements_are_as_long_as_the_scale_needs_and_no_longer_than_standard() -> None:
    # buffer and queue of this drive settle in 61.4 ms: 20 times that, 3 times as long by its scale
    assert _quick("sim:enterprise-tlc?capacity=64GB&scale=3").step_duration_ns == 3_700_000_000
    assert _quick("sim:enterprise-tlc").step_duration_ns == _STANDARD.step_duration_ns
    assert _quick("sim:oracle").step_duration_ns == round(QUICK_STEP_S * NS_PER_S)


def test_what_else_quick_shortens_is_the_same_as_on_a_drive_that_exists() -> None:
    quick, real = _quick("sim:enterprise-tlc"), _shortening()(_STANDARD)
    assert (quick.max_rounds, quick.precondition_passes) == (real.max_rounds, real.precondition_passes)


def test_a_length_that_the_operator_names_counts_more_than_quick() -> None:
    assert _shortening().leaves_step_to_quick
    assert not _shortening(step_seconds=1.5).leaves_step_to_quick
    assert not _shortening(round_seconds=84).leaves_step_to_quick
    assert not _shortening(quick=False).leaves_step_to_quick


def test_two_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="say the same thing twice"):
        _shortening(round_seconds=84, step_seconds=1.5)
