"""A drive that answers in no time, as a simulated one may: each test has its report, no axis ends at 0."""

import math
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.cover_page import lead_figure
from openpts.report.run_part import RunPart, part_of
from openpts.vocabulary.sample import OperationSample
from openpts_pages import ticks
from openpts_pages.model import Axis, Figure
from openpts_pages.plots.vega_lite import vega_lite_spec
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


@pytest.mark.full_matrix(most=8)
@pytest.mark.parametrize("test", PROCEDURES)
def test_every_test_has_its_report(test) -> None:
    for axis in logarithmic_axes(part_of(without_latency(made_up_run(test)), DATE)):
        low, high = axis.domain
        assert 0 < low < high < math.inf, axis.title


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e9))))
def test_what_is_0_changes_no_logarithmic_axis(values) -> None:
    axis = ticks.log_axis("x", values)
    assert axis == ticks.log_axis("x", [value for value in values if value > 0])
    assert all(axis.domain[0] < value < axis.domain[1] for value in values if value > 0)
    assert 0 < axis.domain[0] < axis.domain[1]


@pytest.mark.parametrize("test", ["xsr", "wsat"])
def test_panels_of_a_page_have_the_same_frame(test) -> None:
    report = build_report(made_up_run(test), DATE)
    tables = report.tables()
    stacks = 0
    for page in report.pages():
        frames: dict[str, set[tuple[float, float]]] = defaultdict(set)
        panels: dict[str, int] = defaultdict(int)
        for block in page.blocks:
            if isinstance(block, Figure) and block.kind == "lines" and block.zoom_group:
                spec = vega_lite_spec(block, tables)
                frames[block.zoom_group].add((spec["padding"]["left"], spec["width"]))
                panels[block.zoom_group] += 1
        assert all(len(found) == 1 for found in frames.values()), page.id
        stacks += sum(count > 1 for count in panels.values())
    assert stacks


MOST = 6


@pytest.mark.parametrize("test", ["tp", "lat", "wsat", "hir"])
def test_the_front_has_some_of_all_over_the_series(test) -> None:
    part = part_of(made_up_run(test), "2026-02-03T04:05:06Z")
    lead = lead_figure(part)
    blocks = [block for section in part.sections for page in section.pages for block in page.blocks]
    whole = next(one for one in blocks if isinstance(one, Figure) and f"lead-{one.id}" == lead.id).series
    places = [whole.index(one) for one in lead.series]
    assert places == sorted(places)
    assert len(places) == min(len(whole), MOST)
    assert {0, len(whole) - 1} <= set(places)
    assert {place for place, one in enumerate(whole) if one.emphasis} <= set(places)
    assert (f"{MOST} of {len(whole)} shown" in lead.alt) == (len(whole) > MOST)
