"""What `openpts io` prints of several streams: lines, tables and JSON are what each of them did."""

import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from rich.console import Console

from openpts.analysis.latency import encode_counts
from openpts.cli.main import cli
from openpts.engine.options import NativeOptions
from openpts.errors import UsageError
from openpts.tests.unit.analysis.test_host_limits import slips_of
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.sample import NOTHING, Sample, StepState
from openpts.vocabulary.stimulus import Step
from openpts_io.io_document import MeasuredFigures
from openpts_io.io_result import IntervalLines, MeasurementResults, print_summary
from openpts_io.measure import (
    IntervalsEnded,
    MeasurementEnded,
    MeasurementEvent,
    MeasurementRequest,
    MeasurementStarted,
    alone,
    measure,
)
from tests.support.refusals import refusal
from tests.support.stream_runs import drive
from tests.support.streams import BESIDE, DELAYED, ENDING

TARGET = "sim:enterprise-tlc?capacity=2GB&seed=1"
OPTIONS = NativeOptions(interval_ns=NS_PER_S // 10)


def ordered(step: Step) -> MeasurementRequest:
    return MeasurementRequest(TARGET, (step,), OPTIONS, seed=7)


def heard(*orders: MeasurementRequest) -> list[MeasurementEvent]:
    events: list[MeasurementEvent] = []
    measure(orders, events.append)
    return events


def sample_of(events: list[MeasurementEvent]) -> Sample:
    (sample,) = (event.sample for event in events if isinstance(event, MeasurementEnded))
    return sample


@pytest.fixture(scope="module")
def events() -> list[MeasurementEvent]:
    return heard(ordered(BESIDE))


@pytest.fixture(scope="module")
def apart() -> list[Sample]:
    return [sample_of(heard(one)) for one in alone(ordered(BESIDE))]


def late(sample: Sample) -> Sample:
    """As a host would have it: the writer is late by 5 ms in 3 of 100 I/Os."""
    slips = slips_of(*[20_000] * 97, *[5_000_000] * 3)
    reader, writer, trimmer = sample.streams
    parts = (reader, replace(writer, slips=slips, unissued=3), trimmer)
    return replace(sample, streams=parts, slips=slips, unissued=3)


STARTED = MeasurementStarted(0, drive().facts, (BESIDE,), {"engine": Fact("simulated drive", "test")}, 7, ())


def test_each_stream_has_a_line_for_an_interval_and_all_have_the_last(events, snapshot) -> None:
    lines = IntervalLines(NS_PER_S // 10, several=False)
    told = [
        line
        for event in (STARTED, *(e for e in events if isinstance(e, IntervalsEnded)))
        for line in lines.of(event)
    ]
    assert "\n".join(told) == snapshot


def test_the_summary_has_a_row_for_each_stream_and_what_the_others_cost_it(events, apart, snapshot) -> None:
    stream = io.StringIO()
    print_summary(Console(file=stream, width=120), STARTED, late(sample_of(events)), None, apart)
    assert stream.getvalue() == snapshot


def test_the_json_object_has_the_figures_of_each_stream(events, apart) -> None:
    sample = late(sample_of(events))
    results, printed = MeasurementResults(), io.StringIO()
    for one in apart:
        results.hear_alone(MeasurementEnded(0, one))
    results.on_event(STARTED)
    results.on_event(MeasurementEnded(0, sample))
    results.print(printed, as_json=True)
    found = json.loads(printed.getvalue())
    assert [part["name"] for part in found["streams"]] == ["reader", "writer", "trimmer"]
    for part, of, before in zip(found["streams"], sample.streams, apart, strict=True):
        assert (part["ios"], part["bytes"], part["iops"]) == (of.ios, of.bytes, of.iops)
        assert part["max_latency_ns"] == of.max_latency_ns
        assert part["alone"]["iops"] == before.iops
        assert part["alone"]["iops_factor"] == of.iops / before.iops
        assert part["interval_iops"][0] == next(
            interval.streams[found["streams"].index(part)].iops for interval in sample.intervals
        )
    reader, writer, trimmer = found["streams"]
    assert reader["alone"]["p99_factor"] == pytest.approx(
        reader["percentiles_ns"]["99"] / reader["alone"]["p99_ns"]
    )
    assert trimmer["alone"]["p99_factor"] is None  # too few
    assert (writer["late"]["late_ios"], writer["late"]["planned_ios"]) == (3, 100)
    assert writer["late"]["limits_figures"]
    assert "late" not in reader
    assert found["stimulus"] is None
    assert found["total"]["ios"] == sum(part["ios"] for part in found["streams"])


def test_a_stream_that_failed_alone_has_no_factor(events, apart) -> None:
    results, printed = MeasurementResults(), io.StringIO()
    for one in apart:
        results.hear_alone(MeasurementEnded(0, replace(one, state=StepState.FAILED)))
    results.on_event(STARTED)
    results.on_event(MeasurementEnded(0, sample_of(events)))
    results.print(printed, as_json=True)
    assert {part["alone"] for part in json.loads(printed.getvalue())["streams"]} == {None}


def test_streams_are_measured_alone_for_the_time_that_they_have_together(apart) -> None:
    assert [sample.step.streams for sample in apart] == [(stream,) for stream in BESIDE.streams]
    assert {sample.step.stop for sample in apart} == {BESIDE.stop}
    ended = [sample_of(heard(one)) for one in alone(ordered(ENDING))]
    assert [(sample.state, sample.ios > 0) for sample in ended] == [(StepState.COMPLETE, True)] * 2
    assert ended[0].ios == 500


def test_what_can_not_be_measured_alone_is_refused(golden) -> None:
    cases = (DELAYED, replace(BESIDE, capture=True))
    assert [refusal(alone, ordered(step)) for step in cases] == golden


def test_one_stimulus_can_not_be_measured_alone_and_together() -> None:
    done = CliRunner().invoke(cli, ["io", TARGET, "--seconds", "0.1", "--alone"])
    assert isinstance(done.exception, UsageError)


def test_the_standard_deviation_is_that_of_the_response_times() -> None:
    times_ns = np.random.default_rng(7).lognormal(11, 1, 20_000).astype(int)
    histogram = encode_counts((int(time_ns), 1) for time_ns in times_ns)
    operation = replace(NOTHING, ios=len(times_ns), latency_sum_ns=int(times_ns.sum()), histogram=histogram)
    found = MeasuredFigures.by([operation], NS_PER_S).standard_deviation_ns
    assert found == pytest.approx(times_ns.std(), rel=1e-3)
    assert MeasuredFigures.by([NOTHING], NS_PER_S).standard_deviation_ns is None


@pytest.mark.parametrize("words", [("log.fio", TARGET), (TARGET, "log.fio")])
def test_a_job_file_among_the_targets_is_run_and_its_flushes_have_times(words, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = "[global]\nruntime=1\ntime_based\n[reads]\nrw=randread\n[log]\nrw=write\nbs=16k\nfdatasync=1\n"
    (tmp_path / "log.fio").write_text(job)
    done = CliRunner().invoke(cli, ["io", *words, "--seed", "1"], catch_exceptions=False)
    assert done.exit_code == 0
    table = done.stdout.partition("\nstream ")[2].partition("\n\n")[0].splitlines()
    assert " ".join(table[0].split()) == "I/Os IOPS MB/s mean us sd us p50 p99 p99.9 max us"
    assert [line.split()[0] for line in table[1:]] == ["reads", "log", "flush", "all"]
    assert max(map(len, table)) <= 80
    flushes = int(table[3].split()[1].replace(",", ""))
    writes = int(table[2].split()[1].replace(",", ""))
    assert abs(flushes - writes) <= 1


def test_a_job_file_without_a_target_or_beside_another_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.fio").write_text("[log]\nrw=read\n")
    done = CliRunner().invoke(cli, ["io", "log.fio"])
    assert "add the target, as in `openpts io log.fio TARGET`" in str(done.exception)
    twice = CliRunner().invoke(cli, ["io", "log.fio", TARGET, "--fio", "log.fio"])
    assert "is a second job file" in str(twice.exception)
