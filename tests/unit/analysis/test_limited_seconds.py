"""Which seconds are marked as the host's, held against sums over every single millisecond."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openpts.analysis.limited_seconds import RULES, HostLimit, limits_of, marks_of, rule_of
from openpts.record.health import TelemetrySeries

S = 10**9
MS = 10**6
SECONDS = [(n * S, (n + 1) * S) for n in range(10)]


def series(*points: tuple[float, float]) -> TelemetrySeries:
    return TelemetrySeries(*zip(*((round(at_s * S), value) for at_s, value in points), strict=True))


def marked(name: str, *points: tuple[float, float], polling: bool = False) -> list[bool | None]:
    found = marks_of({name: series(*points)}, SECONDS, S, polling=polling)
    return [None if marks is None else name in marks for marks in found]


@pytest.mark.parametrize("name", [name.replace("path_", "path_7_") for name in RULES])
def test_a_value_marks_from_its_limit_on_and_nothing_below(name: str) -> None:
    rule = rule_of(name)
    assert rule is not None
    assert marked(name, (0, 0), (10, rule.least_pct)) == [True] * 10
    assert marked(name, (0, 0), (10, rule.least_pct - 0.01)) == [False] * 10
    assert limits_of(frozenset((name,))) == (rule.limit,)


def test_each_value_is_of_the_time_since_the_point_before() -> None:
    # quiet for 4.5 s, then a wait of 50 %: the fifth second has 25 % of it
    assert marked("engine_wait_pct", (0, 0), (4.5, 0), (10, 50)) == [False] * 4 + [True] * 6
    assert marked("engine_wait_pct", (0, 0), (4.9, 0), (10, 50)) == [False] * 5 + [True] * 5


def test_a_second_that_was_not_sampled_is_not_judged() -> None:
    assert marked("engine_wait_pct", (3, 0), (6.5, 0)) == [None, None] + [False] * 5 + [None] * 3
    assert marked("temperature_c", (0, 99), (10, 99)) == [None] * 10


def test_behind_a_gap_a_value_is_of_one_period() -> None:
    found = marks_of(
        {"engine_wait_pct": series((0, 90), (1, 90), (100, 90))},
        [(n * S, (n + 1) * S) for n in (0, 1, 50, 98, 99)],
        S,
        polling=False,
    )
    assert [marks is not None for marks in found] == [True, False, False, False, True]


def test_what_counts_when_it_has_ended_belongs_to_the_time_before() -> None:
    # a wait of 4.2 s that ended in the seventh second; what the samples before it showed was 0
    points = [(float(n), 0.0) for n in range(7)] + [(7.0, 420.0), (8.0, 0.0), (10.0, 0.0)]
    assert marked("engine_wait_pct", *points) == [False, False, True, True, True, True, True] + [False] * 3
    # 20 % of the third second come from it
    assert marked("cpu_quota_pct", *points) == [False] * 6 + [True] + [False] * 3


def test_threads_that_poll_are_always_busy() -> None:
    for name in ("engine_awake_pct", "cpu_engine_busy_pct", "cpu_all_busy_pct"):
        assert marked(name, (0, 0), (10, 100)) == [True] * 10
        assert marked(name, (0, 0), (10, 100), polling=True) == [None] * 10
    assert marked("engine_wait_pct", (0, 0), (10, 100), polling=True) == [True] * 10


def test_several_parts_of_the_host_can_be_the_limit_at_once() -> None:
    sampled = {
        "engine_wait_pct": series((0, 0), (1, 90), (2, 0), (10, 0)),
        "path_0_use_pct": series((0, 0), (1, 99), (10, 0)),
        "path_1_use_pct": series((0, 0), (10, 10)),
    }
    first, second, *_ = marks_of(sampled, SECONDS, S, polling=False)
    assert first == {"engine_wait_pct", "path_0_use_pct"}
    assert limits_of(first or frozenset()) == (HostLimit.PROCESSOR, HostLimit.LINK)
    assert second == frozenset()


@given(
    gaps_ms=st.lists(st.integers(100, 3000), min_size=1, max_size=20),
    values=st.lists(st.floats(0, 99), min_size=20, max_size=20),
    begin_ms=st.integers(0, 5000),
)
@settings(max_examples=60, deadline=None)
def test_the_mean_of_a_second_is_that_of_its_milliseconds(
    gaps_ms: list[int], values: list[float], begin_ms: int
) -> None:
    of_ms: dict[int, float] = {}
    points, at_ms = [(0, 0.0)], 0
    for gap_ms, value in zip(gaps_ms, values, strict=False):
        of_ms |= dict.fromkeys(range(at_ms, at_ms + gap_ms), value)
        at_ms += gap_ms
        points.append((at_ms, value))
    sampled = TelemetrySeries(*zip(*((at * MS, value) for at, value in points), strict=True))
    span = (begin_ms * MS, (begin_ms + 1000) * MS)
    (found,) = marks_of({"path_0_use_pct": sampled}, [span], S, polling=False)
    inside = [of_ms[ms] for ms in range(begin_ms, begin_ms + 1000) if ms in of_ms]
    if not inside:
        assert found is None
    elif abs((mean := sum(inside) / len(inside)) - 90) > 1e-6:
        assert found is not None
        assert bool(found) is (mean > 90)
