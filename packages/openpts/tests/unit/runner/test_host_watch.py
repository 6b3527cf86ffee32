"""A run's seconds, judged while it goes on, come out as they do from its record."""

from msgspec.structs import replace

from openpts.analysis.host_limits import HostLimit
from openpts.record.health import TelemetryPoint
from openpts.runner.events import HostLimited
from openpts.runner.telemetry import HostWatch
from openpts.vocabulary.sample import Phase, Sample, StepPlace
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from tests.support.scripted_engine import complete

S = 10**9
STEP = Step.of(Stimulus.of(AccessPattern.RANDOM, 4096, 100, 1, 1, ActiveRange()), Duration.seconds(5))


def place(number: int) -> StepPlace:
    return StepPlace(1, Phase.ROUND, 1, number)


def step(begin_s: int, seconds: int = 5) -> Sample:
    return replace(complete(STEP), started_ns=begin_s * S, elapsed_ns=seconds * S)


def waits(*points: tuple[int, float]) -> list[TelemetryPoint]:
    return [TelemetryPoint(at_s * S, "engine_wait_pct", value) for at_s, value in points]


def test_a_step_is_judged_when_what_was_sampled_reaches_beyond_it() -> None:
    watch = HostWatch(1.0, polling=False)
    points = waits((0, 0), (12, 0), (13, 80), (15, 80))
    assert list(watch.follows([(place(0), step(10))], points, 16 * S, ended=False)) == []
    assert list(watch.follows((), (), 17 * S, ended=False)) == [
        HostLimited(
            place(0), {HostLimit.PROCESSOR: 3 * S}, 5 * S, (HostLimit.PROCESSOR,), ("engine_wait_pct",)
        )
    ]
    assert list(watch.follows((), (), 99 * S, ended=False)) == []


def test_a_value_that_has_not_changed_since_holds_and_a_limit_is_new_once() -> None:
    watch = HostWatch(1.0, polling=False)
    steps = [(place(number), step(5 * number)) for number in range(3)]
    found = list(watch.follows(steps, waits((0, 50), (1, 50)), 30 * S, ended=False))
    assert [one.limited_ns for one in found] == [{HostLimit.PROCESSOR: 5 * S}] * 3
    assert [one.new for one in found] == [(HostLimit.PROCESSOR,), (), ()]


def test_the_last_step_is_judged_at_the_end_and_idle_ones_never() -> None:
    watch = HostWatch(1.0, polling=False)
    idle = replace(step(5), step=Step((), Duration.seconds(5)))
    steps, points = [(place(0), step(0)), (place(1), idle)], waits((0, 0), (2, 0), (3, 90), (5, 90))
    (found,) = watch.follows(steps, points, 5 * S, ended=True)
    assert found.limited_ns == {HostLimit.PROCESSOR: 3 * S}


def test_a_quiet_host_says_nothing() -> None:
    watch = HostWatch(1.0, polling=False)
    points = [TelemetryPoint(S, "temperature_c", 90.0), *waits((0, 3), (9, 3))]
    assert list(watch.follows([(place(0), step(0))], points, 9 * S, ended=False)) == []
