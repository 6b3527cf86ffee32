"""Steps of several streams in a record: read back as they were, and held against what it says twice."""

import shutil
import sqlite3
from base64 import b64encode
from contextlib import closing
from itertools import zip_longest
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.record.reader import Run, read_run, stored_run
from openpts.record.writer import DATABASE_NAME
from openpts.runner.replay import ReplayedRequest
from openpts.runner.resumed_run import repeat
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Phase, Sample, StepPlace, StepState
from openpts.vocabulary.stimulus import Stream
from tests.support.frame_rows import as_rows
from tests.support.stream_runs import engine, measured, stored
from tests.support.streams import BESIDE, DELAYED, ENDING, PLAIN, READER, STEPS


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return measured()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, samples: list[Sample]) -> Path:
    return stored(tmp_path_factory.mktemp("streams") / "run", samples)


def kept(samples: list[Sample]) -> list[Sample]:
    """Without what is read apart from steps."""
    return [replace(sample, carried="", counted=()) for sample in samples]


@pytest.mark.parametrize("scale", [1, 3])
def test_what_streams_did_is_read_back_unchanged(tmp_path, scale) -> None:
    samples = measured(scale=scale)
    assert [sample.step for sample in samples] == list(STEPS)
    assert [len(sample.streams) for sample in samples] == [3, 2, 0, 0]
    assert all(len(interval.streams) == 3 for interval in samples[0].intervals)
    run = read_run(stored(tmp_path / "run", samples, scale=scale), interval_histograms=True)
    assert [step.sample for step in run.steps] == kept(samples)


def test_a_stimulus_alone_takes_no_row_of_the_tables_of_streams(folder) -> None:
    tables = ("stream", "stream_result", "stream_operation", "stream_interval_operation")
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as database:
        rows = {
            table: [row[0] for row in database.execute(f"SELECT DISTINCT step_id FROM {table} ORDER BY 1")]
            for table in tables
        }
        stimuli = [row[0] for row in database.execute("SELECT stimulus IS NULL FROM step")]
    beside, ending, delayed, plain = range(1, 5)
    assert list(STEPS) == [BESIDE, ENDING, DELAYED, PLAIN]
    assert rows == {tables[0]: [beside, ending, delayed], **{table: [beside, ending] for table in tables[1:]}}
    assert stimuli == [1, 1, 1, 0]
    assert plain not in rows["stream"]


def test_the_histograms_of_streams_are_together_that_of_the_step(samples) -> None:
    """By the library that is no part of openpts: bucket by bucket."""
    for sample in samples[:2]:
        for name, operation in sample.operations.items():
            parts = [part.operations[name].histogram for part in sample.streams]
            merged = counts_of([histogram for histogram in parts if histogram])
            assert merged == counts_of([operation.histogram] if operation.histogram else [])
            assert sum(merged.values()) == operation.ios


def counts_of(encoded: list[bytes]) -> dict[int, int]:
    """I/Os by response time."""
    histogram = HdrHistogram(1, 2**33, 3)
    for one in encoded:
        histogram.decode_and_add(b64encode(one))
    items = histogram.get_recorded_iterator()
    return {item.value_iterated_to: item.count_at_value_iterated_to for item in items}


def test_what_was_planned_and_late_is_read_back(tmp_path, samples) -> None:
    """In virtual time nothing is late: as an engine of a real host has it."""
    slips = [samples[0].streams[n].write.histogram for n in range(3)]
    late = replace(
        samples[0],
        slips=slips[1],
        streams=tuple(
            replace(part, slips=its) for part, its in zip_longest(samples[0].streams, slips, fillvalue=b"")
        ),
    )
    run = read_run(stored(tmp_path / "run", [late]))
    assert run.steps[0].sample.slips == slips[1] != b""
    assert [part.slips for part in run.steps[0].sample.streams] == slips


def test_names_of_streams_are_read_on_one_line_with_all_of_them_visible(tmp_path, samples) -> None:
    streams = (Stream(READER, "a\x1b[31m\nb", stop=None), *BESIDE.streams[1:])
    hostile = replace(samples[0], step=replace(BESIDE, streams=streams))
    folder = stored(tmp_path / "run", [hostile])
    assert stored_run(folder).steps[0].sample.step.streams == streams
    assert read_run(folder).steps[0].sample.step.streams[0].name == "a\\x1b[31m\\nb"


def test_a_step_that_failed_at_once_has_no_results(tmp_path, samples) -> None:
    nothing = samples[0].streams[0].trim
    failed = replace(
        samples[0],
        state=StepState.FAILED,
        ended_by=None,
        streams=(),
        intervals=(),
        unissued=0,
        slips=b"",
        **dict.fromkeys(("read", "write", "trim", "flush"), nothing),
    )
    assert read_run(stored(tmp_path / "run", [failed])).steps[0].sample == kept([failed])[0]


FIRST = "step_id = 1"
OF_WRITER = f"{FIRST} AND position = 1"


def _update(table: str, change: str) -> str:
    return f"UPDATE {table} SET {change} WHERE {OF_WRITER}"


CHANGES = {
    "ios": (_update("stream_operation", "ios = ios + 1"), "that of its streams together"),
    "ios of step and stream": (
        "UPDATE {} SET ios = ios + 1 WHERE step_id = 1 AND operation = 'write'",
        "stream writer: write: ios is",
    ),
    "sum": (_update("stream_operation", "latency_sum_ns = latency_sum_ns - 1"), "latency_sum_ns is"),
    "histogram": (
        "UPDATE stream_operation SET histogram = (SELECT histogram FROM operation WHERE step_id = 2"
        f" AND operation = 'write') WHERE {OF_WRITER} AND operation = 'write'",
        "write: its histogram is not that of its streams together",
    ),
    "unissued": (_update("stream_result", "unissued = 7"), "that of its streams together 7"),
    "errors": (_update("stream_result", "errors = 7"), "its streams have 7 errors, the step 0"),
    "slips": (
        _update("stream_result", "slips = (SELECT histogram FROM operation LIMIT 1)"),
        "its slips are not those of its streams together",
    ),
    "zones": (
        f"UPDATE stream_result SET ios_by_zone = '[1,2]' WHERE {FIRST} AND position = 0",
        "stream reader: ios_by_zone has 3 of",
    ),
    "an interval's ios": (
        f"UPDATE stream_interval_operation SET ios = ios + 1 WHERE {OF_WRITER} AND interval_index = 1",
        "interval 1: write: ios is",
    ),
    "ios from one interval to another": (
        "UPDATE {} SET ios = ios + interval_index * 2 - 3 WHERE step_id = 1 AND operation = 'write'"
        " AND interval_index IN (1, 2)",
        "stream writer: interval 1: write: bytes is",
    ),
    "streams change places": (
        f"UPDATE stream SET position = 9 - position WHERE {FIRST} AND position != 0",
        "table stream has no row of position 1 in step_id 1",
    ),
    "one stream less": (
        f"DELETE FROM stream WHERE {FIRST} AND position = 2",
        "tables stream and stream_result differ in step_id 1",
    ),
    "a stray in intervals": (
        "UPDATE stream_interval_operation SET step_id = 4 WHERE step_id = 1 AND position = 2",
        "table stream_interval_operation has rows of position 2 in step_id 4",
    ),
    "a stream of no step": ("UPDATE stream SET step_id = 9 WHERE step_id = 3", "step_id 9, which is no step"),
    "a stimulus beside streams": (
        "UPDATE step SET stimulus = (SELECT stimulus FROM step WHERE step_id = 4) WHERE step_id = 1",
        "step_id 1 has a stimulus, and rows in table stream",
    ),
    "block size": (
        _update("stream", "stimulus = replace(stimulus, '131072', '65536')"),
        "stream writer: write: bytes is",
    ),
}


@pytest.mark.parametrize(("statement", "reason"), CHANGES.values(), ids=CHANGES)
def test_a_change_in_one_place_is_refused_by_stream_and_field(folder, tmp_path, statement, reason) -> None:
    shutil.copytree(folder, tmp_path / "run")
    both = (
        ("interval_operation", "stream_interval_operation")
        if "interval_index" in statement
        else ("operation", "stream_operation")
    )
    with closing(sqlite3.connect(tmp_path / "run" / DATABASE_NAME)) as database, database:
        for table in both if "{}" in statement else ("",):
            assert database.execute(statement.format(table)).rowcount > 0
    with pytest.raises(RecordError) as refused:
        read_run(tmp_path / "run")
    assert reason in str(refused.value)


def test_frames_have_a_row_for_each_stream(folder, samples) -> None:
    run = read_run(folder)
    rows = as_rows(run.frame("streams"))
    names = [(step, stream.name) for step, sample in enumerate(samples) for stream in sample.step.streams]
    assert [(row["step"], row["name"]) for row in rows] == names
    parts = [part for sample in samples for part in sample.streams or (sample,)]
    figures = ("ios", "bytes", "iops", "mean_latency_ns", "max_latency_ns", "unissued", "ended_by")
    for row, part in zip(rows, parts, strict=True):
        assert [row[name] for name in figures] == [getattr(part, name) for name in figures]
    in_intervals = as_rows(run.frame("stream_intervals"))
    for step in (0, 1):
        for number, part in enumerate(samples[step].streams):
            found = [row["ios"] for row in in_intervals if (row["step"], row["stream"]) == (step, number)]
            assert (len(found), sum(found)) == (len(samples[step].intervals), part.ios)
    assert {row["step"] for row in in_intervals} == {0, 1}


def test_a_simulated_drive_is_brought_back_by_the_streams_of_its_record(tmp_path, folder, samples) -> None:
    """Where one stream did something else, it is no longer the same drive."""
    places = tuple(StepPlace(1, Phase.ROUND, 1, position) for position in range(len(STEPS)))
    apply = Apply(Phase.ROUND, 1, STEPS)
    requests = [ReplayedRequest(apply, None, 1, places)]

    def restored_drive(run: Run) -> None:
        repeat(requests, run, engine(), None, "resume")  # type: ignore[arg-type]  # asked for purges only

    restored_drive(read_run(folder))
    part = samples[0].streams[0]
    other = replace(
        samples[0], streams=(replace(part, started_ns=part.started_ns + 1), *samples[0].streams[1:])
    )
    with pytest.raises(RecordError, match="computes other figures of reader: RND 2 sizes"):
        restored_drive(read_run(stored(tmp_path / "run", [other, *samples[1:]])))
