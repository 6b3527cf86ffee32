"""The text of a job, feature by feature; whether fio does as it says is shown in tests/device."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.engine.fio.job import FioPath
from openpts.errors import UsageError
from openpts.units import KIB, MIB
from openpts.vocabulary.data import PatternData, RandomOnce, ReducibleData, ZeroData
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.placement import Pareto, Zipf, Zone, Zones
from openpts.vocabulary.stimulus import ActiveRange, ThinkTime
from openpts.vocabulary.stop import ByteAmount, DriveFills, Duration, FirstOf, IoCount, StopRule
from tests.unit.engine.fio.steps import CAPACITY, DRIVE, FILE, job, options, sections, stimulus


def test_the_whole_text() -> None:
    text = job(stimulus(tc=2, qd=32, read=65, write=35), Duration(1_500_000_000))
    seeds = [section["randseed"] for name, section in sections(text).items() if name != "global"]
    assert (
        text
        == f"""[global]
filename=/proc/self/fd/7
allow_file_create=0
invalidate=0
direct=1
ioengine=io_uring
thread=1
norandommap=1
randrepeat=0
random_generator=tausworthe64
scramble_buffers=0
lat_percentiles=1
clat_percentiles=0
iodepth=32
iodepth_batch_submit=8
iodepth_batch_complete_min=1
iodepth_batch_complete_max=32
registerfiles=1
fixedbufs=1
rw=randrw
rwmixread=65
bs=4096
blockalign=4096
refill_buffers=1

[thread0]
offset=0
size=67108864
randseed={seeds[0]}
runtime=1500000us
time_based=1

[thread1]
offset=0
size=67108864
randseed={seeds[1]}
runtime=1500000us
time_based=1

"""
    )


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
def test_what_a_stimulus_becomes(wanted: dict[str, Any], expected: dict[str, str]) -> None:
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
def test_what_a_stop_rule_becomes(stop: StopRule, expected: dict[str, str]) -> None:
    found = options(job(stimulus(), stop))
    ending = {"runtime", "time_based", "io_size", "number_ios"}
    assert {name: value for name, value in found.items() if name in ending} == expected


def test_a_ramp_comes_before_the_duration() -> None:
    found = options(job(stimulus(), Duration.seconds(1), ramp_ns=250_000_000))
    assert (found["ramp_time"], found["runtime"]) == ("250000us", "1000000us")


def test_flush_and_fsync_differ_on_a_file() -> None:
    assert options(job(stimulus(write=1, flush=1), target=FILE))["fdatasync"] == "1"
    assert options(job(stimulus(write=1, fsync=1), target=FILE))["fsync"] == "1"


def test_reads_need_no_data() -> None:
    found = options(job(stimulus(data=ZeroData())))
    assert not {"refill_buffers", "zero_buffers"} & found.keys()


@pytest.mark.parametrize(("path", "present"), [(FioPath.LIBAIO, {"iodepth"}), (FioPath.PSYNC, set())])
def test_other_paths_have_no_ring(path: FioPath, present: set[str]) -> None:
    found = options(job(stimulus(), path=path))
    assert found["ioengine"] == path
    assert {"iodepth", "registerfiles", "fixedbufs"} & found.keys() == present


def test_trims_register_no_buffers() -> None:
    found = options(job(stimulus(trim=1)))
    assert found["registerfiles"] == "1"
    assert "fixedbufs" not in found


def test_random_threads_share_the_range_and_no_two_of_any_step_share_a_seed() -> None:
    seeds = []
    for number in range(3):
        found = sections(job(stimulus(tc=4), number=number))
        threads = [section for name, section in found.items() if name != "global"]
        assert {(thread["offset"], thread["size"]) for thread in threads} == {("0", str(CAPACITY))}
        seeds += [int(thread["randseed"]) for thread in threads]
    assert len(set(seeds)) == 12
    assert all(0 < seed < 2**63 and seed % 2 for seed in seeds)
    again = sections(job(stimulus(tc=4), number=0))
    assert [int(again[f"thread{thread}"]["randseed"]) for thread in range(4)] == seeds[:4]


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
def test_sequential_parts_tile_the_range_but_for_less_than_a_block(
    size: int, tc: int, start: int, length: int, sectors: int
) -> None:
    target = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", sectors * 512, 512)
    active = ActiveRange(start, start + length)
    found = sections(job(stimulus(sizes=size, random_pct=0, tc=tc, active_range=active), target=target))
    threads = [found[f"thread{thread}"] for thread in range(tc)]
    first, end = active.bytes_of(target.user_capacity_bytes, 512)
    at = first
    for thread in threads:
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
def test_an_amount_is_dealt_out_in_whole_blocks(tc: int, blocks: int, size: int, random_pct: int) -> None:
    target = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", 1024 * MIB, 512)
    wanted = stimulus(sizes=size, random_pct=random_pct, tc=tc)
    for stop, name, unit in (
        (ByteAmount(blocks * size - 1), "io_size", size),
        (IoCount(blocks), "number_ios", 1),
    ):
        try:
            found = sections(job(wanted, stop, target))
        except UsageError as error:
            # parts of a sequence differ by a block, so that the smallest may get nothing of twice as many
            assert "leaves nothing to do" in str(error)  # noqa: PT017
            assert blocks < 2 * tc
            continue
        shares = [int(found[f"thread{thread}"][name]) for thread in range(tc)]
        assert sum(shares) == blocks * unit
        assert all(share > 0 and share % unit == 0 for share in shares)
        if random_pct:
            assert max(shares) - min(shares) <= unit


def test_one_pass_gives_each_thread_its_own_part() -> None:
    found = sections(job(stimulus(sizes=MIB, random_pct=0, tc=3, write=1), DriveFills(1)))
    threads = [found[f"thread{thread}"] for thread in range(3)]
    assert [thread["io_size"] for thread in threads] == [thread["size"] for thread in threads]
    assert DRIVE.user_capacity_bytes == sum(int(thread["size"]) for thread in threads)
