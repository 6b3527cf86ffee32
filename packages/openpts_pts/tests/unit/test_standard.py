"""What the ledger says of conditions that differ, word for word."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.fields.conditions import at_time_scale
from openpts.parameters.overrides import Overrides, conditions_of
from openpts.planning.dry_run import AssumedDrive, Ending, dry_run
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.stimulus import ActiveRange, BlockSize, PatternData
from openpts.vocabulary.workload import WORKLOADS
from openpts_pts.cbw import CompositeConditions
from openpts_pts.conformance.catalogue import PTS
from openpts_pts.dirth import DemandIntensityConditions


def standard(test: str) -> Any:
    return PTS[test].standard_conditions(DriveClass.ENTERPRISE, 1)


def used(test: str, **values: Any) -> Any:
    return conditions_of(Overrides(values, dict.fromkeys(values, "--option")), standard(test))


@pytest.mark.proves("PTS-GEN-01")
@pytest.mark.parametrize(
    ("test", "parameter", "value", "required", "differs"),
    [
        ("iops", "step_seconds", 0.02, "1 min 0 s per step", "20 ms per step"),
        ("iops", "active_range", "25:75", "AR 0-100 %", "AR 25-75 %"),
        ("iops", "write_cache", "enabled", "WCD", "WCE"),
        ("iops", "tc", 8, "TC 4", "TC 8"),
        ("iops", "precondition_tc", 1, "TC of the test in preconditioning", "TC 1 in preconditioning"),
        ("iops", "precondition_passes", 0.5, "2 x user capacity", "0.5 x user capacity"),
        ("iops", "precondition_block_size", "1MiB", "128 KiB", "1024 KiB"),
        ("iops", "read_pcts", [100, 65, 0], "100, 95, 65, 50, 35, 5, 0 % reads", "100, 65, 0 % reads"),
        ("iops", "block_sizes", ["4KiB", "0.5KiB"], "1024, 128, 64, 32, 16, 8, 4, 0.5 KiB", "4, 0.5 KiB"),
        (
            "iops",
            "segments",
            "16x64KiB",
            "the whole active range",
            "16 LBA segments of 64 KiB, spread at random",
        ),
        ("iops", "data_pattern", "zero", "RND: incompressible, fresh for each write", "zero bytes"),
        ("wsat", "sequential_qd", 4, "QD 32 in sequential workloads", "QD 4 in sequential workloads"),
        ("wsat", "longest_seconds", 90, "for 6 h 0 min at the most", "for 1 min 30 s at the most"),
        ("lat", "histogram_seconds", 60, "20 min 0 s for the histogram", "1 min 0 s for the histogram"),
        (
            "hir",
            "tracking_seconds",
            60,
            "tracked minutes 30 min 0 s apart",
            "tracked minutes 1 min 0 s apart",
        ),
        ("hir", "cycles", 6, "360 times", "6 times"),
        ("cbw", "art_limit_ms", 2.5, "ART below 5 ms", "ART below 2.5 ms"),
        ("cbw", "tcs", [8, 1], "TC 32, 16, 8, 6, 4, 2, 1", "TC 8, 1"),
        (
            "dirth",
            "prewrite_shortest_seconds",
            5,
            "pre-writes of 5 min 0 s at the least",
            "pre-writes of 5.00 s at the least",
        ),
    ],
)
def test_both_values_in_words(test, parameter, value, required, differs) -> None:
    entries = deviations(used(test, **{parameter: value}), standard(test), PTS[test].rules)
    assert [(entry.required, entry.used) for entry in entries] == [(required, differs)]


def test_a_time_scale_is_an_entry_beside_those_of_what_it_shortens() -> None:
    scaled = used("xsr", time_scale="1/720")
    entries = deviations(scaled, standard("xsr"), PTS["xsr"].rules)
    assert (entries[0].rule_id, entries[0].used) == ("PTS-GEN-01", "durations and repetitions x 1/720")
    assert {entry.rule_id for entry in entries[1:]} == {
        "PTS-XSR-07",
        "PTS-XSR-10",
        "PTS-XSR-13",
        "PTS-XSR-14",
    }


def test_the_standard_conditions_deviate_in_nothing() -> None:
    for test in PTS.values():
        assert deviations(standard(test.name), standard(test.name), test.rules) == ()
        assert not shortened(standard(test.name), standard(test.name))


@pytest.mark.proves("PTS-IOPS-18", "PTS-FLOW-05")
@pytest.mark.parametrize("test", ["iops", "tp", "lat"])
def test_the_operator_may_go_on_after_round_25(test) -> None:
    """7.2 (3.2.1.2.3), 8.2 (2.4.1.4) and 9.2 (3.1.1.1.4) allow it."""
    assert deviations(used(test, max_rounds=40), standard(test), PTS[test].rules) == ()


@pytest.mark.parametrize(
    ("test", "rule_id"), [("hir", "PTS-HIR-10"), ("cbw", "PTS-CBW-27"), ("dirth", "PTS-DIRTH-19")]
)
def test_25_rounds_are_the_most_where_the_text_has_no_leave_to_go_on(test, rule_id) -> None:
    (entry,) = deviations(used(test, max_rounds=26), standard(test), PTS[test].rules)
    assert (entry.rule_id, entry.required, entry.used) == (rule_id, "up to 25 rounds", "up to 26 rounds")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"group_seconds": [28800, 60, 28800]}, [("PTS-XSR-10", "group 2: 6 h 0 min", "group 2: 1 min 0 s")]),
        ({"group_seconds": [28800, 21600, 60]}, [("PTS-XSR-13", "group 3: 8 h 0 min", "group 3: 1 min 0 s")]),
        # "a minimum of 8 hours" (12.2), and group 2's demand is the operator's choice
        ({"group_seconds": [36000, 36000, 36000], "group_tcs": [1, 16, 1]}, []),
        ({"group_tcs": [2, 4, 2]}, [("PTS-XSR-05", "group 1: TC 1", "group 1: TC 2")]),
        ({"group_qds": [32, 32, 8]}, [("PTS-XSR-12", "group 3: QD 32", "group 3: QD 8")]),
    ],
)
def test_each_access_group_has_its_own_requirements(values, expected) -> None:
    entries = deviations(used("xsr", **values), standard("xsr"), PTS["xsr"].rules)
    assert [(entry.rule_id, entry.required, entry.used) for entry in entries] == expected


@pytest.mark.parametrize(
    ("test", "values"),
    [
        ("iops", {"step_seconds": 1}),
        ("iops", {"precondition_passes": 1}),
        ("xsr", {"group_seconds": [28800, 1, 28800]}),
        ("hir", {"idle_seconds": 1}),
        ("hir", {"wait_states": [1, 2]}),
        ("wsat", {"drive_fills": 1}),
    ],
)
def test_what_is_shortened_is_known_to_be(test, values) -> None:
    assert shortened(used(test, **values), standard(test))


def test_another_limit_of_response_times_shortens_nothing() -> None:
    assert not shortened(used("cbw", art_limit_ms=2.5), standard("cbw"))


def test_longer_is_not_shortened() -> None:
    assert not shortened(used("lat", histogram_seconds=3600), standard("lat"))
    assert not shortened(replace(standard("lat"), nines=7), standard("lat"))


BOTH = pytest.mark.parametrize("name", ["cbw", "dirth"])


def demand_standard(
    name: str, drive_class: DriveClass = DriveClass.ENTERPRISE
) -> CompositeConditions | DemandIntensityConditions:
    conditions = PTS[name].standard_conditions(drive_class, 1)
    assert isinstance(conditions, CompositeConditions | DemandIntensityConditions)
    return conditions


def entries(name: str, used: Any) -> list[tuple[str, str]]:
    found = deviations(used, demand_standard(name), PTS[name].rules)
    return [(entry.rule_id, entry.used) for entry in found]


@BOTH
@pytest.mark.proves("PTS-CBW-01", "PTS-CBW-13", "PTS-DIRTH-01", "PTS-DIRTH-06")
def test_both_classes_have_the_same_conditions_but_for_their_name(name) -> None:
    enterprise, client = demand_standard(name), demand_standard(name, DriveClass.CLIENT)
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
    possible = test.supported_on(demand_standard("cbw"), 4096)
    sizes = [(size.block_size_bytes, size.weight) for size in possible.workload.block_sizes]
    assert sizes == [(4096, 67), (8192, 10), (16384, 7), (32768, 3), (65536, 3)]
    assert possible.skipped_block_sizes_bytes == (512, 1024, 1536, 2048, 2560, 3072, 3584)
    ((rule_id, used),) = entries("cbw", possible)
    assert rule_id == "PTS-CBW-08"
    assert used == golden

    assert test.supported_on(demand_standard("cbw"), 512) == demand_standard("cbw")


@pytest.mark.proves("PTS-DIRTH-03")
def test_any_workload_is_dirths_but_what_is_left_out_is_entered() -> None:
    for workload in WORKLOADS.values():
        assert entries("dirth", replace(demand_standard("dirth"), workload=workload)) == []
    composite = replace(demand_standard("dirth"), workload=WORKLOADS["composite"])
    ((rule_id, used),) = entries("dirth", PTS["dirth"].supported_on(composite, 4096))
    assert (rule_id, used) == ("PTS-DIRTH-03", "0.5 KiB, 1 KiB, 1.5 KiB, 2 KiB, 2.5 KiB, 3 KiB, 3.5 KiB")


def test_a_workload_that_is_not_possible_at_all_is_refused() -> None:
    metadata = replace(demand_standard("dirth"), workload=WORKLOADS["metadata"])
    with pytest.raises(UsageError, match=r"0\.5 KiB are not possible on sectors of 4,096 bytes"):
        PTS["dirth"].supported_on(metadata, 4096)


@BOTH
def test_more_points_between_are_allowed_and_none_is_not(name) -> None:
    assert entries(name, replace(demand_standard(name), mid_points=3)) == []
    ((rule_id, _),) = entries(name, replace(demand_standard(name), mid_points=0))
    assert rule_id == {"cbw": "PTS-CBW-35", "dirth": "PTS-DIRTH-27"}[name]


@BOTH
def test_a_time_scale_leaves_the_limit_of_response_times(name) -> None:
    scaled = at_time_scale(demand_standard(name), 1 / 60)
    assert scaled.art_limit_ns == 5_000_000
    assert scaled.histogram_ns == 10 * 10**9
    assert scaled.prewrite_capacity_pct == 10
    assert shortened(scaled, demand_standard(name))


@pytest.mark.proves("PTS-CBW-05", "PTS-CBW-06", "PTS-CBW-61")
def test_other_data_and_own_workloads_run_in_the_same_way_and_are_entered() -> None:
    data, workload = PatternData(b"\xa5\x5a"), WORKLOADS["vod"]
    used = replace(demand_standard("cbw"), data=data, workload=workload)
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
