"""What is said of streams in any report is what the step has."""

import pytest
from msgspec.structs import replace

from openpts.tests.unit.analysis.test_host_limits import slips_of
from openpts.vocabulary.sample import Sample
from openpts_fio.workload.pages import host_verdicts, stream_course
from openpts_pages.kit import PlotName
from openpts_pages.model import Figure, Table
from tests.support.stream_runs import measured

NAME = PlotName("x-streams", "X-1", "Streams of a step")


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return measured()


def tables(sample: Sample) -> dict[str, Table]:
    return {block.id: block for block in stream_course(NAME, sample) if isinstance(block, Table)}


def test_the_course_has_the_iops_of_each_interval(samples) -> None:
    shown = tables(samples[0])["x-streams-course"]
    whole = samples[0].intervals[:4]
    assert [row.head.value for row in shown.rows] == [pytest.approx(0.1 * n) for n in range(1, 5)]
    for row, interval in zip(shown.rows, whole, strict=True):
        assert [cell.value for cell in row.cells] == [part.iops for part in interval.streams]


def test_plots_refer_to_tables_beside_them(samples) -> None:
    for sample in samples:
        blocks = stream_course(NAME, sample)
        ids = {block.id for block in blocks if isinstance(block, Table)}
        figures = [block for block in blocks if isinstance(block, Figure)]
        assert bool(figures) == bool(blocks)
        assert {figure.table_id for figure in figures} <= ids
        assert len({figure.id for figure in figures}) == len(figures)


def test_a_stream_that_the_host_held_up_is_named(samples) -> None:
    """Two in a hundred by 5 ms; the other streams plan nothing or are in time."""
    writes = samples[0].streams[1].write.ios
    late = slips_of(*[1_000] * (writes - writes // 50), *[5_000_000] * (writes // 50))
    parts = (samples[0].streams[0], replace(samples[0].streams[1], slips=late), samples[0].streams[2])
    marked = replace(samples[0], streams=parts, slips=late)
    (verdict,) = host_verdicts(marked)
    assert verdict.text.startswith("writer: the host submitted ")
    assert verdict.tone == "fail"
    assert host_verdicts(samples[0]) == ()
