"""Output of real fio 3.33 runs, read back; expected figures are taken from the recordings by hand or jq."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.analysis.latency import LatencyDistribution
from openpts.vocabulary.sample import NOTHING, IoErrors, IoFailure
from openpts.vocabulary.stimulus import Step, Stimulus, Stream
from openpts_fio.engine.results import FioResult, NoResultError, parse_result
from openpts_fio.tests.unit.engine.steps import SECOND, stimulus
from tests import DATA

RECORDINGS = DATA / "fio"


def recorded(name: str) -> tuple[str, str]:
    return (RECORDINGS / f"{name}.stdout").read_text(), (RECORDINGS / f"{name}.stderr").read_text()


def step(*wanted: Stimulus | None) -> Step:
    return Step(tuple(Stream(one or stimulus()) for one in wanted or [None]), SECOND)


def parsed(name: str, wanted: Stimulus | None = None) -> FioResult:
    return parse_result(*recorded(name), step(wanted))


def jobs(name: str) -> list[dict[str, Any]]:
    stdout, _ = recorded(name)
    found: list[dict[str, Any]] = json.loads(stdout[stdout.index("{") :])["jobs"]
    return found


def test_two_threads_add_up() -> None:
    result = parsed("mixed-two-threads")
    threads = jobs("mixed-two-threads")
    assert len(threads) == 2
    read, write = result.operations["read"], result.operations["write"]
    assert read.ios + write.ios == 400
    assert read.bytes == read.ios * 4096
    for name, sample in (("read", read), ("write", write)):
        latencies = [thread[name]["lat_ns"] for thread in threads]
        assert sample.latency_min_ns == min(latency["min"] for latency in latencies)
        assert sample.latency_max_ns == max(latency["max"] for latency in latencies)
        total = sum(latency["mean"] * latency["N"] for latency in latencies)
        assert sample.latency_sum_ns == pytest.approx(total, abs=2)
        distribution = LatencyDistribution.merged([sample.histogram])
        assert distribution.count == sample.ios
        bins = sorted(
            (int(value), count) for latency in latencies for value, count in latency["bins"].items()
        )
        counted = 0
        for value_ns, count in bins:
            counted += count
            if counted >= sample.ios / 2:
                assert distribution.percentile_ns(50) == pytest.approx(value_ns, rel=0.001)
                break
    assert result.elapsed_ns == max(t[n]["runtime"] for t in threads for n in ("read", "write")) * 1_000_000
    assert result.failure is None
    assert result.operations["trim"] is NOTHING


def test_processor_time_is_the_threads_share_of_their_run_time() -> None:
    threads = jobs("mixed-two-threads")
    expected_ms = sum((t["usr_cpu"] + t["sys_cpu"]) * t["job_runtime"] / 100 for t in threads)
    assert parsed("mixed-two-threads").process_ns == pytest.approx(expected_ms * 1e6, abs=2)


@pytest.mark.parametrize("name", ["fsync", "flush"])
def test_syncs_are_counted_as_what_was_asked_for(name) -> None:
    result = parsed("fsyncs", stimulus(write=4, **{name: 1}))
    syncs = result.operations[name]
    # one after each four writes but the last four, behind which fio ends
    assert (result.operations["write"].ios, syncs.ios, syncs.bytes) == (100, 24, 0)
    assert LatencyDistribution.merged([syncs.histogram]).count == 24
    assert result.failure is None


def test_an_interrupted_run_keeps_what_it_measured() -> None:
    stdout, _ = recorded("interrupted")
    assert "terminating on signal 2" in stdout
    result = parsed("interrupted")
    assert result.operations["read"].ios > 0
    assert result.failure is None


def test_failed_ios_are_told_with_their_places() -> None:
    result = parsed("read-errors")
    assert result.failure == IoFailure("read", 8372224, 4096, "Input/output error")
    assert result.errors == (IoErrors("read", "Input/output error", 2, (8372224, 4923392)),)


def test_a_short_transfer_that_fio_counts_as_a_whole_one_is_a_failure() -> None:
    (job,) = jobs("short-reads")
    assert job["error"] == 0
    assert job["read"]["short_ios"] == 0
    missing = job["read"]["total_ios"] * 4096 - job["read"]["io_bytes"]
    failure = parsed("short-reads").failure
    assert failure.operation == "read"
    assert f"short transfers: {missing} B" in failure.reason


def test_an_error_of_a_job_without_a_place_is_a_failure() -> None:
    assert parsed("short-read-psync").failure == IoFailure("job", 0, 0, "Input/output error")


def test_without_a_result_the_first_line_says_why() -> None:
    with pytest.raises(NoResultError, match=r"^Bad option <no_such_option=1>$"):
        parsed("unknown-option")


@given(st.integers(0, 30_000))
def test_a_result_that_is_cut_off_is_none(length) -> None:
    stdout, stderr = recorded("mixed-two-threads")
    with pytest.raises(NoResultError):
        parse_result(stdout[: min(length, len(stdout.rstrip()) - 1)], stderr, step())


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("read.total_ios", "many"),
        ("read.total_ios", 2**63),
        ("read.lat_ns", None),
        ("read.lat_ns.mean", 1e300),
        ("read.lat_ns.bins", {"soon": 1}),
        ("read.lat_ns.bins", {"1000": 2**63 - 1, "2000": 2**63 - 1}),
        ("read.runtime", 2**62),
        ("usr_cpu", 1e300),
        ("error", 10**12),
        ("write", []),
    ],
)
def test_figures_that_no_run_has_are_no_result(place, value) -> None:
    """Each ended the engine's thread once, or gave a sample that no record can hold."""
    found = jobs("read-errors")
    *way, last = place.split(".")
    section = found[0]
    for name in way:
        section = section[name]
    section[last] = value
    with pytest.raises(NoResultError, match="its result"):
        parse_result(json.dumps({"jobs": found}), "", step())


@given(st.text())
def test_any_other_text_is_none(text) -> None:
    with pytest.raises(NoResultError):
        parse_result(text, text, step())


@given(
    st.lists(
        st.dictionaries(st.integers(1, 10**9), st.integers(1, 1000), min_size=1, max_size=20),
        min_size=1,
        max_size=4,
    )
)
def test_threads_merge_as_if_all_ios_had_been_one_threads(threads) -> None:
    result = parse_result(json.dumps({"jobs": [_job(bins) for bins in threads]}), "", step(stimulus(512)))
    read = result.operations["read"]
    values = [value for bins in threads for value, count in bins.items() for _ in range(count)]
    assert (read.ios, read.latency_min_ns, read.latency_max_ns) == (len(values), min(values), max(values))
    assert read.latency_sum_ns == pytest.approx(sum(values), abs=len(threads))
    buckets = LatencyDistribution.merged([read.histogram]).buckets()
    assert sum(count for _, _, count in buckets) == len(values)
    assert all(any(low <= value <= high for low, high, _ in buckets) for value in values)


BINS = st.dictionaries(st.integers(1, 10**9), st.integers(1, 1000), min_size=1, max_size=20)


@given(st.lists(BINS, min_size=3, max_size=3))
def test_streams_have_the_jobs_in_their_order_and_sum_to_the_whole(threads) -> None:
    wanted = step(stimulus(512, tc=2), stimulus(512))
    result = parse_result(json.dumps({"jobs": [_job(bins) for bins in threads]}), "", wanted)
    one, other = (stream.operations["read"] for stream in result.streams)
    assert (one.ios, other.ios) == (
        sum(map(sum, (t.values() for t in threads[:2]))),
        sum(threads[2].values()),
    )
    whole = result.operations["read"]
    assert (whole.ios, whole.bytes, whole.latency_sum_ns) == (
        one.ios + other.ios,
        one.bytes + other.bytes,
        one.latency_sum_ns + other.latency_sum_ns,
    )
    merged = LatencyDistribution.merged([one.histogram, other.histogram])
    assert LatencyDistribution.merged([whole.histogram]).buckets() == merged.buckets()


def test_a_delayed_stream_ends_later() -> None:
    late = Step((Stream(stimulus(512)), Stream(stimulus(512), delay_ns=4 * 10**9)), SECOND, ramp_ns=10**9)
    result = parse_result(json.dumps({"jobs": [_job({5: 1}), _job({5: 1})]}), "", late)
    assert [stream.after_ns for stream in result.streams] == [0, 3 * 10**9]
    assert result.elapsed_ns == 3 * 10**9 + 10_000_000


def test_jobs_of_other_streams_are_no_result() -> None:
    with pytest.raises(NoResultError, match="its result has 2 jobs"):
        parse_result(json.dumps({"jobs": [_job({5: 1})] * 2}), "", step(stimulus(512, tc=2), stimulus(512)))


def test_failed_ios_are_those_of_the_stream_with_an_error() -> None:
    _, stderr = recorded("read-errors")
    text = json.dumps({"jobs": [_job({5: 8}), *jobs("read-errors")]})
    result = parse_result(text, stderr, step(stimulus(512), stimulus(tc=len(jobs("read-errors")))))
    assert [stream.errors for stream in result.streams] == [0, 2]
    assert sum(errors.count for errors in result.errors) == 2


def test_a_short_transfer_is_found_in_the_stream_that_has_it() -> None:
    (short,) = jobs("short-reads")
    text = json.dumps({"jobs": [_job({5: 8}), short]})
    assert parse_result(text, "", step(stimulus(512), stimulus())).failure is not None
    assert parse_result(text, "", step(stimulus(512), stimulus(512))).failure is None


def _job(bins: dict[int, int]) -> dict[str, Any]:
    ios = sum(bins.values())
    idle = {"total_ios": 0, "io_bytes": 0, "runtime": 0, "lat_ns": {"min": 0, "max": 0, "mean": 0.0, "N": 0}}
    latency = {
        "min": min(bins),
        "max": max(bins),
        "mean": sum(value * count for value, count in bins.items()) / ios,
        "N": ios,
        "bins": {str(value): count for value, count in bins.items()},
    }
    busy = {"total_ios": ios, "io_bytes": ios * 512, "runtime": 10, "lat_ns": latency}
    rest = {"error": 0, "usr_cpu": 1.0, "sys_cpu": 2.0, "job_runtime": 10}
    return {"read": busy, "write": idle, "trim": idle, "sync": idle, **rest}
