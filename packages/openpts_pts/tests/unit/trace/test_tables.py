"""The tables against themselves: what can be counted in them must come out right."""

from collections import Counter

import pytest

from tests.support.table import WORKLOADS, load

TCS = QDS = (32, 16, 8, 6, 4, 2, 1)


@pytest.mark.parametrize("name", ["cbw", "dirth"])
def test_operating_points_are_all_combinations_from_high_to_low(name) -> None:
    table = load(name)["operating_points"]
    points = [tuple(point) for points in table.values() for point in points]
    assert Counter(points) == Counter((tc, qd) for tc in TCS for qd in QDS)
    assert len(points) == 49
    assert all(tc * qd == toio for toio, points in table.items() for tc, qd in points)
    assert points == sorted(points, key=lambda point: (-point[0] * point[1], -point[0]))


def test_the_composite_workload_is_a_hundred_per_cent() -> None:
    composite = WORKLOADS["composite"]
    assert len(composite["block_kib_pct"]) == 12
    assert sum(composite["block_kib_pct"].values()) == 100
    assert sum(zone["accesses_pct"] for zone in composite["zones"]) == 100
    assert sum(zone["of_range_pct"] for zone in composite["zones"]) == 100


def test_a_round_has_as_many_elements_as_the_specification_says() -> None:
    for name, elements in (("iops", 56), ("tp", 2), ("lat", 9)):
        *_, loop = (entry["steps"][0] for entry in load(name)["cycle"] if "until" in entry)
        outer, inner = (
            next(iter(loop.get(key, {"": [None]}).values())) for key in ("outer_loop", "inner_loop")
        )
        assert len(outer) * len(inner) == elements
