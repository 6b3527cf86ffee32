"""Curves of several runs in one plot: drives that always do the same, so that each value is known."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.vocabulary.facts import Fact
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.contenders import NamedRun, compare_runs
from openpts_pages.model import Figure, Report
from tests.support.made_up_run import Adjust, demand_rate, flat_rate, made_up_run

SEQ_MB_PER_S = 20_000 * 131_072 / 1e6
SHORT: dict[str, dict[str, Any]] = {
    "wsat": {"drive_fills": 1},
    "sustained": {"drive_fills": 0.5},
    "lifetime": {"drive_cycles": 12},
    "thermal": {},
    "fill": {},
    "precon": {"steady_after_drive_fills": 1},
    "lat": {"max_rounds": 5},
    "cbw": {},
    "dirth": {},
}


def changed(changes: dict[str, Any]) -> Adjust:
    def adjust(conditions: Conditions) -> Conditions:
        return replace(conditions, **changes)

    return adjust


def run_of(test: str, name: str, times: float = 1) -> Run:
    """A run on a drive of that name, with so many times the usual rate."""
    rate = demand_rate if test in {"cbw", "dirth"} else flat_rate
    run = made_up_run(test, rate=lambda *request: times * rate(*request), adjust=changed(SHORT[test]))
    dut = run.manifest.dut | {"model": Fact(name, "test")}
    return replace(run, manifest=replace(run.manifest, dut=dut))


def compared(*runs: Run) -> Report:
    return build_comparison(compare_runs([NamedRun(run) for run in runs]))


def courses(report: Report) -> list[Figure]:
    return [figure for figure in report.figures() if "-course-" in figure.id]


def columns_of(report: Report, figure: Figure) -> list[list[float]]:
    table = report.tables()[figure.table_id]
    return [
        [
            row.cells[series.lines[0]].value
            for row in table.rows
            if row.cells[series.lines[0]].value is not None
        ]
        for series in figure.series
    ]


@pytest.mark.proves("HYP-SUS-05")
@pytest.mark.parametrize(
    ("test", "plots", "value", "x_title"),
    [
        ("wsat", 1, 20_000, "Time (min)"),
        ("sustained", 1, 20_000, "Time (min)"),
        ("fill", 1, SEQ_MB_PER_S, "Fill level (% of user capacity)"),
        ("precon", 3, 20_000, "Written since the start (x user capacity)"),
        ("thermal", 3, SEQ_MB_PER_S, "Time (min)"),
        ("lifetime", 2, SEQ_MB_PER_S, "Full drive cycles"),
    ],
)
def test_the_curves_of_two_drives_are_in_one_plot(test, plots, value, x_title) -> None:
    report = compared(run_of(test, "slow"), run_of(test, "fast", 2))
    shown = courses(report)
    assert len(shown) == plots
    for figure in shown:
        assert [series.label for series in figure.series] == ["slow", "fast"]
        assert figure.x.title == x_title
        for times, found in zip((1, 2), columns_of(report, figure), strict=True):
            # between the accesses of a duty cycle nothing is written
            written = [one for one in found if one]
            assert written
            assert written == pytest.approx([times * value] * len(written), rel=1e-3)


@pytest.mark.parametrize(("test", "x_title"), [("lat", "Confidence level (%)"), ("dirth", "IOPS")])
def test_response_times_have_curves_as_well(test, x_title) -> None:
    report = compared(run_of(test, "slow"), run_of(test, "fast", 2))
    (figure,) = courses(report)
    assert (figure.x.title, figure.y.scale) == (x_title, "log")
    slow, fast = columns_of(report, figure)
    assert max(slow) > max(fast)


def test_all_points_of_a_run_are_in_its_column_in_the_order_of_x() -> None:
    """A fill by 1 % of the capacity: a hundred steps, of both drives at the same places."""
    report = compared(run_of("fill", "slow"), run_of("fill", "fast", 2))
    (figure,) = courses(report)
    heads = [row.head.value for row in report.tables()[figure.table_id].rows]
    assert heads == pytest.approx(list(range(1, 101)), abs=1e-4)


def test_a_run_without_the_curve_is_not_in_the_plot() -> None:
    run = run_of("sustained", "whole")
    begun = replace(run_of("sustained", "begun"), steps=run.steps[:3])
    assert courses(compared(run, begun)) == []
    third = run_of("sustained", "other", 2)
    (figure,) = courses(compared(run, begun, third))
    assert [series.label for series in figure.series] == ["whole", "other"]


def test_other_workloads_are_other_curves() -> None:
    one = run_of("wsat", "one")
    workload = replace(one.manifest.conditions.workloads[0], title="RND 8 KiB RW0")
    other = replace(one.manifest.conditions, workloads=(workload,))
    assert courses(compared(one, replace(one, manifest=replace(one.manifest, conditions=other)))) == []


def test_no_plot_has_a_curve_of_one_run() -> None:
    twice = compared(run_of("fill", "one"), run_of("fill", "one"))
    assert courses(twice) == []
