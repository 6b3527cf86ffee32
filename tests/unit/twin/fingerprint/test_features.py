import math
from collections.abc import Mapping, Sequence
from statistics import fmean, variance

import pytest

from openpts.vocabulary.phase import Phase
from openpts_twin.fingerprint.features import FARTHEST_ALIKE, compared, figures_of
from openpts_twin.fingerprint.script import COLLECTING, PROBES, has_fallen
from tests.support.interval_samples import step_of

NAME = "time of read 4 KiB, QD 1"


def test_the_distance_is_in_standard_deviations_of_the_shrunk_spread() -> None:
    """As for a mean of repeats whose variance has a prior of four degrees of freedom."""
    own, others = [4.0, 4.02, 4.01], [4.05, 4.07]
    found = compared([{NAME: one} for one in own], [{NAME: one} for one in others]).differences[0]
    typical = compared([{NAME: 4.0}], [{NAME: 4.02}]).differences[0].distance
    prior = (0.02 / typical) ** 2 / 2
    pooled = (4 * prior + 2 * variance(own) + 1 * variance(others)) / (4 + 2 + 1)
    change = fmean(own) - fmean(others)
    assert found.ratio == pytest.approx(math.exp(change))
    assert found.distance == pytest.approx(abs(change) / math.sqrt(pooled * (1 / 3 + 1 / 2)))


def test_the_farthest_figure_decides_and_what_one_side_lacks_does_not() -> None:
    own, other = {"a": 0.0, "b": 1.0, "c": 3.0}, {"a": 0.001, "b": 2.0}
    found = compared([own], [other])
    assert not found.same
    assert [one.name for one in found.differences] == ["b", "a"]
    assert found.differences[1].distance < FARTHEST_ALIKE
    assert compared([own], [own]).same


def test_repeats_that_vary_more_find_less() -> None:
    quiet = compared([{NAME: 0.0}, {NAME: 0.001}], [{NAME: 0.03}, {NAME: 0.031}])
    restless = compared([{NAME: -0.1}, {NAME: 0.1}], [{NAME: -0.05}, {NAME: 0.15}])
    assert not quiet.same
    assert restless.same


def figures(probe: Sequence[Sequence[int]], fill: Sequence[Sequence[int]]) -> Mapping[str, float]:
    """Of loads and of a pass with I/Os that took so long in each second, and no random writes."""
    applied = {Phase.PROFILE: [step_of(probe)] * len(PROBES), Phase.CONDITIONING: [step_of(fill)]}
    return figures_of({**dict.fromkeys(Phase, ()), **applied}, 1)


def test_what_a_load_finds_left_of_the_one_before_is_no_part_of_its_time() -> None:
    found = figures([[900_000]] * 2 + [[80_000]] * 48, [[1]])
    assert math.exp(found[NAME]) == pytest.approx(80_000)


def test_a_pass_with_few_writes_a_second_has_the_rate_that_it_has() -> None:
    """21 or 22 writes a second: a median is one of them."""
    found = figures([[1]], [[1] * (21 + (second % 3 == 0)) for second in range(60)])
    assert math.exp(found["pass in sequence"]) == pytest.approx(4096 * (21 + 1 / 3))


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([100.0] * 20 + [30.0] * COLLECTING, True),
        ([100.0] * 20 + [30.0] * (COLLECTING - 1), False),
        # a cache that is full, before free blocks run out
        ([300.0] * 30 + [224.0] * 3 + [230.0] * COLLECTING, False),
        ([100.0, 30.0] * COLLECTING, False),
        ([100.0] * 2 + [30.0] * COLLECTING, False),
        ([], False),
    ],
)
def test_collection_began_where_the_rate_stays_low(rates: list[float], *, expected: bool) -> None:
    assert has_fallen(rates) is expected
