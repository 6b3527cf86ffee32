"""What the test of sustained performance asks of a drive, and what ends its load."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.analysis.minutes import MeasuredInterval
from openpts.analysis.run_comparison import SetRule
from openpts.fields.field import parameters_of
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.units import GB, GIB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, SetWriteCache
from openpts.vocabulary.sample import NOTHING, OperationSample, Phase, Sample
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    BlockSize,
    ByteAmount,
    Duration,
    FirstOf,
    Step,
    Stimulus,
)
from openpts.vocabulary.workload import WORKLOADS
from openpts_practice.rows import FigureUnit, ProfileRow
from openpts_practice.rows.profiles import BENCHMARKS
from openpts_practice.rows.sustained import DATA_SHEET_FIGURES, DataSheetClaim, SustainedConditions
from openpts_practice.rows.sustained.results import HELD_INTERVALS, ClaimResult, Pair, claim_result, held_ns
from openpts_practice.rows.sustained.script import script as sustained_test
from openpts_practice.rows.sustained.script import standard_conditions, supported_on
from openpts_practice.rows.tables import MeasuredRow
from tests.support.interval_samples import interval_of, sample_of
from tests.support.player import Drive, Played

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
def test_the_same_rows_before_the_load_and_right_after_it(names, rows) -> None:
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
def test_the_load_ends_by_amount_or_by_time(iops, hours, ended_by) -> None:
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


RANDOM_WRITE = DATA_SHEET_FIGURES["random_write"]


def pieces(rates: list[float]) -> list[MeasuredInterval]:
    """Intervals of a second with so many writes each."""
    return [
        MeasuredInterval(
            index * NS_PER_S,
            interval_of(index, write=OperationSample(round(rate), round(rate) * 4096, 0, 0, 0, b"")),
        )
        for index, rate in enumerate(rates)
    ]


def sample(pattern: AccessPattern, size_bytes: int, read_pct: int, ios: int) -> Sample:
    one = OperationSample(ios, ios * size_bytes, NS_PER_S, 1, NS_PER_S, b"") if ios else NOTHING
    reads, writes = (one, NOTHING) if read_pct else (NOTHING, one)
    return sample_of(
        Step.of(Stimulus.of(pattern, size_bytes, read_pct, 1, 32, ActiveRange()), Duration(NS_PER_S)),
        read=reads,
        write=writes,
    )


def row(
    random_pct: int = 100,
    read_pct: int = 0,
    qd: int = 1,
    units: tuple[FigureUnit, ...] = (FigureUnit.IOPS,),
    size_bytes: int = 4096,
) -> ProfileRow:
    sizes = (BlockSize(size_bytes, 1),)
    return ProfileRow(
        name=f"QD{qd}",
        random_pct=random_pct,
        block_sizes=sizes,
        read_pct=read_pct,
        tc=1,
        qd=qd,
        pass_ns=NS_PER_S,
        units=units,
    )


def measured(of: ProfileRow, ios: int | None) -> MeasuredRow:
    """One pass of a second with so many I/Os, each of them 1 s / I/Os long; None: not measured."""
    if ios is None:
        return MeasuredRow(of, (), SetRule())
    pattern = AccessPattern.RANDOM if of.random_pct else AccessPattern.SEQUENTIAL
    return MeasuredRow(
        of, (sample(pattern, of.block_sizes[0].block_size_bytes, of.read_pct, ios),), SetRule()
    )


def pair(of: ProfileRow, fresh: int | None, sustained: int | None) -> Pair:
    return Pair("", measured(of, fresh), measured(of, sustained))


@pytest.mark.proves("HYP-SUS-02")
def test_the_ratio_is_that_of_the_talk() -> None:
    assert pair(row(), 500, 431).ratio_pct(FigureUnit.IOPS) == pytest.approx(86.2)


@pytest.mark.parametrize(("fresh", "sustained"), [(None, 1), (1, None), (0, 1)])
def test_without_both_runs_there_is_no_ratio(fresh, sustained) -> None:
    assert pair(row(), fresh, sustained).ratio_pct(FigureUnit.IOPS) is None


def test_a_slower_answer_is_a_loss_in_every_unit() -> None:
    """Half as many I/Os a second, each taking twice as long."""
    found = pair(row(), 1000, 500)
    assert [found.ratio_pct(unit) for unit in FigureUnit] == pytest.approx([50] * len(FigureUnit))


def test_a_claim_is_held_against_the_row_with_the_most_outstanding() -> None:
    pairs = [pair(row(qd=1), 100, 90), pair(row(qd=32), 5000, 4000), pair(row(read_pct=100, qd=64), 9, 9)]
    result = claim_result(DataSheetClaim("random_write", 5000), pairs, (), None)
    assert (result.name, result.fresh, result.sustained, result.missed) == ("QD32 Write", 5000, 4000, True)
    unmeasured = claim_result(DataSheetClaim("sequential_write", 10), pairs, (), None)
    assert (unmeasured.name, unmeasured.fresh, unmeasured.missed) == ("sequential write", None, False)


def test_iops_of_a_data_sheet_are_of_4_kib() -> None:
    pairs = [pair(row(size_bytes=524_288, qd=32), 700, 600)]
    assert claim_result(DataSheetClaim("random_write", 700), pairs, (), None).fresh is None


def test_only_a_load_of_the_claims_own_kind_has_kept_it() -> None:
    pairs = [pair(row(qd=32), 1000, 900)]
    load = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 4, 32, ActiveRange())
    reads = Stimulus.of(AccessPattern.RANDOM, 4096, 100, 4, 32, ActiveRange())
    course = pieces([1000.0] * 20)
    claim = DataSheetClaim("random_write", 900)
    assert claim_result(claim, pairs, course, load).held_ns == 20 * NS_PER_S
    assert claim_result(claim, pairs, course, reads).held_ns is None
    assert claim_result(claim, pairs, course, None).held_ns is None


@pytest.mark.parametrize(
    ("fresh", "sustained", "missed_fresh", "missed"),
    [
        (100.0, 95.0, False, False),  # the limit itself is kept
        (100.0, 94.9, False, True),
        (94.9, 96.0, True, False),
        (None, None, False, False),
    ],
)
def test_a_claim_is_missed_below_95_per_cent_of_it(fresh, sustained, missed_fresh, missed) -> None:
    result = ClaimResult("a row", RANDOM_WRITE, 100.0, fresh, sustained)
    assert (result.missed_fresh, result.missed) == (missed_fresh, missed)


def test_a_claim_holds_until_the_rate_falls() -> None:
    """1000 a second for a minute, then 100: the windows that reach beyond the minute are below 1000."""
    assert held_ns(pieces([1000.0] * 60 + [100.0] * 60), RANDOM_WRITE, 1000) == 60 * NS_PER_S


def test_a_single_dip_ends_nothing() -> None:
    rates = [1100.0] * 20 + [200.0] + [1100.0] * 20
    # ten in a row with the dip: 9 x 1100 + 200 = 1010 on average
    assert held_ns(pieces(rates), RANDOM_WRITE, 1000) == 41 * NS_PER_S
    assert held_ns(pieces(rates), RANDOM_WRITE, 1011) == 20 * NS_PER_S


def test_a_claim_that_was_never_kept() -> None:
    assert held_ns(pieces([500.0] * 30), RANDOM_WRITE, 1000) == 0
    assert held_ns([], RANDOM_WRITE, 1000) == 0


def test_a_load_shorter_than_the_window_is_judged_as_a_whole() -> None:
    rates = [1000.0, 900.0]
    assert len(rates) < HELD_INTERVALS
    assert held_ns(pieces(rates), RANDOM_WRITE, 950) == 2 * NS_PER_S
    assert held_ns(pieces(rates), RANDOM_WRITE, 951) == NS_PER_S
