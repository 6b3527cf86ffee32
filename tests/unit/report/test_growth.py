"""What a report costs grows no faster than its record.

Counted are the calls that the interpreter makes, each step of a generator among them: a busy machine changes
none of them.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType

from openpts.analysis.response_times import response_times
from openpts.record.reader import Run
from openpts.report.run_part import part_of
from tests.support.interval_samples import step_of
from tests.support.shortened_runs import shortened_run

REPORT_DATE = "2026-02-03T04:05:06Z"
MOST_GROWTH = 2.3


def calls_of(work: Callable[[], object]) -> int:
    """Calls of functions, Python's and built-in ones, and of steps of generators, in this thread."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def with_steps_repeated(run: Run, times: int) -> Run:
    """The same steps so many times, a sample each: as long a record, of which the same is to be said."""
    return replace(run, steps=tuple(replace(step) for step in run.steps for _ in range(times)))


def test_the_report_grows_with_its_steps_and_not_with_their_square(tmp_path: Path) -> None:
    run = shortened_run("hir", tmp_path / "run", target="sim:enterprise-tlc?capacity=1GB", scale=0.02)
    few, many = with_steps_repeated(run, 50), with_steps_repeated(run, 100)
    part_of(run, REPORT_DATE)  # what is loaded once
    ratio = calls_of(lambda: part_of(many, REPORT_DATE)) / calls_of(lambda: part_of(few, REPORT_DATE))
    assert ratio <= MOST_GROWTH


def test_response_times_take_as_many_calls_however_many_buckets_they_have() -> None:
    few, many = ([step_of([range(100_000, 1_100_000, apart_ns)])] for apart_ns in (100_000, 1_000))
    assert calls_of(lambda: response_times(many)) < 2 * calls_of(lambda: response_times(few))
