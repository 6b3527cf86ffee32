"""What the test of sustained performance asks of a drive, and what ends its load."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.fields.field import parameters_of
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.units import GB, GIB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, SetWriteCache
from openpts.vocabulary.stimulus import ActiveRange, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf
from openpts.vocabulary.workload import WORKLOADS
from openpts_practice.rows.profiles import BENCHMARKS
from openpts_practice.rows.sustained import SustainedConditions
from openpts_practice.rows.sustained.script import script as sustained_test
from openpts_practice.rows.sustained.script import standard_conditions, supported_on
from tests.unit.procedures.pts.trace.player import Drive, Played

CAPACITY_BYTES = 1000 * GB
HOUR_S = 3600


def play(iops: float = 100_000, **changes: Any) -> Played:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)
    drive = Drive(CAPACITY_BYTES, lambda _stimulus, _phase, _number: iops)
    return drive.play(sustained_test(conditions, CAPACITY_BYTES))


def applies(played: Played, phase: Phase) -> list[Apply]:
    return [r for r in played.requests if isinstance(r, Apply) and r.phase is phase]


def numbered(played: Played, numbers: range) -> list[Apply]:
    return [request for request in applies(played, Phase.PROFILE) if request.number in numbers]


@pytest.mark.proves("HYP-SUS-01")
@pytest.mark.parametrize(
    ("names", "rows"), [(("data-sheet",), 5), (("crystaldiskmark",), 8), (("data-sheet", "as-ssd"), 13)]
)
def test_the_same_rows_before_the_load_and_right_after_it(names: tuple[str, ...], rows: int) -> None:
    played = play(benchmarks=tuple(BENCHMARKS[name] for name in names))
    assert isinstance(played.requests[0], Purge)
    assert played.requests[1] == SetWriteCache(enabled=False)
    before, after = numbered(played, range(1, rows + 1)), numbered(played, range(rows + 1, 2 * rows + 1))
    assert len(before) == rows
    assert [request.steps for request in before] == [request.steps for request in after]
    parts = [r.phase for r in played.requests if isinstance(r, Apply)]
    first, last = parts.index(Phase.LOAD), len(parts) - parts[::-1].index(Phase.LOAD)
    assert set(parts[first:last]) == {Phase.LOAD}
    assert parts[:first] == parts[last:]
    assert parts[:first].count(Phase.CONDITIONING) == len(names)


def test_the_figures_are_those_of_data_sheets() -> None:
    rows = numbered(play(), range(1, 6))
    found = [request.steps[0].stimulus for request in rows]
    assert [(s.random_pct, s.block_size_bytes, s.read_pct, s.tc, s.qd) for s in found if s] == [
        (0, 128 * KIB, 0, 1, 32),
        (0, 128 * KIB, 100, 1, 32),
        (100, 4 * KIB, 0, 1, 1),
        (100, 4 * KIB, 0, 4, 32),
        (100, 4 * KIB, 100, 4, 32),
    ]
    assert {len(request.steps) for request in rows} == {3}


def test_what_is_read_was_written_before() -> None:
    played = play()
    (laid,) = applies(played, Phase.CONDITIONING)[0].steps
    assert laid.stop == ByteAmount(GIB)
    assert laid.stimulus is not None
    reads = [
        step.stimulus
        for request in numbered(played, range(1, 6))
        for step in request.steps
        if step.stimulus is not None and step.stimulus.read_pct
    ]
    assert {stimulus.active_range for stimulus in reads} == {laid.stimulus.active_range}


def test_rows_below_the_sector_are_left_out_of_both_runs_and_named() -> None:
    standard = standard_conditions(DriveClass.CLIENT, 1)
    conditions = supported_on(replace(standard, benchmarks=(BENCHMARKS["atto"],)), 4096)
    sizes = {size.block_size_bytes for _, row in conditions.rows for size in row.block_sizes}
    assert min(sizes) == 4096
    assert len(conditions.rows) == len(BENCHMARKS["atto"].rows) - 6
    assert len(conditions.impossible) == 6
    assert [conditions.row_of(number) for number in (1, 31)] == [
        ("Run #1", conditions.rows[0][1]),
        ("Run #2", conditions.rows[0][1]),
    ]


def test_writes_take_the_whole_range_and_leave_a_fresh_drive_fresh() -> None:
    """A pass ends after 20 s or 2 GiB: nine of them are 19 GB at the most."""
    steps = [step for request in numbered(play(), range(1, 6)) for step in request.steps]
    writes = [step for step in steps if step.stimulus is not None and not step.stimulus.read_pct]
    assert len(writes) == 9
    for step in writes:
        assert step.stop == FirstOf((Duration(20 * NS_PER_S), ByteAmount(2 * GIB)))
        assert step.stimulus is not None
        assert step.stimulus.active_range == ActiveRange(0, 100)


@pytest.mark.proves("HYP-SUS-01")
def test_without_an_amount_the_load_ends_by_time_alone() -> None:
    played = play(100_000, drive_fills=None, longest_ns=200 * HOUR_S * NS_PER_S)
    assert played.elapsed_s(Phase.LOAD) == 200 * HOUR_S
    (finished,) = [r for r in played.requests if isinstance(r, CycleFinished)]
    assert finished.outcome.ended_by == "200 h 0 min elapsed"
    assert {step.stop for a in applies(played, Phase.LOAD) for step in a.steps} == {Duration(1800 * NS_PER_S)}


def test_a_load_without_an_amount_is_not_shorter_than_one_with_it() -> None:
    standard = standard_conditions(DriveClass.ENTERPRISE, 1)
    longer = replace(standard, drive_fills=None)
    assert not shortened(longer, standard)
    assert shortened(standard, longer)


def test_no_amount_is_a_word_of_the_plan_and_of_the_command_line() -> None:
    parameter = parameters_of(SustainedConditions)["drive_fills"]
    standard = standard_conditions(DriveClass.ENTERPRISE, 1)
    changed = parameter.applied("--drive-fills", "none", standard)
    assert changed.drive_fills is None
    assert parameter.shown(changed) == "none"
    assert parameter.applied("--drive-fills", 2.5, standard).drive_fills == 2.5
    (entry,) = deviations(changed, standard, ())
    assert (entry.required, entry.used) == ("4 x user capacity", "no amount ends the load")


@pytest.mark.parametrize(
    ("iops", "hours", "ended_by"),
    [
        (100_000, 4 * CAPACITY_BYTES / 4096 / 100_000 / HOUR_S, "4 x user capacity written"),
        (100, 72, "72 h 0 min elapsed"),
    ],
)
def test_the_load_ends_by_amount_or_by_time(iops: float, hours: float, ended_by: str) -> None:
    played = play(iops)
    assert played.elapsed_s(Phase.LOAD) / HOUR_S == pytest.approx(hours, rel=1e-6)
    (finished,) = [r for r in played.requests if isinstance(r, CycleFinished)]
    assert (finished.outcome.ended_by, finished.outcome.steady_round) == (ended_by, None)


def test_a_load_that_reads_counts_what_it_writes() -> None:
    """OLTP writes 35 % of 8 KiB accesses: the same amount takes 1 / 0.35 as many bytes."""
    played = play(workload=WORKLOADS["oltp"])
    assert played.elapsed_s(Phase.LOAD) == pytest.approx(4 * CAPACITY_BYTES / 0.35 / 8192 / 100_000, rel=1e-6)


def test_a_load_of_reads_alone_ends_by_time() -> None:
    played = play(workload=WORKLOADS["read_intensive"], longest_ns=2 * HOUR_S * NS_PER_S)
    assert played.elapsed_s(Phase.LOAD) == 2 * HOUR_S


def test_a_sequential_load_keeps_its_sequence() -> None:
    (first, *_) = applies(play(workload=WORKLOADS["vod"]), Phase.LOAD)
    stimulus = first.steps[0].stimulus
    assert isinstance(stimulus, Stimulus)
    assert (stimulus.tc, stimulus.qd) == (1, 32)


def test_no_step_of_the_load_is_longer_than_half_an_hour() -> None:
    longest = max(a.elapsed_ns for a in play(1000).applied if a.phase is Phase.LOAD)
    assert longest == 1800 * NS_PER_S
