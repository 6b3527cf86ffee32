"""Plans of whole tests against the specification's own numbers: nothing here is measured."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from openpts.planning import dry_run as module
from openpts.planning.dry_run import AssumedDrive, Ending, PlannedApply, dry_run
from openpts.procedures.registry import PROCEDURES
from openpts.units import GB, KIB, MIB, NS_PER_S, NS_PER_US
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, BlockSize, Duration, Step, Stimulus

if TYPE_CHECKING:
    from openpts.fields.conditions import Conditions

CAPACITY_BYTES = 1_600 * GB
MINUTE_NS = 60 * NS_PER_S
DRIVE = AssumedDrive()


def planned(
    name: str, ending: Ending = Ending.LONGEST, drive: AssumedDrive = DRIVE, **changes: object
) -> tuple[PlannedApply, ...]:
    test = PROCEDURES[name]
    conditions: Conditions = test.standard_conditions(DriveClass.ENTERPRISE, 1)
    conditions = replace(conditions, **changes)
    return dry_run(test.script(conditions, CAPACITY_BYTES), CAPACITY_BYTES, drive, ending)


def numbers(plan: tuple[PlannedApply, ...], phase: Phase) -> list[int]:
    return [one.apply.number for one in plan if one.apply.phase is phase]


def duration_s(plan: tuple[PlannedApply, ...], *parts: Phase) -> float:
    return sum(sum(one.durations_ns) for one in plan if one.apply.phase in parts) / NS_PER_S


@pytest.mark.parametrize(("ending", "rounds"), [(Ending.SHORTEST, 5), (Ending.LONGEST, 25)])
def test_iops_has_rounds_of_56_minutes_5_at_the_least_and_25_at_the_most(ending, rounds) -> None:
    plan = planned("iops", ending)
    assert numbers(plan, Phase.ROUND) == list(range(1, rounds + 1))
    assert duration_s(plan, Phase.ROUND) == rounds * 56 * 60
    assert {len(one.apply.steps) for one in plan if one.apply.phase is Phase.ROUND} == {56}


def test_the_shortest_run_of_a_short_form_holds_and_the_longest_only_where_nothing_else_may_come() -> None:
    short = {"within_pct": 5.0, "minute_ns": 5 * NS_PER_S}
    plan = planned("iops", Ending.SHORTEST, **short)
    assert not numbers(plan, Phase.WIPC)
    # the minutes of the first round: three tracked elements, of which one is a key value as are two more
    assert numbers(plan, Phase.ROUND) == [1, 2, 3, 4, 5, 6]
    assert duration_s(plan, Phase.ROUND) == 6 * 56 * 5 + 5 * 55
    # what the flash holds, with 7.5 % of it spare, twice; then ten windows
    written = sum(sum(one.written_bytes) for one in plan if one.apply.phase is Phase.CONDITIONING)
    assert written / CAPACITY_BYTES == pytest.approx(2 * 1.075 + 0.1, abs=0.02)
    assert numbers(planned("iops", **short), Phase.WIPC)
    plan = planned("iops", **short, only_short=True)
    assert not numbers(plan, Phase.WIPC)
    assert numbers(plan, Phase.ROUND) == list(range(1, 26))


@pytest.mark.parametrize("max_rounds", range(1, 12))
def test_the_longest_run_is_steady_in_the_last_round_that_there_may_be(max_rounds) -> None:
    assert numbers(planned("iops", max_rounds=max_rounds), Phase.ROUND) == list(range(1, max_rounds + 1))


@pytest.mark.parametrize("max_rounds", [5, 6, 7, 12, 25])
def test_the_longest_run_of_hir_has_its_wait_states(max_rounds) -> None:
    """Without steady state it would end before them (PTS 11.2 step 3.2)."""
    plan = planned("hir", max_rounds=max_rounds)
    assert numbers(plan, Phase.WDPC)[-1] == max_rounds
    assert numbers(plan, Phase.WAIT_STATE) == [1, 2, 3, 5, 10]


def test_wipc_takes_twice_the_capacity_at_the_assumed_rate() -> None:
    plan = planned("iops", Ending.SHORTEST)
    (filling,) = [one for one in plan if one.apply.phase is Phase.WIPC]
    assert sum(filling.written_bytes) == pytest.approx(2 * CAPACITY_BYTES, rel=1e-6)
    assert sum(filling.durations_ns) / NS_PER_S == pytest.approx(2 * 1600e9 / 1e9, rel=1e-6)


@pytest.mark.parametrize("ending", list(Ending))
@pytest.mark.parametrize("name", ["hir", "iops", "wsat", "cbw"])
def test_a_step_that_is_repeated_is_computed_once_and_the_plan_is_the_same(name, ending, monkeypatch) -> None:
    """On a drive that settles after a fill: what was written so far tells two states apart, and no more."""
    drive = AssumedDrive(settled_write_iops=9_000, settled_write_bytes_per_s=1e8, burst_bytes_per_s=3e9)
    computed, own = [], module._sample

    def counted(step: Step, *rest: Any) -> Sample:
        computed.append(step)
        return own(step, *rest)

    monkeypatch.setattr(module, "_sample", counted)
    plan = planned(name, ending, drive)
    assert len(computed) <= 4 * len({step for one in plan for step in one.apply.steps})
    monkeypatch.setattr(module, "cache", lambda function: function)
    assert planned(name, ending, drive) == plan


def test_hir_takes_the_hours_of_the_specification() -> None:
    plan = planned("hir")
    assert duration_s(plan, Phase.WAIT_STATE) == 46_800
    assert duration_s(plan, Phase.RETURN_TO_BASELINE) == 9_000
    assert duration_s(plan, Phase.WDPC) == 721 * 60
    assert duration_s(planned("hir", Ending.SHORTEST), Phase.WDPC) == 121 * 60


def test_xsr_takes_22_hours_whatever_the_drive() -> None:
    for ending in Ending:
        assert duration_s(planned("xsr", ending), Phase.ACCESS_GROUP) == 22 * 3600


@pytest.mark.parametrize("name", ["cbw", "dirth"])
def test_demand_has_49_minutes_a_round_and_its_histograms(name) -> None:
    plan = planned(name)
    assert duration_s(plan, Phase.ROUND) == 25 * 49 * 60
    histograms = len(numbers(plan, Phase.HISTOGRAM))
    assert histograms >= 2
    assert duration_s(plan, Phase.HISTOGRAM_PREWRITE) == histograms * 3600
    assert duration_s(plan, Phase.HISTOGRAM) == histograms * 600
    # between 5 and 30 minutes, or 10 % of the capacity
    assert 25 * 300 <= duration_s(plan, Phase.ROUND_PREWRITE) <= 25 * 1800


def test_latency_has_rounds_of_9_minutes_and_a_histogram_of_20() -> None:
    plan = planned("lat")
    assert duration_s(plan, Phase.ROUND) == 25 * 9 * 60
    assert duration_s(plan, Phase.HISTOGRAM) == 1200


def test_throughput_has_a_cycle_for_each_block_size() -> None:
    plan = planned("tp")
    assert {one.cycle for one in plan} == {1, 2}
    for cycle in (1, 2):
        rounds = [one for one in plan if (one.cycle, one.apply.phase) == (cycle, Phase.ROUND)]
        assert sum(sum(one.durations_ns) for one in rounds) == 25 * 2 * MINUTE_NS


def test_saturation_ends_after_four_drive_fills_or_six_hours() -> None:
    slow = replace(DRIVE, write_iops=10_000)
    assert duration_s(planned("wsat", drive=slow), Phase.SATURATION) == pytest.approx(6 * 3600, rel=0.01)
    fast = replace(DRIVE, write_iops=500_000, write_bytes_per_s=10 * GB, latency_ns=10 * NS_PER_US)
    plan = planned("wsat", drive=fast)
    written = sum(sum(one.written_bytes) for one in plan if one.apply.phase is Phase.SATURATION)
    assert duration_s(plan, Phase.SATURATION) < 6 * 3600
    assert 4 <= written / CAPACITY_BYTES < 4.6  # whole tracking rounds of half an hour


@pytest.mark.parametrize(
    ("stimulus", "ios_per_s"),
    [
        (Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, 32, 32, ActiveRange()), 300_000),
        (Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 32, 32, ActiveRange()), 50_000),
        (Stimulus.of(AccessPattern.RANDOM, MIB, 0, 32, 32, ActiveRange()), Fraction(GB, MIB)),
        (Stimulus.of(AccessPattern.RANDOM, MIB, 100, 32, 32, ActiveRange()), Fraction(2 * GB, MIB)),
        # one outstanding I/O of 80 us each
        (Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, 1, 1, ActiveRange()), 12_500),
        # reads and writes in turn: the times add up
        (
            Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 50, 32, 32, ActiveRange()),
            1 / (Fraction(1, 2) / 300_000 + Fraction(1, 2) / 50_000),
        ),
    ],
)
def test_an_assumed_drive_is_as_fast_as_its_tightest_limit(stimulus, ios_per_s) -> None:
    assert DRIVE.ios_per_s(stimulus) == pytest.approx(float(ios_per_s), rel=1e-9)


def test_a_mix_of_sizes_counts_by_its_weights() -> None:
    sizes = (BlockSize(4 * KIB, 3), BlockSize(64 * KIB, 1))
    stimulus = replace(
        Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 32, 32, ActiveRange()), block_sizes=sizes
    )
    slow = replace(DRIVE, write_bytes_per_s=float(19 * KIB))
    assert slow.ios_per_s(stimulus) == pytest.approx(1)


def test_the_plan_of_a_minute_writes_what_the_rate_gives() -> None:
    plan = planned("iops", Ending.SHORTEST)
    first = next(one for one in plan if one.apply.phase is Phase.ROUND)
    for step, written in zip(first.apply.steps, first.written_bytes, strict=True):
        assert step.stop == Duration(MINUTE_NS)
        share = 1 - step.stimulus.read_pct / 100
        expected = DRIVE.ios_per_s(step.stimulus) * 60 * share * step.stimulus.block_size_bytes
        assert written == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("limit_pct", [0.5, 5, 50, 99])
@pytest.mark.parametrize("most", [3, 7, 15])
def test_passes_are_added_at_once_or_until_there_are_as_many_as_a_row_may_need(limit_pct, most) -> None:
    for ending, wanted in ((Ending.SHORTEST, {3}), (Ending.LONGEST, {most})):
        changes = {"until_rse_pct": limit_pct, "most_passes": most}
        plan = planned("benchmarks", ending, **changes)
        passes: dict[int, int] = {}
        for one in plan:
            if one.apply.phase is Phase.PROFILE:
                busy = sum(step.stimulus is not None for step in one.apply.steps)
                passes[one.apply.number] = passes.get(one.apply.number, 0) + busy
        # each row of CrystalDiskMark and of the guide has a warm-up, of AS SSD there is one pass without
        assert {passes[number] - 1 for number in (1, 8, 17, 20)} == wanted
        assert {passes[number] for number in (9, 16)} == wanted
