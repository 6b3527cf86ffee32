"""Runs that are no independent repeats: sets that share no session, and runs that drift."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from openpts.analysis.ratio import ErrorRule, ratio_of
from openpts.analysis.sessions import Made, are_apart, drift_chance


def made(*days: int, host: str = "a") -> list[Made]:
    return [Made(host, 86_400.0 * day) for day in days]


def test_sides_are_apart_unless_they_were_made_in_turn_on_one_host() -> None:
    assert are_apart(made(1, 2, 3), made(4, 5, 6))
    assert are_apart(made(4), made(1, 2, 3))
    assert not are_apart(made(1, 3, 5), made(2, 4, 6))
    assert not are_apart(made(1, 3), made(2))
    assert are_apart(made(1, 3, 5), made(2, 4, 6, host="b"))
    assert not are_apart([*made(1), *made(3, host="b")], made(2))
    assert not are_apart([None, None], made(1)), "simulated drives know no session"


def of_sessions(*sessions: int) -> list[Made]:
    """Runs that follow each other by minutes, in sessions of one boot each."""
    return [Made("a", 60.0 * (10 * each + place), f"boot {each}") for place, each in enumerate(sessions)]


SHARED = [
    ((0, 0, 1), (1, 1, 1)),
    ((0, 0, 0, 0, 1), (1, 1, 1)),
    ((0, 0, 0, 0, 0, 0, 1), (1, 1, 1)),
    ((0, 1, 2), (2, 2, 2)),
    ((0, 1, 1), (1, 1, 1)),
    ((0, 0, 1), (0, 1, 1)),
    ((0, 1, 2), (0, 1, 2)),
    ((0, 0, 1, 1), (0, 1)),
]


@pytest.mark.parametrize(("base", "candidate"), SHARED)
def test_false_alarms_stay_as_stated_where_a_session_has_runs_of_both_sides(
    base: tuple[int, ...], candidate: tuple[int, ...]
) -> None:
    """Each session shifts its runs by as much as they vary."""
    draw, count, error = np.random.default_rng(5), 200_000, ErrorRule(most_runs=1).alarm_share
    shifts = draw.normal(size=(count, 3))
    sides = [draw.normal(size=(count, len(side))) + shifts[:, side] for side in (base, candidate)]
    apart = are_apart(of_sessions(*base), of_sessions(*candidate))
    found = ratio_of([1.0 + each for each in base], [1.0 + each for each in candidate], apart=apart)
    assert found is not None
    widening = found.high(error) ** (1 / found.spread) / found.value ** (1 / found.spread)
    squares = sum(side.var(axis=1, ddof=1) * (side.shape[1] - 1) for side in sides)
    spread = np.sqrt(squares / (len(base) + len(candidate) - 2))
    fired = sides[1].mean(axis=1) - sides[0].mean(axis=1) + np.log(widening) * spread < 0
    assert stats.binomtest(int(fired.sum()), count).proportion_ci(0.999).low <= error


def test_a_session_ends_with_a_boot_or_a_night() -> None:
    hour = 3600.0
    base = [Made("a", hour * at, "x") for at in (0, 1, 2, 26)]
    candidate = [Made("a", hour * at, "x") for at in (25, 27, 28)]
    assert are_apart(base, candidate), "one run of the base is in the candidate's session"
    assert not are_apart([Made("a", hour * at, "x") for at in (22, 23, 24, 26)], candidate)
    assert are_apart([Made("a", hour * at, "x" if at == 26 else "y") for at in (22, 23, 24, 26)], candidate)
    assert not are_apart(base, [Made("a", hour * at, "x") for at in (0.5, 1.5, 25)])


def test_the_chance_of_an_order_is_that_of_all_orders() -> None:
    assert drift_chance([1.0, 2.0]) == drift_chance([3.0, 3.0, 3.0]) == 1
    assert drift_chance([1.0, 2.0, 3.0]) == pytest.approx(2 / 6)
    assert drift_chance([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 120)
    chances = sorted(drift_chance(order) for order in permutations([1.0, 2.5, 3.1, 4.7, 9.0]))
    assert all(share >= (place + 1) / 120 - 1e-9 for place, share in enumerate(chances))


def test_of_many_runs_it_is_nearly_normal() -> None:
    draws = np.random.default_rng(3).normal(size=(4000, 20))
    chances = [drift_chance(list(one)) for one in draws]
    assert stats.kstest(chances, "uniform").statistic < 0.03
    assert drift_chance(list(np.linspace(1, 2, 20))) < 1e-4


def with_noise(law: str, count: int) -> np.ndarray:
    """Six runs one after the other, ``count`` times."""
    draw = np.random.default_rng(11)
    values = draw.normal(size=(count, 6))
    if law == "shift":
        values += np.repeat(draw.normal(size=(count, 2)), 3, axis=1)
    elif law != "independent":
        for run in range(1, 6):
            values[:, run] = float(law) * values[:, run - 1] + np.sqrt(1 - float(law) ** 2) * values[:, run]
    return values


@pytest.mark.parametrize("law", ["independent", "0.5", "0.8", "shift"])
@pytest.mark.parametrize("in_turn", [False, True])
def test_false_alarms_stay_as_stated_whatever_runs_share(law: str, *, in_turn: bool) -> None:
    """A candidate that is as good as the baseline, by t as SciPy has it; AR(1) of 0.5 and 0.8."""
    if in_turn and law == "shift":
        return  # both sides have it alike: it is in no difference
    count, error = 200_000, ErrorRule(most_runs=1).alarm_share
    values = with_noise(law, count)
    sides = (values[:, ::2], values[:, 1::2]) if in_turn else (values[:, :3], values[:, 3:])
    found = ratio_of([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], apart=not in_turn)
    assert found is not None
    widening = found.high(error) ** (1 / found.spread)  # what a spread of 1 reaches
    spread = np.sqrt((sides[0].var(axis=1, ddof=1) + sides[1].var(axis=1, ddof=1)) / 2)
    fired = sides[1].mean(axis=1) - sides[0].mean(axis=1) + np.log(widening) * spread < 0
    sure = stats.binomtest(int(fired.sum()), count).proportion_ci(0.999)
    assert sure.low <= error
