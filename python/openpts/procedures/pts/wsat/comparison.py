"""IOPS over time of several drives under the same writes."""

from collections.abc import Sequence

from openpts.analysis.minutes import minutes_of
from openpts.pages import cells, ticks
from openpts.pages.kit import PlotName
from openpts.pages.model import Block
from openpts.procedures.kit.overlay import Typical, overlay, values_of, with_sentence
from openpts.procedures.pts.wsat.conditions import WriteSaturationConditions
from openpts.record.reader import Run
from openpts.vocabulary.phase import Phase


def blocks(typical: Sequence[Typical]) -> tuple[Block, ...]:
    """IOPS of each minute over time, for each workload that two runs have."""
    titles = dict.fromkeys(title for one in typical for title in _workloads(one.run))
    drawn = [
        block for number, title in enumerate(titles, start=1) for block in _course(typical, number, title)
    ]
    return with_sentence(typical, drawn)


def _course(typical: Sequence[Typical], number: int, title: str) -> tuple[Block, ...]:
    courses = [(one, _minutes(one.run, title)) for one in typical]
    last_ns = max((end_ns for _, minutes in courses for end_ns, _ in minutes), default=0)
    time = ticks.time_axis("Time", 0, last_ns)
    return overlay(
        PlotName(
            f"compare-wsat-course-{number}",
            f"Plot X-COMPARE-WSAT-{number + 1}",
            f"WSAT IOPS v Time - {title.replace(' KiB', 'KiB')}",
        ),
        f"IOPS of each minute at its end, {title}",
        [
            (one, [(time.place(end_ns), cells.number(iops, 1)) for end_ns, iops in minutes])
            for one, minutes in courses
        ],
        lambda table: (time.axis, ticks.amount_axis("IOPS", values_of(table))),
        x_title=time.axis.title,
        decimals=3,
        style="line",
    )


def _workloads(run: Run) -> tuple[str, ...]:
    conditions = run.manifest.conditions
    assert isinstance(conditions, WriteSaturationConditions)  # noqa: S101 asked of this test's runs alone
    return tuple(workload.title for workload in conditions.workloads)


def _minutes(run: Run, title: str) -> list[tuple[int, float]]:
    """End in ns and IOPS of each minute of a workload's stimulus."""
    titles = _workloads(run)
    if title not in titles:
        return []
    steps = run.phase(Phase.SATURATION, cycle=titles.index(title) + 1)
    minutes = minutes_of([step.sample for step in steps], run.manifest.conditions.minute_ns)
    return [(minute.end_ns, minute.iops) for minute in minutes]
