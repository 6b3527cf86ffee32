"""The fill report of a drive with a cache, whose break points are known."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_changes

from openpts.pages.model import Figure, Report, Verdict
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.units import GB
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Stimulus
from tests.support.made_up_run import CAPACITY_BYTES, made_up_run

DATE = "2026-02-03T04:05:06Z"
BLOCK_BYTES = 131_072


class Cached:
    """2000 MB/s for 20 % of the capacity, then 500; after 70 % 250. Idle time gives 1 % of it back."""

    def __init__(self) -> None:
        self.steps = 0
        self.burst = (0, 0)

    def __call__(self, stimulus: Stimulus, phase: Phase, number: int) -> float:
        if stimulus.random_pct:
            return 100_000 / number
        if phase is Phase.FILL:
            self.steps += 1
            rate = 2000 if self.steps <= 20 else 500 if self.steps <= 70 else 250
            return rate * 1e6 / BLOCK_BYTES
        position = self.burst[1] + 1 if self.burst[0] == number else 1
        self.burst = (number, position)
        return (2000 if number > 1 and position <= 5 else 250) * 1e6 / BLOCK_BYTES


def run() -> Run:
    return made_up_run("fill", rate=Cached())


def report(of: Run | None = None) -> Report:
    return build_report(of or run(), DATE)


def texts(page_id: str, built: Report) -> list[str]:
    (page,) = [page for page in built.pages() if page.id == page_id]
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


def test_break_points_are_marked_with_their_gigabytes() -> None:
    figure = next(figure for figure in report().figures() if figure.number == "Plot X-FILL-1")
    assert isinstance(figure, Figure)
    capacity = CAPACITY_BYTES / GB
    assert [(mark.label, round(mark.x, 2), round(mark.y)) for mark in figure.marks] == [
        (f"cache end: {0.2 * capacity:.1f} GB", 20.0, 2000),
        (f"GC start, last rate: {0.7 * capacity:.0f} GB", 70.0, 500),
        (f"full: {capacity:.0f} GB", 100.0, 250),
    ]


def test_segments_with_their_means() -> None:
    rows = report().tables()["fill-curve-segments"].rows
    assert [row.cells[4].value for row in rows] == pytest.approx([2000, 500, 250], rel=1e-6)
    assert [row.cells[5].value for row in rows] == pytest.approx([100, 25, 12.5], rel=1e-6)
    assert [row.cells[6].text for row in rows] == ["purged drive", "cache end", "GC start, last rate"]
    assert [row.cells[3].value for row in rows] == pytest.approx([20, 70, 100], abs=1e-3)


def test_the_rule_stands_on_the_page() -> None:
    sentence, rule = texts("fill-curve", report())
    assert "2,000 MB/s at first, 250 MB/s at the end" in sentence
    assert "3 s ln n" in rule
    assert "first break to a lower rate is read as the end of the cache" in rule


def test_every_step_has_a_row() -> None:
    table = report().tables()["fill-curve-values"]
    assert len(table.rows) == 100
    assert table.rows[-1].head.value == pytest.approx(100, abs=1e-3)
    assert not table.printed


def test_what_idle_time_gives_back() -> None:
    rows = {row.head.text: row.cells for row in report().tables()["fill-idle-returned"].rows}
    assert list(rows) == ["0 s", "30 s", "5 min", "30 min"]
    assert rows["0 s"][0].value == 0
    # 5 of 25 steps of 5 % of the capacity
    assert rows["5 min"][0].value == pytest.approx(0.01 * CAPACITY_BYTES / GB, rel=1e-4)
    assert rows["30 s"][2].value == pytest.approx(250, rel=1e-6)


def test_bursts_by_fill_level() -> None:
    rows = report().tables()["fill-bursts-values"].rows
    assert [row.head.value for row in rows] == [0, 25, 50, 75, 100]
    iops = [row.cells[0].value for row in rows]
    assert iops == pytest.approx([100_000, 50_000, 33_333.3, 25_000, 20_000], rel=1e-4)
    assert rows[-1].cells[1].value == pytest.approx(20)


def test_a_level_drive_has_no_break_points() -> None:
    built = report(made_up_run("fill"))
    assert "no break point" in texts("fill-curve", built)[0]
    figure = next(figure for figure in built.figures() if figure.number == "Plot X-FILL-1")
    assert [mark.label.split(":")[0] for mark in figure.marks] == ["full"]


def cut_after(wanted: Run, steps: int) -> Run:
    return replace(wanted, steps=wanted.steps[:steps], manifest=replace(wanted.manifest, cycles=()))


@pytest.mark.parametrize("steps", [0, 1, 60, 110])
def test_a_run_that_ended_early_says_what_is_missing(steps: int) -> None:
    built = report(cut_after(run(), steps))
    assert "n/a" in texts("fill-bursts", built)[0]
    assert ("n/a" in texts("fill-curve", built)[0]) == (steps == 0)


def test_a_step_without_io_counts_for_nothing() -> None:
    whole = run()

    def empty(sample: Sample) -> Sample:
        nothing = with_changes(sample.write, ios=0, bytes=0, latency_sum_ns=0)
        return with_changes(sample, write=nothing)

    steps = tuple(replace(step, sample=empty(step.sample)) for step in whole.steps)
    assert "n/a" in texts("fill-curve", report(replace(whole, steps=steps)))[0]
