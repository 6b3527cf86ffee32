"""The text of a job, feature by feature; whether fio does as it says is shown in tests/device."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.errors import UsageError
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    ActiveRange,
    Batches,
    ByteAmount,
    Capped,
    CapUnit,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    IoPriority,
    Pareto,
    PatternData,
    PriorityClass,
    RandomOnce,
    ReducibleData,
    Step,
    Stream,
    ThinkTime,
    ZeroData,
    Zipf,
    Zone,
    Zones,
)
from openpts_fio.engine.job import FioPath, JobSetting, job_file
from openpts_fio.tests.unit.engine.steps import (
    CAPACITY,
    DRIVE,
    FILE,
    SECOND,
    job,
    options,
    step_job,
    stimulus,
    threads,
)


def test_the_whole_text(golden) -> None:
    text = job(stimulus(tc=2, qd=32, read=65, write=35), Duration(1_500_000_000))
    assert text == golden


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"read": 1}, {"rw": "randread"}),
        ({"write": 3}, {"rw": "randwrite"}),
        ({"read": 1, "random_pct": 0}, {"rw": "read"}),
        ({"write": 1, "random_pct": 0}, {"rw": "write"}),
        ({"read": 1, "random_pct": 0, "stride_bytes": 16384}, {"rw": "read:12288"}),
        ({"read": 1, "random_pct": 0, "stride_bytes": 4096}, {"rw": "read"}),
        ({"read": 13, "write": 7}, {"rw": "randrw", "rwmixread": "65"}),
        ({"trim": 1}, {"rw": "randtrim"}),
        ({"trim": 1, "random_pct": 0}, {"rw": "trim"}),
        ({"write": 8, "fsync": 2}, {"rw": "randwrite", "fsync": "4"}),
        ({"write": 4, "flush": 1}, {"rw": "randwrite", "fsync": "4"}),
        ({"sizes": 131072}, {"bs": "131072", "blockalign": "4096"}),
        ({"sizes": 512}, {"bs": "512", "blockalign": "512"}),
        ({"sizes": 8192, "alignment_bytes": 8192}, {"blockalign": "8192"}),
        ({"sizes": {4096: 67, 65536: 33}}, {"bssplit": "4096/67:65536/33", "blockalign": "4096"}),
        ({"sizes": {4096: 1, 8192: 1, 16384: 2}}, {"bssplit": "4096/25:8192/25:16384/50"}),
        (
            {"placement": Zones((Zone(5, 5), Zone(3, 15), Zone(2, 80)))},
            {"random_distribution": "zoned:50/5:30/15:20/80"},
        ),
        ({"placement": Zipf(1.2)}, {"random_distribution": "zipf:1.2"}),
        ({"placement": Pareto(0.25)}, {"random_distribution": "pareto:0.25"}),
        ({"pacing": ThinkTime(250_000)}, {"thinktime": "250"}),
        ({"pacing": Batches(16, 2_000_000)}, {"thinktime": "2000", "thinktime_blocks": "16"}),
        (
            {"pacing": Batches(16, 2_000_000), "qd": 4},
            {"thinktime": "2000", "thinktime_blocks": "16", "thinktime_blocks_type": "issue"},
        ),
        ({"pacing": Capped(500, CapUnit.IOS)}, {"rate_iops": "500"}),
        ({"pacing": Capped(500, CapUnit.IOS), "tc": 4}, {"rate_iops": "125"}),
        ({"pacing": Capped(500, CapUnit.IOS), "read": 13, "write": 7}, {"rate_iops": "325,175"}),
        ({"pacing": Capped(500, CapUnit.IOS), "tc": 3}, {"rate": "682666"}),  # 500 x 4096 / 3
        ({"pacing": Capped(0.5, CapUnit.IOS)}, {"rate": "2048"}),
        ({"pacing": Capped(500, CapUnit.IOS), "write": 4, "fsync": 1}, {"rate_iops": "400"}),
        ({"pacing": Capped(5e8, CapUnit.BYTES), "write": 4, "fsync": 1}, {"rate": "500000000"}),
        ({"pacing": Capped(100, CapUnit.IOS), "sizes": {4096: 3, 8192: 1}}, {"rate": "512000"}),
        ({"pacing": Capped(1e6, CapUnit.BYTES), "read": 1, "write": 3}, {"rate": "250000,750000"}),
        ({"write": 1, "data": ZeroData()}, {"zero_buffers": "1", "refill_buffers": "1"}),
        ({"write": 1, "data": RandomOnce()}, {"refill_buffers": "0"}),
        ({"write": 1, "data": PatternData(b"\x00\xff\x10")}, {"buffer_pattern": "0x00ff10"}),
        (
            {"write": 1, "data": ReducibleData(30)},
            {"buffer_compress_percentage": "70", "buffer_compress_chunk": "4096", "refill_buffers": "1"},
        ),
        ({"write": 1, "data": ReducibleData(100, 40)}, {"dedupe_percentage": "40"}),
        ({"active_range": ActiveRange(25, 75)}, {"offset": "16777216", "size": "33554432"}),
        ({"qd": 17}, {"iodepth": "17"}),
    ],
)
def test_what_a_stimulus_becomes(wanted, expected) -> None:
    found = options(job(stimulus(**wanted)))
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (Duration(1), {"runtime": "1us", "time_based": "1"}),
        (Duration(500_000_000), {"runtime": "500000us", "time_based": "1"}),
        (ByteAmount(8 * MIB), {"io_size": "8388608"}),
        (ByteAmount(8 * MIB + 1), {"io_size": "8392704"}),
        (DriveFills(0.5), {"io_size": "33554432"}),
        (IoCount(1000), {"number_ios": "1000", "io_size": "4096000"}),
        (FirstOf((Duration(2000), IoCount(9))), {"runtime": "2us", "number_ios": "9", "io_size": "36864"}),
        (FirstOf((ByteAmount(8192), ByteAmount(4096), DriveFills(1))), {"io_size": "4096"}),
    ],
)
def test_what_a_stop_rule_becomes(stop, expected) -> None:
    found = options(job(stimulus(), stop))
    ending = {"runtime", "time_based", "io_size", "number_ios"}
    assert {name: value for name, value in found.items() if name in ending} == expected


def test_a_ramp_comes_before_the_duration() -> None:
    found = options(job(stimulus(), Duration.seconds(1), ramp_ns=250_000_000))
    assert (found["ramp_time"], found["runtime"]) == ("250000us", "1000000us")


READS, WRITES = stimulus(tc=2, qd=4), stimulus(sizes=65536, random_pct=0, write=1)


def test_the_text_of_several_streams(golden) -> None:
    found = step_job(
        Step(
            (
                Stream(READS, "reader"),
                Stream(
                    WRITES,
                    "log writer",
                    delay_ns=250_000_000,
                    stop=IoCount(20),
                    priority=IoPriority(PriorityClass.BEST_EFFORT, 3),
                ),
                Stream(stimulus(trim=1), stop=Duration.seconds(1)),
            ),
            Duration.seconds(2),
        )
    )
    _, _, found = found.partition("clat_percentiles=0\n")
    assert found == golden


@pytest.mark.parametrize(
    ("ramp_s", "delay_s", "own_s", "expected"),
    [
        (0, 0, None, {"runtime": "10000000us"}),
        (0, 2, None, {"startdelay": "2000000us", "runtime": "8000000us"}),
        (0, 2, 3, {"startdelay": "2000000us", "runtime": "3000000us"}),
        (5, 2, None, {"startdelay": "2000000us", "ramp_time": "3000000us", "runtime": "10000000us"}),
        (5, 2, 3, {"startdelay": "2000000us", "ramp_time": "3000000us", "runtime": "3000000us"}),
        (5, 7, None, {"startdelay": "7000000us", "runtime": "8000000us"}),
    ],
)
def test_times_are_counted_from_the_streams_own_start(ramp_s, delay_s, own_s, expected) -> None:
    stop = None if own_s is None else Duration.seconds(own_s)
    stream = Stream(READS, delay_ns=delay_s * 10**9, stop=stop)
    found = options(step_job(Step((stream,), Duration.seconds(10), ramp_s * 10**9)))
    times = {"startdelay", "ramp_time", "runtime"}
    assert {name: value for name, value in found.items() if name in times} == expected


def test_streams_that_end_by_themselves() -> None:
    streams = (Stream(READS, stop=Duration.seconds(3)), Stream(WRITES, stop=ByteAmount(MIB)))
    one, other, last = threads(step_job(Step(streams, STREAMS_END)))
    assert one["runtime"] == other["runtime"] == "3000000us"
    assert last["io_size"] == str(MIB)
    assert "runtime" not in last


@pytest.mark.parametrize(
    ("shares", "tcs", "flows"),
    [
        ((70, 30), (1, 1), ["7", "3"]),
        ((3, 1), (2, 1), ["3", "3", "2"]),
        ((1, 1, 0), (4, 1, 2), ["1"] * 4 + ["4"] + [None] * 2),
        ((5, 0), (3, 1), ["1"] * 3 + [None]),
    ],
)
def test_shares_are_dealt_to_threads(shares, tcs, flows) -> None:
    streams = [Stream(stimulus(tc=tc), share=share) for share, tc in zip(shares, tcs, strict=True)]
    started = threads(step_job(Step(tuple(streams), SECOND)))
    assert [thread.get("flow") for thread in started] == flows


@given(
    per_s=st.floats(1000, 10**6), unit=st.sampled_from(CapUnit), tc=st.integers(1, 9),
    reads=st.sampled_from([0, 25, 65, 100]), sizes=st.sampled_from([4096, {4096: 1, 65536: 3}]),
)  # fmt: skip
def test_the_rates_of_all_threads_and_operations_sum_to_the_cap(per_s, unit, tc, reads, sizes) -> None:
    wanted = stimulus(sizes=sizes, tc=tc, read=reads, write=100 - reads, pacing=Capped(per_s, unit))
    started = threads(job(wanted))
    directions = 1 if reads in {0, 100} else 2
    total_bytes = 0
    for thread in started:
        rates = [int(rate) for rate in thread.get("rate_iops", thread.get("rate", "")).split(",")]
        assert len(rates) == directions
        total_bytes += sum(rates) * (4096 if "rate_iops" in thread else 1)
    mean_bytes = {CapUnit.BYTES: 1, CapUnit.IOS: 4096 if sizes == 4096 else 50_176}[unit]
    # rounded down to whole bytes a second
    assert 0 <= per_s * mean_bytes - total_bytes < tc * directions


def test_a_colon_in_the_targets_name_separates_no_files() -> None:
    setting = JobSetting("/dev/disk/by-path/pci-0000:00:1f.2", direct=True, path=FioPath.LIBAIO, seed=1)
    found = options(job_file(Step.of(READS, SECOND), setting, DRIVE))
    assert found["filename"] == r"/dev/disk/by-path/pci-0000\:00\:1f.2"


def test_flush_and_fsync_differ_on_a_file() -> None:
    assert options(job(stimulus(write=1, flush=1), target=FILE))["fdatasync"] == "1"
    assert options(job(stimulus(write=1, fsync=1), target=FILE))["fsync"] == "1"


def test_reads_need_no_data() -> None:
    found = options(job(stimulus(data=ZeroData())))
    assert not {"refill_buffers", "zero_buffers"} & found.keys()


@pytest.mark.parametrize(("path", "present"), [(FioPath.LIBAIO, {"iodepth"}), (FioPath.PSYNC, set())])
def test_other_paths_have_no_ring(path, present) -> None:
    found = options(job(stimulus(), path=path))
    assert found["ioengine"] == path
    assert {"iodepth", "registerfiles", "fixedbufs"} & found.keys() == present


def test_trims_register_no_buffers() -> None:
    found = options(job(stimulus(trim=1)))
    assert found["registerfiles"] == "1"
    assert "fixedbufs" not in found


def test_random_threads_share_the_range_and_no_two_steps_a_seed() -> None:
    seeds = set()
    for number in range(3):
        started = threads(job(stimulus(tc=4), number=number))
        assert [(thread["offset"], thread["size"]) for thread in started] == [("0", str(CAPACITY))] * 4
        seeds |= {int(thread["randseed"]) for thread in started}
    assert len(seeds) == 3
    assert all(0 < seed < 2**63 and seed % 2 for seed in seeds)
    assert job(stimulus(tc=4)) == job(stimulus(tc=4))


def test_a_random_range_begins_at_the_first_aligned_place() -> None:
    # an active range from 1 % of 131,072 sectors begins at sector 1,310: byte 670,720
    found = options(job(stimulus(sizes=8192, active_range=ActiveRange(1, 100))))
    assert int(found["offset"]) == 671_744  # 164 x 4096
    assert int(found["offset"]) + int(found["size"]) == CAPACITY


SIZES = st.sampled_from([512, 4 * KIB, 12 * KIB, 128 * KIB, MIB])


@given(
    size=SIZES, tc=st.integers(1, 9), start=st.integers(0, 40), length=st.integers(30, 60),
    sectors=st.integers(131_072, 10**9),
)  # fmt: skip
def test_sequential_parts_tile_the_range_but_for_less_than_a_block(size, tc, start, length, sectors) -> None:
    target = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", sectors * 512, 512)
    active = ActiveRange(start, start + length)
    started = threads(job(stimulus(sizes=size, random_pct=0, tc=tc, active_range=active), target=target))
    assert len(started) == tc
    first, end = active.bytes_of(target.user_capacity_bytes, 512)
    at = first
    for thread in started:
        assert int(thread["offset"]) == at
        assert int(thread["size"]) % size == 0
        at += int(thread["size"])
    assert 0 <= end - at < size


@given(
    tc=st.integers(1, 16),
    blocks=st.integers(1, 10**6),
    size=st.sampled_from([512, 4 * KIB, 128 * KIB, MIB]),
    random_pct=st.sampled_from([0, 100]),
)  # fmt: skip
def test_an_amount_is_dealt_out_in_whole_blocks(tc, blocks, size, random_pct) -> None:
    target = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", 1024 * MIB, 512)
    wanted = stimulus(sizes=size, random_pct=random_pct, tc=tc)
    for stop, name, unit in (
        (ByteAmount(blocks * size - 1), "io_size", size),
        (IoCount(blocks), "number_ios", 1),
    ):
        try:
            started = threads(job(wanted, stop, target))
        except UsageError:
            # parts of a sequence differ by a block, so that the smallest may get nothing of twice as many
            assert blocks < 2 * tc
            continue
        shares = [int(thread[name]) for thread in started]
        assert len(shares) == tc
        assert sum(shares) == blocks * unit
        assert all(share > 0 and share % unit == 0 for share in shares)
        if random_pct:
            assert max(shares) - min(shares) <= unit


def test_one_pass_gives_each_thread_its_own_part() -> None:
    started = threads(job(stimulus(sizes=MIB, random_pct=0, tc=3, write=1), DriveFills(1)))
    assert [thread["io_size"] for thread in started] == [thread["size"] for thread in started]
    assert DRIVE.user_capacity_bytes == sum(int(thread["size"]) for thread in started)
