"""The tool finds the round that it must find, in drives whose every round is known beforehand."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from openpts.record.reader import read_run
from openpts.report.run_part import summarize
from openpts.vocabulary.sample import Phase
from tests.support.one_point import STEPS_BEFORE_ROUNDS, run_one_point
from tests.support.oracle_presets import write_oracle


def decay(amount: float, factor: float, rounds: int = 60) -> list[float]:
    """What a drive does that comes to rest: 100 + B q^(k-1) in round k."""
    return [100 + amount * factor**k for k in range(rounds)]


def ramp(fall_pct: float, rounds: int = 26) -> list[float]:
    """A drive that loses the same IOPS in each round."""
    return [100 - fall_pct * k for k in range(rounds)]


def alternation(pct: float, rounds: int = 26) -> list[float]:
    """A drive that is too fast in one round and too slow in the next."""
    return [100 + pct * (-1) ** k for k in range(rounds)]


def judged(folder: Path, rates: Sequence[float], max_rounds: int = 25) -> dict[str, Any]:
    """The summary of a whole run on a drive with these IOPS in its rounds."""
    preset = write_oracle(folder, rates, skip=STEPS_BEFORE_ROUNDS)
    finished = run_one_point(preset, folder / "run", max_rounds=max_rounds)
    summary = summarize(read_run(finished.folder))
    assert summary["steady_state"]["round"] == finished.cycles[0].outcome.steady_round
    return summary


def mean(rates: Sequence[float]) -> float:
    return float(sum(map(Fraction, rates)) / len(rates))


# The first round at which definition 2.1.24 is met, by hand; to the window's mean in the second place.
@pytest.mark.proves("PTS-GEN-06", "PTS-SS-04")
@pytest.mark.parametrize(
    ("rates", "steady_round", "average"),
    [
        pytest.param(decay(200, 0.5), 10, 102.42, id="B=200 q=.5"),
        pytest.param(decay(200, 0.7), 13, 106.39, id="B=200 q=.7"),
        pytest.param(decay(200, 0.8), 16, 111.55, id="B=200 q=.8"),
        pytest.param(decay(400, 0.8), 19, 111.83, id="B=400 q=.8"),
        pytest.param(ramp(1.5), 5, 97.0, id="a slow ramp never settles, and yet is steady"),
        pytest.param(ramp(2.380), 5, 95.24, id="a ramp just below 1/42"),
        pytest.param(alternation(9.9), 5, 101.98, id="alternating by 9.9 %"),
    ],
)
def test_the_first_steady_round_is_found(
    tmp_path: Path, rates: list[float], steady_round: int, average: float
) -> None:
    steady = judged(tmp_path, rates)["steady_state"]
    assert (steady["reached"], steady["round"]) == (True, steady_round)
    assert steady["window"] == list(range(steady_round - 4, steady_round + 1))
    window = rates[steady_round - 5 : steady_round]
    (variable,) = steady["variables"]
    assert variable["average"] == pytest.approx(mean(window), rel=1e-8)
    assert variable["average"] == pytest.approx(average, abs=0.005)
    # four tenths of the rise and fall of the fit over the window are its slope
    assert variable["range_pct"] == pytest.approx(100 * (max(window) - min(window)) / mean(window), rel=1e-6)


@pytest.mark.parametrize(
    ("rates", "average"),
    [
        pytest.param(decay(900, 0.9), mean(decay(900, 0.9)[20:25]), id="B=900 q=.9 needs 35 rounds"),
        pytest.param(ramp(2.382), None, id="a ramp just above 1/42"),
        pytest.param(alternation(10.5), None, id="alternating by 10.5 %"),
    ],
)
def test_what_is_not_steady_is_not_reached_in_25_rounds(
    tmp_path: Path, rates: list[float], average: float | None
) -> None:
    summary = judged(tmp_path, rates)
    steady = summary["steady_state"]
    assert (steady["reached"], steady["round"]) == (False, None)
    assert summary["complete_rounds"] == 25
    assert steady["window"] == [21, 22, 23, 24, 25]
    (variable,) = steady["variables"]
    assert not variable["steady"]
    assert variable["average"] == pytest.approx(average or mean(rates[20:25]), rel=1e-8)


def test_more_rounds_find_what_25_could_not(tmp_path: Path) -> None:
    steady = judged(tmp_path, decay(900, 0.9), max_rounds=40)["steady_state"]
    assert steady["round"] == 35
    assert steady["variables"][0]["average"] == pytest.approx(131.25, abs=0.005)


def test_the_slope_of_a_ramp_is_told(tmp_path: Path) -> None:
    (variable,) = judged(tmp_path, ramp(1.5))["steady_state"]["variables"]
    assert variable["slope"] == pytest.approx(-1.5, rel=1e-6)
    assert variable["slope_excursion_pct"] == pytest.approx(100 * 6 / 97, rel=1e-6)
    assert variable["r"] == pytest.approx(-1, abs=1e-9)


def test_the_rounds_iops_are_those_of_the_script(tmp_path: Path) -> None:
    rates = [4321.5, 250.25, 1000, 999, 1001, 1000, 1000, 1000]
    preset = write_oracle(tmp_path, rates, skip=STEPS_BEFORE_ROUNDS)
    finished = run_one_point(preset, tmp_path / "run", max_rounds=8, step_s=20)
    steps = read_run(finished.folder).phase(Phase.ROUND)
    measured = [step.sample.iops for step in steps]
    assert measured == pytest.approx(rates[: len(measured)], rel=1e-8)
    assert finished.cycles[0].outcome.steady_round == 7
