"""What holds for all eight tests, whatever they apply."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from openpts.units import NS_PER_S
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, SetWriteCache, SteadyStateChecked
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import ActiveRange, RandomData, Stimulus
from openpts_pts.conformance.catalogue import PTS
from openpts_pts.tests.unit.trace.scenario import (
    CAPACITY_BYTES,
    CLASSES,
    SETTLES,
    assert_same,
    at_bandwidth,
    play,
)
from tests.support.player import Played, lines

NAMES = ("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth")


@cache
def played(name: str, drive_class: str) -> Played:
    def iops(stimulus: Stimulus, phase: Phase, number: int) -> float:
        course = SETTLES.of_round(number) if phase in {Phase.ROUND, Phase.WDPC} else 1
        return at_bandwidth(stimulus) * course

    return play(name, drive_class, iops)


def applies(name: str, drive_class: str) -> Iterator[Apply]:
    return (request for request in played(name, drive_class).requests if isinstance(request, Apply))


def test_there_are_the_eight_tests_of_the_specification_in_its_order() -> None:
    assert tuple(PTS) == NAMES
    assert [test.section for test in PTS.values()] == list(range(7, 15))
    assert [test.name for test in PTS.values()] == list(NAMES)


pytest_every = pytest.mark.parametrize(
    ("name", "drive_class"), [(name, drive_class) for name in NAMES for drive_class in CLASSES]
)


@pytest_every
@pytest.mark.proves("PTS-PRG-01", "PTS-FLOW-01")
def test_a_cycle_is_purged_then_has_its_cache_set_then_is_measured_and_ends(name, drive_class) -> None:
    requests = [r for r in played(name, drive_class).requests if not isinstance(r, SteadyStateChecked)]
    kinds = "".join(
        {Purge: "p", SetWriteCache: "c", Apply: "a", CycleFinished: "f"}[type(request)]
        for request in requests
    )
    cycles = kinds.split("f")
    assert cycles[-1] == ""
    for cycle in cycles[:-1]:
        assert cycle == "pc" + "a" * (len(cycle) - 2)
        assert len(cycle) > 2


@pytest_every
@pytest.mark.proves("PTS-PRE-05..06", "PTS-TOOL-10", "PTS-HIR-19", "PTS-XSR-15")
def test_nothing_idles_but_the_wait_states_of_host_idle_recovery(name, drive_class) -> None:
    idle = {
        apply.phase for apply in applies(name, drive_class) for step in apply.steps if step.stimulus is None
    }
    assert idle == ({Phase.WAIT_STATE} if name == "hir" else set())


@pytest_every
@pytest.mark.proves("PTS-DEF-07")
def test_every_round_applies_what_the_first_did(name, drive_class) -> None:
    rounds = [
        apply for apply in applies(name, drive_class) if apply.phase in {Phase.ROUND, Phase.ROUND_PREWRITE}
    ]
    first: dict[tuple[Phase, object], Apply] = {}
    for apply in rounds:
        # throughput has another block size in its second cycle: rounds are alike within a size
        key = (apply.phase, apply.steps[0].stimulus)
        assert apply.steps == first.setdefault(key, apply).steps
    sizes = 2 if name == "tp" else 1
    assert len(first) == sizes * len({apply.phase for apply in rounds})


@pytest_every
@pytest.mark.proves("PTS-TP-16")
def test_steps_that_follow_one_another_begin_where_the_last_one_stopped(name, drive_class) -> None:
    # A stimulus has nothing that would send it back to the start of its range: no seed, no position. So
    # equal stimuli are one stream to an engine, and all of a test are in one active range.
    fields = set(Stimulus.__struct_fields__)
    assert fields == {
        "random_pct", "block_sizes", "operations", "tc", "qd", "active_range", "placement",
        "alignment_bytes", "stride_bytes", "pacing", "data", "placement_handle", "atomic",
    }  # fmt: skip
    ranges = {s.stimulus.active_range for a in applies(name, drive_class) for s in a.steps if s.stimulus}
    assert len(ranges) == 1


@pytest_every
@pytest.mark.proves("PTS-DAT-01")
def test_all_data_is_random(name, drive_class) -> None:
    patterns = {s.stimulus.data for a in applies(name, drive_class) for s in a.steps if s.stimulus}
    assert patterns == {RandomData()}


@pytest_every
@pytest.mark.proves("PTS-THR-03", "PTS-THR-01")
def test_demand_stays_the_same_but_where_a_test_varies_it(name, drive_class) -> None:
    demands = {
        (s.stimulus.tc, s.stimulus.qd) for a in applies(name, drive_class) for s in a.steps if s.stimulus
    }
    assert len(demands) == {"xsr": 2, "cbw": 49, "dirth": 49}.get(name, 1)


@pytest_every
def test_parts_are_numbered_as_they_come(name, drive_class) -> None:
    numbers: dict[tuple[int, Phase], list[int]] = {}
    cycle = 0
    for request in played(name, drive_class).requests:
        cycle += isinstance(request, Purge)
        if isinstance(request, Apply):
            numbers.setdefault((cycle, request.phase), []).append(request.number)
    for (_, phase), found in numbers.items():
        in_order = list(dict.fromkeys(found))
        if phase in {Phase.WAIT_STATE, Phase.RETURN_TO_BASELINE}:
            assert in_order == [1, 2, 3, 5, 10]
        else:
            assert in_order == list(range(1, len(in_order) + 1))
        assert found == sorted(found)


@pytest_every
@pytest.mark.proves("PTS-SS-07")
def test_rounds_say_that_there_may_be_25(name, drive_class) -> None:
    most = {apply.most for apply in applies(name, drive_class) if apply.phase in {Phase.ROUND, Phase.WDPC}}
    assert most <= {25}


@pytest_every
@pytest.mark.proves("PTS-CBW-38", "PTS-DIRTH-30")
def test_only_demand_histograms_capture_every_io(name, drive_class) -> None:
    captured = {apply.phase for apply in applies(name, drive_class) for step in apply.steps if step.capture}
    assert captured == ({Phase.HISTOGRAM} if name in {"cbw", "dirth"} else set())


@pytest.mark.full_matrix(most=6)
@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("iops", {"read_pcts": (0, 5, 35, 50, 65, 95, 100)}),
        ("iops", {"tc": 5}),
        ("iops", {"write_cache_enabled": True}),
        ("iops", {"precondition_passes": 1.0}),
        ("tp", {"read_pcts": (0, 100)}),
        ("tp", {"qd": 31}),
        ("lat", {"minute_ns": 59 * NS_PER_S}),
        ("lat", {"active_range": ActiveRange(0, 75)}),
        ("lat", {"histogram_ns": 1199 * NS_PER_S}),
        ("wsat", {"tracking_period_ns": 1860 * NS_PER_S}),
        ("wsat", {"drive_fills": 3.0}),
        ("hir", {"cycles": 359}),
        ("hir", {"max_rounds": 7}),
        ("cbw", {"precondition_passes": 2.0}),
        ("cbw", {"prewrite_capacity_pct": 11}),
        ("cbw", {"qds": (32, 16, 8, 6, 4, 2)}),
        ("cbw", {"mid_points": 2}),
        ("dirth", {"capture": False}),
        ("dirth", {"histogram_prewrite_ns": 600 * NS_PER_S}),
        ("dirth", {"plateau_pct": 0}),
    ],
)
def test_a_test_with_another_setting_is_not_as_specified(name, changed) -> None:
    def asked_for(**changed: Any) -> list[str]:
        # as fast as there is I/O outstanding, up to 16 of them
        iops = lambda stimulus, phase, number: (  # noqa: E731
            at_bandwidth(stimulus)
            * SETTLES.of_round(number if phase in {Phase.ROUND, Phase.WDPC} else 8)
            * (min(stimulus.toio, 64 + stimulus.toio / 1000))
            / 64
        )
        return lines(play(name, "enterprise", iops, **changed), CAPACITY_BYTES)

    with pytest.raises(AssertionError, match=r"asked for, .* specified"):
        assert_same(asked_for(**changed), asked_for())
