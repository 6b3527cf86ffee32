"""What --quick makes of each test, on a drive that exists and on a simulated one."""

from typing import Any

import pytest

from openpts.cli.procedure_options import chosen
from openpts.errors import UsageError
from openpts.parameters.overrides import Overrides
from openpts.planning.dry_run import AssumedDrive, Ending, dry_run, steps_of
from openpts.procedures.kit.ledger import shortened
from openpts.vocabulary.drive_class import DriveClass
from openpts_pts.conformance.catalogue import PTS
from openpts_sim.cli.fitting_scale import quick_on_simulated
from openpts_sim.presets import Severity, load_preset, scale_concerns, shipped_presets
from openpts_sim.simulated_device import size_and_scale
from openpts_sim.simulated_target import parse_simulated_target

SCRATCH_BYTES = 256 * 1024**2


def chosen_for(test: str, values: dict[str, Any]) -> Any:
    given = Overrides(values, dict.fromkeys(values, "--option"))
    return chosen(PTS[test], None, given, drive_class=None, is_quick=True, seed=1)


def quick(test: str, **values: Any) -> Any:
    return chosen_for(test, values).adjust(PTS[test].standard_conditions(DriveClass.ENTERPRISE, 1))


def quick_on(target: str, test: str, **values: Any) -> Any:
    adjust = quick_on_simulated(chosen_for(test, values), parse_simulated_target(target))
    return adjust(PTS[test].standard_conditions(DriveClass.ENTERPRISE, 1))


@pytest.mark.parametrize("test", list(PTS))
def test_a_quick_look_takes_minutes(test) -> None:
    drive = AssumedDrive(write_bytes_per_s=200e6, write_iops=20_000)
    script = PTS[test].script(quick(test), SCRATCH_BYTES)
    planned = dry_run(script, SCRATCH_BYTES, drive, Ending.LONGEST)
    assert 5 < sum(sum(one.durations_ns) for one in planned) / 1e9 < 5 * 60


@pytest.mark.parametrize("test", list(PTS))
def test_a_quick_look_is_known_as_short(test) -> None:
    assert shortened(quick(test), PTS[test].standard_conditions(DriveClass.ENTERPRISE, 1))


@pytest.mark.full_matrix(most=16)
@pytest.mark.parametrize("test", [name for name in PTS if name != "hir"])
@pytest.mark.parametrize("preset", [preset.name for preset in shipped_presets()])
def test_a_quick_run_on_a_shipped_drive_is_never_refused(preset, test) -> None:
    """HIR's bursts of 5 s are too short for the scale of some drives even as specified."""
    loaded = load_preset(preset)
    capacity_bytes, scale = size_and_scale(parse_simulated_target(f"sim:{preset}"), loaded)
    conditions = PTS[test].supported_on(quick_on(f"sim:{preset}", test), loaded.sector_bytes)
    script = PTS[test].script(conditions, capacity_bytes)
    steps = steps_of(dry_run(script, capacity_bytes, AssumedDrive(), Ending.LONGEST))
    concerns = scale_concerns(loaded, capacity_bytes, scale, steps)
    assert Severity.REFUSE not in {concern.severity for concern in concerns}


def test_elements_are_as_long_as_the_scale_needs_and_no_longer_than_standard() -> None:
    # buffer and queue of this drive settle in 61.4 ms: 20 times that, 3 times as long by its scale
    assert quick_on("sim:enterprise-tlc?capacity=64GB&scale=3", "iops").minute_ns == 3_700_000_000
    assert quick_on("sim:enterprise-tlc", "iops").minute_ns == 60 * 10**9
    assert quick_on("sim:oracle", "iops").minute_ns == 400_000_000


def test_groups_and_pauses_grow_with_the_bursts() -> None:
    target = "sim:enterprise-tlc?capacity=64GB&scale=3"
    short, long = quick("hir"), quick_on(target, "hir")
    assert long.access_ns > short.access_ns
    for before, after in zip(short.wait_states, long.wait_states, strict=True):
        assert after.idle_ns / before.idle_ns == pytest.approx(long.access_ns / short.access_ns)
    lengths = {group.duration_ns for group in quick_on("sim:client-qlc", "xsr").groups}
    assert len(lengths) == 1
    assert min(lengths) > max(group.duration_ns for group in quick("xsr").groups)


def test_what_else_quick_shortens_is_the_same_as_on_a_drive_that_exists() -> None:
    simulated, real = quick_on("sim:enterprise-tlc", "iops"), quick("iops")
    assert (simulated.max_rounds, simulated.precondition_passes) == (7, 1)
    assert (real.max_rounds, real.precondition_passes) == (7, 1)


@pytest.mark.parametrize(
    ("values", "length_ns"),
    [
        ({"step_seconds": 1.5}, 1_500_000_000),
        ({"round_seconds": 112}, 2 * 10**9),
        ({"time_scale": 0.5}, 30 * 10**9),
    ],
)
def test_a_length_that_the_operator_names_counts_more_than_quick(values, length_ns) -> None:
    assert quick("iops", **values).minute_ns == length_ns
    assert quick_on("sim:enterprise-tlc", "iops", **values).minute_ns == length_ns


def test_two_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="sets the same as"):
        quick("iops", round_seconds=84, step_seconds=1.5)
