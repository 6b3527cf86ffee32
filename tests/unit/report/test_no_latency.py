"""A drive that answers in no time, as a simulated one may: each test has its report, no axis ends at 0."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.pages import ticks
from openpts.pages.model import Axis, Figure
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run
from openpts.report.run_part import RunPart, part_of
from openpts.vocabulary.sample import OperationSample
from tests.support.made_up_run import made_up_run

DATE = "2026-11-21T08:00:00Z"


def _at_once(operation: OperationSample) -> OperationSample:
    if not operation.ios:
        return operation
    histogram = encode_counts([(0, operation.ios)]) if operation.histogram else b""
    return replace(operation, latency_sum_ns=0, latency_min_ns=0, latency_max_ns=0, histogram=histogram)


def _all_at_once(measured: Any) -> Any:
    changes = {name: _at_once(operation) for name, operation in measured.operations.items()}
    return replace(measured, **changes)


def without_latency(run: Run) -> Run:
    """The same I/Os in the same times, each of which took none."""
    steps = []
    for step in run.steps:
        intervals = tuple(_all_at_once(interval) for interval in step.sample.intervals)
        steps.append(replace(step, sample=replace(_all_at_once(step.sample), intervals=intervals)))
    return replace(run, steps=tuple(steps))


def logarithmic_axes(part: RunPart) -> list[Axis]:
    pages = [page for section in part.sections for page in section.pages]
    figures = [block for page in pages for block in page.blocks if isinstance(block, Figure)]
    axes = [axis for figure in figures for axis in (figure.x, figure.y, figure.y2) if axis is not None]
    return [axis for axis in axes if axis.scale == "log"]


@pytest.mark.parametrize("test", PROCEDURES)
def test_every_test_has_its_report(test: str) -> None:
    for axis in logarithmic_axes(part_of(without_latency(made_up_run(test)), DATE)):
        low, high = axis.domain
        assert 0 < low < high < math.inf, axis.title


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e9))))
def test_what_is_0_changes_no_logarithmic_axis(values: list[float]) -> None:
    axis = ticks.log_axis("x", values)
    assert axis == ticks.log_axis("x", [value for value in values if value > 0])
    assert all(axis.domain[0] < value < axis.domain[1] for value in values if value > 0)
    assert 0 < axis.domain[0] < axis.domain[1]
