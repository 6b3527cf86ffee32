"""What the ledger says of conditions that differ, word for word."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.parameters.overrides import Given, conditions_of
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.pts.suite import PTS
from openpts.vocabulary.drive_class import DriveClass


def standard(test: str) -> Any:
    return PTS[test].standard_conditions(DriveClass.ENTERPRISE, 1)


def used(test: str, **values: Any) -> Any:
    return conditions_of(Given(values, dict.fromkeys(values, "--option")), standard(test))


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
