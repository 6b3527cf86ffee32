"""Tables and plots of streams in any report: what is in them is what the step has."""

from bisect import bisect_left
from decimal import Decimal
from itertools import accumulate
from math import ceil

import pytest
from msgspec.structs import replace

from openpts.pages.kit import PlotName
from openpts.pages.model import Figure, Table
from openpts.procedures.shared.stream_pages import host_verdicts, stream_blocks
from openpts.vocabulary.sample import Sample
from tests.support.stream_runs import measured
from tests.unit.analysis.test_host_limits import slips_of
from tests.unit.record.test_streams import counts_of

NAME = PlotName("x-streams", "X-1", "Streams of a step")


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return measured()


def tables(sample: Sample) -> dict[str, Table]:
    return {block.id: block for block in stream_blocks(NAME, sample) if isinstance(block, Table)}


def test_the_table_has_a_row_for_each_stream_and_for_all(samples: list[Sample]) -> None:
    shown = tables(samples[0])["x-streams-streams"]
    assert [row.head.text for row in shown.rows] == ["reader", "writer", "trimmer", "all"]
    heads = [column.label for column in shown.columns]
    for row, part in zip(shown.rows, (*samples[0].streams, samples[0]), strict=True):
        found = dict(zip(heads, (cell.value for cell in row.cells), strict=True))
        assert found["IOPS"] == part.iops
        assert found["MB/s"] == part.bandwidth_bytes_per_s / 1e6
        assert found["Mean (ms)"] == part.mean_latency_ns / 1e6
        assert found["Max (ms)"] == part.max_latency_ns / 1e6
        assert (found["99.99 % (ms)"] is None) == (part.ios < 10_000)
    assert "Late (%)" not in heads


def test_a_curve_has_the_percentiles_of_its_stream(samples: list[Sample]) -> None:
    """By the I/Os of each response time, as the library has them that is no part of openpts."""
    shown = tables(samples[0])["x-streams-percentiles"]
    assert [column.label for column in shown.columns] == ["reader", "writer", "trimmer"]
    counts = sorted(counts_of([samples[0].streams[0].read.histogram]).items())
    until = list(accumulate(ios for _, ios in counts))
    for row in shown.rows:
        rank = ceil(Decimal(repr(row.head.value)) * until[-1] / 100)
        expected_ns = counts[bisect_left(until, rank)][0]
        assert row.cells[0].value == pytest.approx(expected_ns / 1e6, rel=0.002)
    beyond = [row.cells[2] for row in shown.rows if row.head.value > 90]
    assert {(cell.value, cell.text) for cell in beyond} == {(None, "n/a")}


def test_the_course_has_the_iops_of_each_interval(samples: list[Sample]) -> None:
    shown = tables(samples[0])["x-streams-course"]
    whole = samples[0].intervals[:4]
    assert [row.head.value for row in shown.rows] == [pytest.approx(0.1 * n) for n in range(1, 5)]
    for row, interval in zip(shown.rows, whole, strict=True):
        assert [cell.value for cell in row.cells] == [part.iops for part in interval.streams]


def test_plots_refer_to_tables_beside_them(samples: list[Sample]) -> None:
    for sample in samples:
        blocks = stream_blocks(NAME, sample)
        ids = {block.id for block in blocks if isinstance(block, Table)}
        figures = [block for block in blocks if isinstance(block, Figure)]
        assert figures
        assert {figure.table_id for figure in figures} <= ids
        assert len({figure.id for figure in figures}) == len(figures)


def test_a_step_with_one_stream_has_one_row(samples: list[Sample]) -> None:
    assert [row.head.text for row in tables(samples[3])["x-streams-streams"].rows] == ["stream 1"]
    assert [row.head.text for row in tables(samples[2])["x-streams-streams"].rows] == ["late"]


def test_figures_of_a_stream_that_the_host_held_up_are_marked(samples: list[Sample]) -> None:
    """Two in a hundred by 5 ms; the other streams plan nothing or are in time."""
    writes = samples[0].streams[1].write.ios
    late = slips_of(*[1_000] * (writes - writes // 50), *[5_000_000] * (writes // 50))
    parts = (samples[0].streams[0], replace(samples[0].streams[1], slips=late), samples[0].streams[2])
    marked = replace(samples[0], streams=parts, slips=late)
    shown = tables(marked)["x-streams-streams"]
    heads = [column.label for column in shown.columns]
    notes = {row.head.text: row.cells[heads.index("Mean (ms)")].note for row in shown.rows[:3]}
    assert notes == {"reader": "", "writer": "the host was late", "trimmer": ""}
    shares = [row.cells[heads.index("Late (%)")].value for row in shown.rows]
    assert shares[:3] == [None, pytest.approx(100 * (writes // 50) / writes), None]
    (verdict,) = host_verdicts(marked)
    assert verdict.text.startswith("writer: the host submitted ")
    assert verdict.tone == "fail"
    assert host_verdicts(samples[0]) == ()
