"""Limits against samples whose every I/O is given."""

from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from openpts.vocabulary.limit import JudgedLimit, Judgement, worst
from openpts.vocabulary.sample import HostStall, Sample, StepState
from openpts_fio.workload.results import judge_limit
from openpts_fio.workload.suite import Limit, LimitedFigure, LimitedOperation
from tests.support.interval_samples import step_of

PASS, FAIL, NO_VERDICT = Judgement.PASS, Judgement.FAIL, Judgement.NO_VERDICT
MS = 1_000_000
# two seconds of 100 writes of 4 KiB each: one of them takes 5 ms, one 20 ms, the others 1 ms
SAMPLE = step_of([[MS] * 99 + [5 * MS], [MS] * 99 + [20 * MS]])


def limit(figure: LimitedFigure, value: float, operation: str = "write", percentile: float = 0) -> Limit:
    return Limit(LimitedOperation(operation), figure, value, percentile)


@pytest.mark.parametrize(
    ("figure", "value", "percentile", "judgement"),
    [
        (LimitedFigure.IOPS, 100, 0, PASS),
        (LimitedFigure.IOPS, 100.1, 0, FAIL),
        (LimitedFigure.THROUGHPUT, 409_600, 0, PASS),
        (LimitedFigure.THROUGHPUT, 409_601, 0, FAIL),
        (LimitedFigure.MEAN_LATENCY, 1.115 * MS, 0, PASS),
        (LimitedFigure.MEAN_LATENCY, 1.114 * MS, 0, FAIL),
        (LimitedFigure.MAX_LATENCY, 20 * MS, 0, PASS),
        (LimitedFigure.MAX_LATENCY, 20 * MS - 1, 0, FAIL),
        (LimitedFigure.PERCENTILE, 1.01 * MS, 99, PASS),
        (LimitedFigure.PERCENTILE, 0.99 * MS, 99, FAIL),
        (LimitedFigure.PERCENTILE, 1 * MS, 99.9, NO_VERDICT),
    ],
)
def test_figures(figure: LimitedFigure, value: float, percentile: float, judgement: Judgement) -> None:
    assert judge_limit(limit(figure, value, percentile=percentile), "load", [SAMPLE]).judgement is judgement


def test_steps_of_a_measurement_count_together() -> None:
    quick, slow = step_of([[MS] * 300]), step_of([[MS] * 100])
    found = judge_limit(limit(LimitedFigure.IOPS, 200), "load", [quick, slow])
    assert (found.value, found.judgement) == (200, PASS)


@pytest.mark.parametrize(
    ("samples", "figure", "operation", "reason"),
    [
        ([], LimitedFigure.IOPS, "write", "not measured"),
        (
            [structs.replace(SAMPLE, state=StepState.INTERRUPTED)],
            LimitedFigure.IOPS,
            "write",
            "the measurement did not come to its end",
        ),
        (
            [structs.replace(SAMPLE, standstills=(HostStall(0, 10),))],
            LimitedFigure.MAX_LATENCY,
            "write",
            "openpts itself stood still while it was measured",
        ),
        ([SAMPLE], LimitedFigure.MAX_LATENCY, "read", "no read was measured"),
        ([SAMPLE], LimitedFigure.IOPS, "read", "the workload issues no reads"),
    ],
)
def test_what_can_not_be_judged(
    samples: list[Sample], figure: LimitedFigure, operation: str, reason: str
) -> None:
    found = judge_limit(limit(figure, 1, operation), "load", samples)
    assert (found.judgement, found.reason, found.value) == (NO_VERDICT, reason, None)


def test_a_rate_of_nothing_is_reached_by_nothing() -> None:
    assert judge_limit(limit(LimitedFigure.THROUGHPUT, 0, "trim"), "load", [SAMPLE]).judgement is PASS


def test_unissued_ios_leave_a_failure_and_take_a_pass() -> None:
    sample = structs.replace(SAMPLE, unissued=7)
    judged: dict[float, Any] = {
        ms: judge_limit(limit(LimitedFigure.MAX_LATENCY, ms * MS), "load", [sample]).judgement
        for ms in (19, 21)
    }
    assert judged == {19: FAIL, 21: NO_VERDICT}


def test_the_worst_of_several_cycles() -> None:
    low, high = (
        JudgedLimit("load: read IOPS", "at least 100 IOPS", PASS, at_least=100, value=value)
        for value in (101, 500)
    )
    quick, slow = (
        JudgedLimit("load: read maximum response time", "at most 10 ms", PASS, at_most=10, value=value)
        for value in (1, 9)
    )
    doubt, failed = replace(slow, value=None, judgement=NO_VERDICT), replace(slow, judgement=FAIL)
    assert worst([high, low]) is low
    assert worst([quick, slow]) is slow
    assert worst([slow, doubt]) is doubt
    assert worst([doubt, failed, slow]) is failed
