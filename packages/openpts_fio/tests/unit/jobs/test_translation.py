"""Jobs as streams: what each option does to the step. Numbers are those of fio on a device of that size."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from openpts.config_files.written_file import WrittenFileError
from openpts.units import MIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import Partition, TargetFacts, TargetKind
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    Batches,
    BlockSize,
    ByteAmount,
    Capped,
    CapUnit,
    ClosedLoop,
    Duration,
    FirstOf,
    IoCount,
    IoPriority,
    OperationWeights,
    Pareto,
    PatternData,
    Poisson,
    PriorityClass,
    RandomData,
    RandomOnce,
    ReducibleData,
    Steady,
    SteadyFigure,
    Step,
    Stimulus,
    ThinkTime,
    VerifiedData,
    ZeroData,
    Zipf,
    Zone,
    Zones,
)
from openpts.vocabulary.translation import Translation
from openpts_fio.jobs.job_file import parse_jobs
from openpts_fio.jobs.translation import translate

DRIVE = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", 64 * MIB, 512)
GLOBAL = "[global]\ndirect=1\nioengine=libaio\nnorandommap\n"
TIMED = "time_based\nruntime=10\n"


def translated(text: str) -> Translation:
    return translate(parse_jobs((GLOBAL + text).splitlines(), "job.fio", {}), DRIVE)


def only_step(text: str) -> Step:
    (step,) = translated(text).steps
    return step


def stimulus(*options: str) -> Stimulus:
    step = only_step("[job]\n" + TIMED + "\n".join(options))
    assert step.stimulus is not None
    return step.stimulus


def complaints(text: str) -> tuple[str, ...]:
    with pytest.raises(WrittenFileError) as raised:
        translated(text)
    return raised.value.complaints


@pytest.mark.parametrize(
    ("options", "start", "end"),
    [
        ("rw=read bs=64k size=10%", 0, 6_684_672),
        ("rw=read bs=64k size=10% offset=50%", 33_554_432, 40_239_104),
        ("rw=read bs=64k size=80% offset=50%", 33_554_432, 67_108_864),
        ("rw=read bs=64k size=10g", 0, 67_108_864),
        ("rw=read bs=64k offset=33%", 22_151_168, 67_108_864),
        ("rw=read bs=64k offset=33% offset_align=4k size=1m", 22_147_072, 23_195_648),
        ("rw=read bs=64k size=48m offset=32m", 33_554_432, 67_108_864),
    ],
)
def test_the_range_is_that_which_fio_reads(options, start, end) -> None:
    made = stimulus(*options.split())
    assert made.active_range.bytes_of(DRIVE.user_capacity_bytes, DRIVE.sector_bytes) == (start, end)


@pytest.mark.parametrize(
    ("options", "amount_bytes"),
    [
        ("rw=read bs=64k size=1m", MIB),
        ("rw=read bs=64k size=1m loops=3", 3 * MIB),
        ("rw=read bs=64k size=1m io_size=2m", 2 * MIB),
        ("rw=read bs=64k size=1m io_size=50%", MIB // 2),
        ("rw=randread bs=64k size=1m loops=2 io_size=3m", 6 * MIB),
        ("rw=randread bs=64k size=1m numjobs=4", 4 * MIB),
        ("rw=randread bs=64k size=1m number_ios=40", None),
    ],
)
def test_without_time_based_an_amount_ends_it(options, amount_bytes) -> None:
    stop = only_step("[job]\n" + options.replace(" ", "\n")).stop
    expected = FirstOf((ByteAmount(MIB), IoCount(40))) if amount_bytes is None else ByteAmount(amount_bytes)
    assert stop == expected


def test_number_ios_alone_ends_it_where_it_comes_first_each_time_that_it_loops() -> None:
    assert only_step("[job]\nrw=read\nsize=1m\nnumber_ios=10\nloops=3\n").stop == IoCount(30)
    assert only_step("[job]\nrw=read\nsize=1m\nruntime=5\n").stop == FirstOf(
        (Duration(5 * NS_PER_S), ByteAmount(MIB))
    )
    assert only_step("[job]\nrw=read\nsize=1m\nnumber_ios=10\n" + TIMED).stop == Duration(10 * NS_PER_S)


@pytest.mark.parametrize(
    ("options", "pacing"),
    [
        ("rw=randread", ClosedLoop()),
        ("rw=randread rate_iops=100 numjobs=3", Capped(300.0, CapUnit.IOS)),
        ("rw=randread rate=1m,", Capped(float(MIB), CapUnit.BYTES)),
        ("rw=randread rate=,1m", ClosedLoop()),
        ("rw=randwrite rate=,1m", Capped(float(MIB), CapUnit.BYTES)),
        ("rw=randread rate_iops=100 bssplit=4k/50:64k/50", Capped(409_600.0, CapUnit.BYTES)),
        ("rw=randread rate_iops=100 rate_process=poisson", Poisson(100.0)),
        ("rw=randread thinktime=5", ThinkTime(5000)),
        ("rw=randread thinktime=5ms", ThinkTime(5 * NS_PER_MS)),
        ("rw=randread thinktime=5 thinktime_blocks=7", Batches(7, 5000)),
        ("rw=randwrite rate_iops=80 fsync=4", Capped(100.0, CapUnit.IOS)),
        (
            "rw=randread rate_iops=100 thinktime=5 thinktime_blocks=7",
            Batches(7, 5000, Capped(100.0, CapUnit.IOS)),
        ),
        ("rw=randread rate=1m, thinktime=5 thinktime_blocks=7", Batches(7, 5000, Capped(MIB, CapUnit.BYTES))),
        ("rw=randwrite rate=1m,,1m thinktime=5 thinktime_blocks=7", Batches(7, 5000)),
    ],
)
def test_pacing(options, pacing) -> None:
    assert stimulus(*options.split()).pacing == pacing


def test_a_mix_alike_in_both_directions_is_one_stream_in_the_ratio_of_its_rates() -> None:
    made = stimulus("rw=randrw", "rwmixread=50", "rate_iops=5250,1750")
    assert made.operations == OperationWeights(read=3, write=1)
    assert made.pacing == Capped(7000.0, CapUnit.IOS)
    assert stimulus("rw=randrw", "rwmixread=10", "rwmixwrite=30").operations == OperationWeights(70, 30)


def test_what_is_not_alike_is_a_stream_for_reads_and_one_for_writes() -> None:
    step = only_step("[db]\nrw=randrw\nbs=4k,16k\niodepth=8\nrate_iops=300,100\n" + TIMED)
    assert [(s.name, s.stimulus.block_size_bytes, s.stimulus.pacing) for s in step.streams] == [
        ("db.read", 4096, Capped(300.0, CapUnit.IOS)),
        ("db.write", 16384, Capped(100.0, CapUnit.IOS)),
    ]
    assert step.stop == Duration(10 * NS_PER_S)
    # without rates the queue is divided, and the ratio is held
    step = only_step("[db]\nrw=randrw\nrwmixread=75\nbs=4k,16k\niodepth=8\n" + TIMED)
    assert [(s.share, s.stimulus.qd) for s in step.streams] == [(75, 6), (25, 2)]
    # one rate limits its direction alone
    step = only_step("[db]\nrw=randrw\niodepth=8\nrate_iops=300,\n" + TIMED)
    assert [s.stimulus.pacing for s in step.streams] == [Capped(300.0, CapUnit.IOS), ClosedLoop()]


def test_reads_and_writes_of_a_queue_of_one_are_refused() -> None:
    assert complaints("[db]\nrw=randrw\nbs=4k,16k\n" + TIMED)[0].startswith("job.fio:6:1: rw=randrw: ")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("rw=randread numjobs=3", ["job"]),
        ("rw=randread numjobs=3 percentage_random=50", ["job"]),
        ("rw=read numjobs=2", ["job.1", "job.2"]),
        ("rw=read numjobs=2 size=32m offset_increment=32m", ["job"]),
        ("rw=randread numjobs=2 offset_increment=25%", ["job.1", "job.2"]),
    ],
)
def test_threads_are_one_stream_where_they_share_a_range_or_tile_it(options, names) -> None:
    step = only_step("[job]\n" + TIMED + options.replace(" ", "\n"))
    assert [stream.name for stream in step.streams] == names
    assert sum(stream.stimulus.tc for stream in step.streams) == int(options.split("numjobs=")[1][0])


@pytest.mark.parametrize(
    ("options", "qd", "noted"),
    [
        ("rw=randread iodepth=16", 16, False),
        ("rw=randread iodepth=16 ioengine=psync", 1, True),
        ("rw=trim bs=1m iodepth=16", 1, True),
        ("rw=trim bs=1m iodepth=16 ioengine=io_uring_cmd", 16, False),
    ],
)
def test_queue_depth(options, qd, noted) -> None:
    found = translated("[job]\n" + TIMED + options.replace(" ", "\n"))
    assert found.steps[0].stimuli[0].qd == qd
    assert any("iodepth" in note for note in found.notes) == noted


@pytest.mark.parametrize(
    ("options", "data"),
    [
        ("", RandomData()),
        ("scramble_buffers=0", RandomOnce()),
        ("scramble_buffers=0\nrefill_buffers", RandomData()),
        ("zero_buffers", ZeroData()),
        ("buffer_pattern=0xdeadbeef", PatternData(b"\xde\xad\xbe\xef")),
        ('buffer_pattern="abc"', PatternData(b"abc")),
        ("buffer_compress_percentage=0", RandomData()),
        ("buffer_compress_percentage=75\nbuffer_compress_chunk=512", ReducibleData(25, 0, 512)),
        ("dedupe_percentage=30", ReducibleData(100, 30, 4096)),
    ],
)
def test_data(options, data) -> None:
    assert stimulus("rw=randwrite", options).data == data


@pytest.mark.parametrize(
    ("option", "placement"),
    [
        ("zipf:1.2", Zipf(1.2)),
        ("pareto:0.2:0.1", Pareto(0.2)),
        # as fio's own debug output has them
        ("zoned:50/5:30/15:20/", Zones((Zone(50, 5), Zone(30, 15), Zone(20, 80)))),
        ("zoned:60/10:20:20", Zones((Zone(60, 10), Zone(20, 45), Zone(20, 45)))),
        ("zoned:60/10:40/90", Zones((Zone(60, 10), Zone(40, 90)))),
        ("zoned_abs:60/8m:40/24m", Zones((Zone(60, 25), Zone(40, 75)))),
    ],
)
def test_distributions(option, placement) -> None:
    made = stimulus("rw=randread", f"random_distribution={option}")
    assert made.placement == placement
    end = 32 * MIB if option.startswith("zoned_abs") else 64 * MIB
    assert made.active_range.bytes_of(DRIVE.user_capacity_bytes, DRIVE.sector_bytes) == (0, end)


def test_sizes_alignment_holes_syncs_and_priority() -> None:
    assert stimulus("rw=read", "bsrange=4k-16k").block_sizes == tuple(
        BlockSize(size << 10) for size in (4, 8, 12, 16)
    )
    assert stimulus("rw=randread", "bs=64k").alignment_bytes == 65536
    assert stimulus("rw=randread", "bs=64k", "ba=4k").alignment_bytes is None
    assert stimulus("rw=write:60k", "bs=4k").stride_bytes == 65536
    assert stimulus("rw=randwrite", "fsync=8").operations == OperationWeights(write=8, fsync=1)
    assert stimulus("rw=randrw", "fdatasync=3").operations == OperationWeights(150, 150, flush=50)
    (stream,) = only_step("[job]\nrw=read\nprio=3\n" + TIMED).streams
    assert stream.priority == IoPriority(PriorityClass.BEST_EFFORT, 3)


@pytest.mark.parametrize(
    ("options", "handle"),
    [
        ("rw=randwrite fdp=1 fdp_pli=2", 2),
        ("rw=randrw fdp plids=0", 0),
        ("rw=write dataplacement=fdp plids=5", 5),
        ("rw=write fdp=1 plids=5 dataplacement=none", UNSET),
        ("rw=write fdp=0 plids=5", UNSET),
        ("rw=write plids=5", UNSET),
        ("rw=read fdp=1 plids=5", UNSET),
    ],
)
def test_writes_name_the_placement_handle_of_the_job(options, handle) -> None:
    assert stimulus(*options.split()).placement_handle == handle


def test_a_later_line_replaces_only_the_directions_that_it_names() -> None:
    step = only_step("[global]\nbs=8k\n[job]\nrw=randrw\niodepth=4\nbs=,64k\nrate_iops=10\n" + TIMED)
    assert [stream.stimulus.block_size_bytes for stream in step.streams] == [8192, 65536]


def test_stonewalls_divide_delays_and_equal_ends_unite() -> None:
    found = translated(
        "[global]\nrw=randread\n"
        + TIMED
        + "[a]\n[a]\nstartdelay=2\nruntime=8\n[b]\nstonewall\n[c]\nstartdelay=5\n"
        + "[d]\nwait_for_previous\nramp_time=3\n"
    )
    first, second, third = found.steps
    assert [(s.name, s.delay_ns, s.stop) for s in first.streams] == [
        ("a", 0, None),
        ("a#2", 2 * NS_PER_S, None),
    ]
    assert first.stop == Duration(10 * NS_PER_S)
    assert second.stop == STREAMS_END
    assert [s.stop for s in second.streams] == [Duration(10 * NS_PER_S)] * 2
    assert (third.ramp_ns, third.stop) == (3 * NS_PER_S, Duration(10 * NS_PER_S))


def test_a_steady_state_is_that_of_the_step() -> None:
    text = "[global]\nrw=write\nss=bw_slope:0.1%\nss_dur=300\nss_ramp=60\ngroup_reporting\nramp_time=30\n"
    step = only_step(text + TIMED + "[a]\n[b]\n")
    steady = Steady(SteadyFigure.THROUGHPUT, NS_PER_S, 300, 1e9, pytest.approx(29.9))
    assert step.stop == FirstOf((steady, Duration(10 * NS_PER_S)))
    assert step.ramp_ns == 90 * NS_PER_S
    iops = only_step("[a]\nrw=read\nss=iops:2%\nss_dur=10\nloops=100\n").stop
    assert isinstance(iops, FirstOf)
    assert iops.rules[0] == Steady(SteadyFigure.IOPS, NS_PER_S, 10, 2, 1e9)
    assert (
        "of each of several jobs"
        in complaints(text.replace("group_reporting\n", "") + TIMED + "[a]\n[b]\n")[0]
    )


def test_the_windows_of_a_steady_state_are_as_long_as_fio_checks_it() -> None:
    step = only_step(f"[job]\nrw=read\n{TIMED}ss=iops:2%\nss_dur=300\nss_interval=30s\n")
    assert step.stop == FirstOf(
        (Steady(SteadyFigure.IOPS, 30 * NS_PER_S, 10, 2, 1e9), Duration(10 * NS_PER_S))
    )


def test_jobs_of_one_flow_share_in_it_by_whatever_number() -> None:
    text = f"[global]\nrw=read\n{TIMED}flow_id=1\n[a]\nflow=3\n[b]\nflow=1\n"
    assert [stream.share for stream in only_step(text).streams] == [3, 1]
    assert complaints(text + "flow_id=2\n")[0].endswith(
        "flow_id=2: is not the same in all jobs side by side that have a flow"
    )


@pytest.mark.parametrize(
    "option",
    [
        "rw=read:-8k", "hostname=a", "sg_write_mode=verify_bytchk_01", "num_range=8", "rw=write\nfdp=1",
        "rw=write\nfdp=1\nfdp_pli=4,5", "rw=write\nfdp=1\nplids=65536",
        "rw=write\ndataplacement=streams\nplids=1", "rw=randread\nrandom_distribution=zoned:9/",
    ],
)  # fmt: skip
def test_what_openpts_lacks_is_named(option, snapshot) -> None:
    assert complaints(f"[job]\n{option}\n") == snapshot


def test_what_is_written_in_sequence_and_verified_is_read_back_in_another_step() -> None:
    write, read = translated("[job]\nrw=write\nbs=64k\nverify=crc32c\n").steps
    assert (write.stop, read.stop) == (ByteAmount(64 * MIB), ByteAmount(64 * MIB))
    assert [step.stimuli[0].operations for step in (write, read)] == [
        OperationWeights(write=1),
        OperationWeights(read=1),
    ]
    assert all(step.stimuli[0].data == VerifiedData(1) for step in (write, read))
    assert len(translated("[job]\nrw=write\nverify=md5\ndo_verify=0\n").steps) == 1
    assert len(translated("[job]\nrw=read\nverify=md5\n").steps) == 1
    for refused in ("rw=randwrite", "rw=write\nruntime=10\ntime_based", "rw=write\nsize=50%\nio_size=1m"):
        assert "verify=md5" in complaints(f"[job]\n{refused}\nverify=md5\n")[0]


def test_all_refusals_of_a_file_are_listed_and_a_job_can_turn_one_off() -> None:
    found = complaints("[global]\nmax_latency=5\n[a]\nrw=red\n[b]\ndirect=0\nrw=read\n[c]\nbs=0\n")
    lines = {int(one.split(":")[1]): one.split(":")[3].strip() for one in found}
    assert lines == {6: "max_latency=5", 8: "rw=red", 10: "direct=0", 13: "bs=0"}
    assert translated("[global]\nexitall=1\n[a]\nexitall=0\nrw=read\n").ignored


def test_a_job_for_a_partition_stays_in_it() -> None:
    parts = (Partition("/dev/drive1", MIB, 20 * MIB), Partition("/dev/drive2", 21 * MIB, 43 * MIB))
    drive = replace(DRIVE, partitions=parts)
    text = (
        GLOBAL + TIMED + "rw=randread\n[one]\nfilename=/dev/drive1\n[two]\nfilename=/dev/drive2\nsize=50%\n"
    )
    (step,) = translate(parse_jobs(text.splitlines(), "job.fio", {}), drive).steps
    one, two = (stream.stimulus.active_range.bytes_of(64 * MIB, 512) for stream in step.streams)
    assert one == (MIB, 21 * MIB)
    assert two == (21 * MIB, 21 * MIB + 43 * MIB // 2)


@pytest.mark.parametrize(
    "text",
    ["[one]\nfilename=/dev/a\n[two]\nfilename=/dev/b\n", "[one]\nfilename=/dev/a:/dev/b\n"],
    ids=["one each", "several in one"],
)
def test_jobs_for_several_targets_are_refused(text, snapshot) -> None:
    with pytest.raises(WrittenFileError) as raised:
        translated("rw=read\n" + text)
    assert str(raised.value) == snapshot


def test_a_name_without_a_value_stands_for_the_target() -> None:
    assert translated(TIMED + "rw=read\nfilename=${DEV}\n[one]\n[two]\n").steps


def test_atomic_writes_are_asked_for_by_their_option() -> None:
    assert stimulus("rw=randwrite", "atomic=1").atomic is True
    for options in (("rw=randwrite",), ("rw=randwrite", "atomic=0"), ("rw=randread", "atomic=1")):
        assert stimulus(*options).atomic is UNSET
