"""The line of every half minute belongs to the step that it names."""

from openpts.cli import run_display
from openpts.cli.run_display import PlainLog
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration
from tests.unit.cli.told_run import STARTED, Clock, begun, ended, ticked

STEP_S = 30


def step(tc: int, qd: int) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, tc, qd, ActiveRange())
    return Step.of(stimulus, Duration.seconds(STEP_S))


def test_steps_of_half_a_minute_have_their_own_rate_and_demand_each(monkeypatch) -> None:
    clock = Clock()
    monkeypatch.setattr(run_display, "time", clock)
    lines: list[str] = []
    log = PlainLog(lines.append)
    log.on_event(STARTED)
    steps = (step(1, 1), step(1, 32), step(1, 1))
    log.on_event(begun(1, *steps))
    rates = (100, 7_000, 100)
    ios = 0
    for number, (one, rate) in enumerate(zip(steps, rates, strict=True)):
        for second in range(STEP_S):
            told = {"step_elapsed_ns": second * NS_PER_S, "ios": ios, "bytes": ios * 4096}
            log.on_event(ticked(1, number, one, **told))
            ios += rate
            clock.now_s += 1
        log.on_event(ended(1, number, one))
    said = [line.partition("step ")[2].partition(";")[0] for line in lines if "IOPS, " in line]
    assert said[:2] == [
        "2 of 3, RND 4 KiB 100/0, TC 1 QD 32: 7,000 IOPS, 28.7 MB/s",
        "3 of 3, RND 4 KiB 100/0, TC 1 QD 1: 100 IOPS, 0.4 MB/s",
    ]


def test_steps_too_short_for_a_rate_are_told_without_one(monkeypatch) -> None:
    clock = Clock()
    monkeypatch.setattr(run_display, "time", clock)
    lines: list[str] = []
    log = PlainLog(lines.append)
    short = step(1, 1)
    log.on_event(STARTED)
    log.on_event(begun(1, *(short,) * 400))
    for number in range(400):
        log.on_event(ticked(1, number, short, step_elapsed_ns=0))
        clock.now_s += 0.25
        log.on_event(ended(1, number, short))
    told = [line for line in lines if ", step " in line]
    assert len(told) == 2
    assert not any("IOPS" in line for line in told)
