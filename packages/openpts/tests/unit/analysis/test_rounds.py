"""Definition 2.1.24 against published windows, hand-worked edges and SciPy's least squares."""

import msgspec
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace as with_changes
from scipy import stats

from openpts.analysis import rounds as rounds_module
from openpts.analysis.rounds import complete_rounds, judge_window, measurement_window
from openpts.analysis.steady_state import judge, window_ending_at
from openpts.procedures.kit.steps import IOPS
from openpts.vocabulary import verdict as verdict_module
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, Duration, OperationWeights, SteadyFigure, Step
from openpts.vocabulary.verdict import TrackingVariable
from tests import DATA
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
def test_window_is_the_steady_round_and_the_four_before(complete, steady_round, rounds) -> None:
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
def test_verdicts_come_from_the_samples(values, range_ok, slope_ok, inside_band) -> None:
    rounds = complete_rounds(numbered([value * 10 for value in values]), POINTS)
    for verdict in judge_window(rounds, measurement_window(len(rounds), None), TRACKING):
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
    assert verdict.average == pytest.approx(100 * 131072 / 1e6)
    in_ms = TrackingVariable(AccessPattern.RANDOM, 4 * 1024, 0, SteadyFigure.MEAN_LATENCY)
    (verdict,) = judge_window(rounds, window, [in_ms])
    sample = rounds[0][in_ms.point]
    assert sample.mean_latency_ns is not None
    assert verdict.average == pytest.approx(sample.mean_latency_ns / 1e6)


WINDOWS = yaml.safe_load((DATA / "steady_state_windows.yaml").read_text())


@pytest.mark.proves("PTS-SS-01", "PTS-SS-02", "PTS-DEF-04")
@pytest.mark.parametrize("window", WINDOWS, ids=[window["name"] for window in WINDOWS])
def test_known_windows(window) -> None:
    report = judge(window["rounds"], window["values"])
    expected = window["expected"]
    assert {
        "average": report.average,
        "minimum": report.minimum,
        "maximum": report.maximum,
        "range": report.range,
        "range_pct_of_average": report.range_pct,
        "allowed_range": report.allowed_range,
        "fit_slope_per_round": report.slope,
        "fit_intercept_at_round_number_0": report.intercept,
        "slope_excursion": report.slope_excursion,
        "slope_excursion_pct_of_average": report.slope_excursion_pct,
        "allowed_slope_excursion": report.allowed_slope_excursion,
    } == pytest.approx(
        {
            name: expected[name]
            for name in (
                "average", "minimum", "maximum", "range", "range_pct_of_average", "allowed_range",
                "fit_slope_per_round", "fit_intercept_at_round_number_0", "slope_excursion",
                "slope_excursion_pct_of_average", "allowed_slope_excursion",
            )
        },
        rel=1e-6,
        abs=5e-5,  # the windows print four decimals
    )  # fmt: skip
    assert report.band == pytest.approx(tuple(expected["band_low_high"]))
    assert report.r == (
        None if expected["correlation_r"] is None else pytest.approx(expected["correlation_r"], abs=1e-5)
    )
    assert (report.range_ok, report.slope_ok, report.inside_band, report.steady) == (
        expected["range_ok"],
        expected["slope_ok"],
        expected["inside_10pct_band"],
        expected["steady"],
    )


def test_the_first_steady_window_of_a_series_is_found() -> None:
    (window,) = (window for window in WINDOWS if "series_from_round_1" in window)
    series = window["series_from_round_1"]
    steady = [x for x in range(5, len(series) + 1) if window_ending_at(series, x).steady]
    assert steady[0] == window["first_steady_round"]
    assert window_ending_at(series, steady[0]).rounds == tuple(window["rounds"])


@pytest.mark.proves("PTS-SS-01", "PTS-SS-02")
def test_the_window_printed_in_the_specification() -> None:
    # Plot 8-3 prints fit and limits but not the five values: any values on its line must give its limits.
    report = judge(range(1, 6), [-0.003 * x + 476.369 for x in range(1, 6)])
    assert f"{report.average:.1f}" == "476.4"
    assert f"{report.allowed_range:.1f}" == "95.3"
    assert f"{report.allowed_slope_excursion:.1f}" == "47.6"
    assert f"{report.slope_excursion:.1f}" == "0.0"
    assert f"{report.slope:.3f}*R + {report.intercept:.3f}" == "-0.003*R + 476.369"


@pytest.mark.proves("PTS-DEF-06", "PTS-SSV-06")
@given(values=st.lists(st.floats(1, 1e7), min_size=5, max_size=5), first=st.integers(1, 1000))
def test_the_fit_is_that_of_scipy(values, first) -> None:
    assume(max(values) - min(values) > 1e-6 * max(values))
    rounds = range(first, first + 5)
    report = judge(rounds, values)
    fit = stats.linregress(list(rounds), values)
    scale = max(values)
    assert report.slope == pytest.approx(fit.slope, rel=1e-6, abs=1e-9 * scale)
    assert report.intercept == pytest.approx(fit.intercept, rel=1e-6, abs=1e-6 * scale)
    assert report.r == pytest.approx(fit.rvalue, abs=1e-6)


@given(values=st.lists(st.floats(1, 1e7), min_size=5, max_size=5), factor=st.floats(1e-3, 1e3))
def test_the_verdict_does_not_depend_on_the_unit(values, factor) -> None:
    report = judge(range(1, 6), values)
    # A value within rounding of a limit may fall to either side.
    assume(abs(report.range_pct - 20) > 1e-6)
    assume(abs(report.slope_excursion_pct - 10) > 1e-6)
    assert judge(range(1, 6), [factor * value for value in values]).steady == report.steady


@pytest.mark.parametrize(("rounds", "values"), [([1, 2], [1.0]), ([1], [1.0]), ([], [])])
def test_a_window_needs_a_value_per_round(rounds, values) -> None:
    with pytest.raises(ValueError, match="values for"):
        judge(rounds, values)


@pytest.mark.parametrize("last_round", [4, 7])
def test_no_window_reaches_outside_the_series(last_round) -> None:
    with pytest.raises(ValueError, match="no window"):
        window_ending_at([1.0] * 6, last_round)
