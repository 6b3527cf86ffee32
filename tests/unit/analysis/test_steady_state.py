"""Definition 2.1.24 against published windows, hand-worked edges and SciPy's least squares."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from openpts.analysis.steady_state import judge, window_ending_at

WINDOWS = yaml.safe_load((Path(__file__).parents[2] / "data/steady_state_windows.yaml").read_text())


@pytest.mark.proves("PTS-SS-01", "PTS-SS-02", "PTS-DEF-04")
@pytest.mark.parametrize("window", WINDOWS, ids=[window["name"] for window in WINDOWS])
def test_known_windows(window: dict[str, Any]) -> None:
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
                "average",
                "minimum",
                "maximum",
                "range",
                "range_pct_of_average",
                "allowed_range",
                "fit_slope_per_round",
                "fit_intercept_at_round_number_0",
                "slope_excursion",
                "slope_excursion_pct_of_average",
                "allowed_slope_excursion",
            )
        },
        rel=1e-6,
        abs=5e-5,  # the windows print four decimals
    )
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
def test_the_fit_is_that_of_scipy(values: list[float], first: int) -> None:
    assume(max(values) - min(values) > 1e-6 * max(values))
    rounds = range(first, first + 5)
    report = judge(rounds, values)
    fit = stats.linregress(list(rounds), values)
    scale = max(values)
    assert report.slope == pytest.approx(fit.slope, rel=1e-6, abs=1e-9 * scale)
    assert report.intercept == pytest.approx(fit.intercept, rel=1e-6, abs=1e-6 * scale)
    assert report.r == pytest.approx(fit.rvalue, abs=1e-6)


@given(values=st.lists(st.floats(1, 1e7), min_size=5, max_size=5), factor=st.floats(1e-3, 1e3))
def test_the_verdict_does_not_depend_on_the_unit(values: list[float], factor: float) -> None:
    report = judge(range(1, 6), values)
    # A value within rounding of a limit may fall to either side.
    assume(abs(report.range_pct - 20) > 1e-6)
    assume(abs(report.slope_excursion_pct - 10) > 1e-6)
    assert judge(range(1, 6), [factor * value for value in values]).steady == report.steady


@pytest.mark.parametrize(("rounds", "values"), [([1, 2], [1.0]), ([1], [1.0]), ([], [])])
def test_a_window_needs_a_value_per_round(rounds: list[int], values: list[float]) -> None:
    with pytest.raises(ValueError, match="values for"):
        judge(rounds, values)


@pytest.mark.parametrize("last_round", [4, 7])
def test_no_window_reaches_outside_the_series(last_round: int) -> None:
    with pytest.raises(ValueError, match="no window"):
        window_ending_at([1.0] * 6, last_round)
