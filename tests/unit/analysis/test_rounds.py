import msgspec
import pytest
from msgspec.structs import replace as with_changes

from openpts.analysis import rounds as rounds_module
from openpts.analysis.rounds import complete_rounds, judge_window, measurement_window
from openpts.procedures.kit.steps import IOPS
from openpts.vocabulary import verdict as verdict_module
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, OperationWeights, Step
from openpts.vocabulary.stop import Duration, SteadyFigure
from openpts.vocabulary.verdict import TrackingVariable
from tests.support.synthetic_run import BLOCK_SIZES, READ_PCTS, TRACKING, step_sample

POINTS = tuple(
    verdict_module.RoundPoint(AccessPattern.RANDOM, size, read) for read in READ_PCTS for size in BLOCK_SIZES
)


def whole_round(iops: float) -> list[Sample]:
    return [step_sample(point.block_size_bytes, point.read_pct, iops, 60) for point in POINTS]


def numbered(values: list[float]) -> list[tuple[int, Sample]]:
    return [(number, sample) for number, iops in enumerate(values, start=1) for sample in whole_round(iops)]


def test_a_round_counts_only_when_all_of_its_steps_are_complete() -> None:
    samples = numbered([100, 100])
    number, last = samples[-1]
    samples[-1] = number, with_changes(last, state=StepState.INTERRUPTED)
    assert len(complete_rounds(samples, POINTS)) == 1
    assert len(complete_rounds(samples[:-1], POINTS)) == 1
    assert len(complete_rounds(numbered([100, 100]), POINTS)) == 2


def test_nothing_behind_an_incomplete_round_counts() -> None:
    samples = [(number, sample) for number, sample in numbered([100] * 6) if number != 3]
    assert len(complete_rounds(samples, POINTS)) == 2


def test_an_idle_gap_and_an_odd_mix_are_no_test_points() -> None:
    gap = with_changes(step_sample(4096, 0, 100, 60), step=Step.of(None, Duration.seconds(60)))
    (plain,) = (
        sample for _, sample in numbered([100]) if rounds_module.test_point(sample.step.stimulus) == POINTS[8]
    )
    stimulus = plain.step.stimulus
    assert stimulus is not None
    # 949 of 999 is 94.99 % of reads: near the test point of 95 %, but another stimulus.
    near = msgspec.structs.replace(stimulus, operations=OperationWeights(read=949, write=50))
    assert rounds_module.test_point(gap.step.stimulus) is None
    assert rounds_module.test_point(near) is None
    others = [(1, gap), (1, with_changes(plain, step=Step.of(near, Duration.seconds(60))))]
    whole = numbered([100])
    assert complete_rounds([*others, *whole, *others], POINTS) == complete_rounds(whole, POINTS)


def test_no_samples_are_no_rounds() -> None:
    assert complete_rounds([], POINTS) == ()


@pytest.mark.proves("PTS-GEN-06", "PTS-DEF-05")
@pytest.mark.parametrize(
    ("complete", "steady_round", "rounds"),
    [
        (10, 8, (4, 5, 6, 7, 8)),
        (10, None, (6, 7, 8, 9, 10)),
        (5, 5, (1, 2, 3, 4, 5)),
        (2, None, (1, 2)),
        (0, None, ()),
        (6, 9, (2, 3, 4, 5, 6)),  # an outcome beyond the record does not count
    ],
)
def test_window_is_the_steady_round_and_the_four_before(
    complete: int, steady_round: int | None, rounds: tuple[int, ...]
) -> None:
    window = measurement_window(complete, steady_round)
    assert window.rounds == rounds
    assert window.is_full is (len(rounds) == 5)


# The steady-state rule at its edges: values of rounds 1 to 5, then range_ok, slope_ok, inside_band.
EDGES = [
    ([90, 110, 100, 110, 90], True, True, True),
    ([95, 97.5, 100, 102.5, 105], True, True, True),
    ([94, 97, 100, 103, 106], True, False, True),
    ([100, 125, 100, 100, 100], False, True, False),
    ([100, 100, 115, 100, 100], True, True, False),
    ([100, 100, 100, 100, 100], True, True, True),
]


@pytest.mark.proves("PTS-SS-04")
@pytest.mark.parametrize(("values", "range_ok", "slope_ok", "inside_band"), EDGES)
def test_verdicts_come_from_the_samples(
    values: list[float], range_ok: bool, slope_ok: bool, inside_band: bool
) -> None:
    rounds = complete_rounds(numbered([value * 10 for value in values]), POINTS)
    for verdict in judge_window(rounds, measurement_window(len(rounds), None), TRACKING):
        assert verdict is not None
        assert verdict.values == pytest.approx([value * 10 for value in values])
        assert (verdict.range_ok, verdict.slope_ok, verdict.inside_band) == (range_ok, slope_ok, inside_band)


def test_too_few_rounds_are_not_judged() -> None:
    rounds = complete_rounds(numbered([100] * 4), POINTS)
    assert judge_window(rounds, measurement_window(4, None), TRACKING) == (None, None, None)


def test_a_variable_that_was_not_measured_is_not_judged() -> None:
    missing = TrackingVariable(AccessPattern.SEQUENTIAL, 4096, 0)
    rounds = complete_rounds(numbered([100] * 5), POINTS)
    assert judge_window(rounds, measurement_window(5, None), [missing]) == (None,)
    assert IOPS.of_rounds(rounds, missing.point) == ()


def test_a_variable_is_judged_by_its_own_figure() -> None:
    rounds = complete_rounds(numbered([100] * 5), POINTS)
    window = measurement_window(5, None)
    in_mb_per_s = TrackingVariable(AccessPattern.RANDOM, 128 * 1024, 0, SteadyFigure.THROUGHPUT)
    (verdict,) = judge_window(rounds, window, [in_mb_per_s])
    assert verdict is not None
    assert verdict.average == pytest.approx(100 * 131072 / 1e6)
    in_ms = TrackingVariable(AccessPattern.RANDOM, 4 * 1024, 0, SteadyFigure.MEAN_LATENCY)
    (verdict,) = judge_window(rounds, window, [in_ms])
    assert verdict is not None
    sample = rounds[0][in_ms.point]
    assert sample.mean_latency_ns is not None
    assert verdict.average == pytest.approx(sample.mean_latency_ns / 1e6)
