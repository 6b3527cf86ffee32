"""Conditions of CBW and DIRTH: what a device can't do, and what is a deviation."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.fields.time_scale import at_time_scale
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import Ending, dry_run
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.pts.cbw import CompositeConditions
from openpts.procedures.pts.dirth import DemandIntensityConditions
from openpts.procedures.pts.suite import PTS
from openpts.vocabulary.data import PatternData
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.stimulus import ActiveRange, BlockSize
from openpts.vocabulary.workload import WORKLOADS

BOTH = pytest.mark.parametrize("name", ["cbw", "dirth"])


def standard(
    name: str, drive_class: DriveClass = DriveClass.ENTERPRISE
) -> CompositeConditions | DemandIntensityConditions:
    conditions = PTS[name].standard_conditions(drive_class, 1)
    assert isinstance(conditions, CompositeConditions | DemandIntensityConditions)
    return conditions


def entries(name: str, used: Any) -> list[tuple[str, str]]:
    found = deviations(used, standard(name), PTS[name].rules)
    return [(entry.rule_id, entry.used) for entry in found]


@BOTH
@pytest.mark.proves("PTS-CBW-01", "PTS-CBW-13", "PTS-DIRTH-01", "PTS-DIRTH-06")
def test_both_classes_have_the_same_conditions_but_for_their_name(name) -> None:
    enterprise, client = standard(name), standard(name, DriveClass.CLIENT)
    assert client == replace(enterprise, drive_class=DriveClass.CLIENT)
    assert (client.write_cache_enabled, client.active_range) == (False, ActiveRange(0, 100))
    as_client_tests_have_it = replace(client, write_cache_enabled=True, active_range=ActiveRange(0, 75))
    prefix = f"PTS-{name.upper()}"
    cache = {"cbw": "13", "dirth": "06"}[name]
    assert entries(name, as_client_tests_have_it) == [
        (f"{prefix}-01", "AR 0-75 %"),
        (f"{prefix}-{cache}", "WCE"),
    ]


@pytest.mark.proves("PTS-CBW-08")
def test_sizes_below_a_sector_are_left_out_and_entered(golden) -> None:
    test = PTS["cbw"]
    possible = test.supported_on(standard("cbw"), 4096)
    sizes = [(size.block_size_bytes, size.weight) for size in possible.workload.block_sizes]
    assert sizes == [(4096, 67), (8192, 10), (16384, 7), (32768, 3), (65536, 3)]
    assert possible.skipped_block_sizes_bytes == (512, 1024, 1536, 2048, 2560, 3072, 3584)
    ((rule_id, used),) = entries("cbw", possible)
    assert rule_id == "PTS-CBW-08"
    assert used == golden

    assert test.supported_on(standard("cbw"), 512) == standard("cbw")


@pytest.mark.proves("PTS-DIRTH-03")
def test_any_workload_is_dirths_but_what_is_left_out_is_entered() -> None:
    for workload in WORKLOADS.values():
        assert entries("dirth", replace(standard("dirth"), workload=workload)) == []
    composite = replace(standard("dirth"), workload=WORKLOADS["composite"])
    ((rule_id, used),) = entries("dirth", PTS["dirth"].supported_on(composite, 4096))
    assert (rule_id, used) == ("PTS-DIRTH-03", "0.5 KiB, 1 KiB, 1.5 KiB, 2 KiB, 2.5 KiB, 3 KiB, 3.5 KiB")


def test_a_workload_that_is_not_possible_at_all_is_refused() -> None:
    metadata = replace(standard("dirth"), workload=WORKLOADS["metadata"])
    with pytest.raises(UsageError, match=r"0\.5 KiB are not possible on sectors of 4,096 bytes"):
        PTS["dirth"].supported_on(metadata, 4096)


@BOTH
def test_more_points_between_are_allowed_and_none_is_not(name) -> None:
    assert entries(name, replace(standard(name), mid_points=3)) == []
    ((rule_id, _),) = entries(name, replace(standard(name), mid_points=0))
    assert rule_id == {"cbw": "PTS-CBW-35", "dirth": "PTS-DIRTH-27"}[name]


@BOTH
def test_a_time_scale_leaves_the_limit_of_response_times(name) -> None:
    scaled = at_time_scale(standard(name), 1 / 60)
    assert scaled.art_limit_ns == 5_000_000
    assert scaled.histogram_ns == 10 * 10**9
    assert scaled.prewrite_capacity_pct == 10
    assert shortened(scaled, standard(name))


@pytest.mark.proves("PTS-CBW-05", "PTS-CBW-06", "PTS-CBW-61")
def test_other_data_and_own_workloads_run_in_the_same_way_and_are_entered() -> None:
    data, workload = PatternData(b"\xa5\x5a"), WORKLOADS["vod"]
    used = replace(standard("cbw"), data=data, workload=workload)
    script = PTS["cbw"].script(used, 10**12)
    stimuli = {
        step.stimulus
        for planned in dry_run(script, 10**12, AssumedDrive(), Ending.SHORTEST)
        for step in planned.apply.steps
        if step.stimulus is not None
    }
    assert {stimulus.data for stimulus in stimuli} == {data}
    assert {(stimulus.random_pct, stimulus.block_sizes) for stimulus in stimuli} == {
        (0, (BlockSize(128 * 1024),))
    }
    assert entries("cbw", used) == [
        ("PTS-CBW-04", "pattern a55a again and again"),
        ("PTS-CBW-08", "SEQ 128 KiB RW90"),
    ]
