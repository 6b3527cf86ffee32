"""Words of `openpts io`, and what they mean: every option, and what is refused by its name."""

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from openpts.cli.options import group, with_options
from openpts.engine.options import CompletionWait, IoPath
from openpts.errors import UsageError
from openpts.vocabulary.stimulus import (
    ActiveRange,
    BlockSize,
    Burst,
    ByteAmount,
    ClosedLoop,
    DriveFills,
    Duration,
    DutyCycle,
    FirstOf,
    FixedRate,
    IoCount,
    Normal,
    OperationWeights,
    Pareto,
    PatternData,
    Poisson,
    RandomData,
    RandomOnce,
    ReducibleData,
    Segments,
    Steady,
    SteadyFigure,
    Stimulus,
    ThinkTime,
    Uniform,
    UniqueLbas,
    VerifiedData,
    ZeroData,
    Zipf,
    Zone,
    Zones,
)
from openpts_io import io as io_command
from openpts_io.io_options import IoArgs
from openpts_io.measure import MeasurementRequest


def orders(*words: str, targets: tuple[str, ...] = ("file:/etc/hostname",)) -> list[MeasurementRequest]:
    """What the words ask for, by the options as the command has them."""
    made: list[MeasurementRequest] = []

    @click.command()
    @with_options
    def parse(*, given: IoArgs = group(IoArgs)) -> None:
        made.extend(io_command.orders_of(targets, given))

    result = CliRunner().invoke(parse, list(words), catch_exceptions=False, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return made


def order(*words: str) -> MeasurementRequest:
    (only,) = orders(*words)
    return only


def stimulus(*words: str) -> Stimulus:
    made = order(*words).steps[0].stimulus
    assert made is not None
    return made


def test_without_options_it_reads_4_kib_at_random_for_ten_seconds() -> None:
    step = order().steps[0]
    assert step.stimulus == Stimulus(
        random_pct=100, block_sizes=(BlockSize(4096),), operations=OperationWeights(read=100), tc=1, qd=32
    )
    assert (step.stop, step.ramp_ns) == (Duration(10_000_000_000), 0)


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("--bs 512", "block_sizes", (BlockSize(512),)),
        ("--bs 4KiB:67,8k:33", "block_sizes", (BlockSize(4096, 67), BlockSize(8192, 33))),
        ("--mix 0/100 --trim 5 --flush 2", "operations", OperationWeights(0, 100, 5, 2)),
        ("--fsync 1", "operations", OperationWeights(read=100, fsync=1)),
        ("--mix 0/100 --placement-handle 3", "placement_handle", 3),
        ("--ops read=70,write=20,trim=5,flush=4,fsync=1", "operations", OperationWeights(70, 20, 5, 4, 1)),
        ("--pattern sequential", "random_pct", 0),
        ("--random-pct 35", "random_pct", 35),
        ("--range 0:75", "active_range", ActiveRange(0, 75)),
        ("--range 12.5:50", "active_range", ActiveRange(12.5, 50)),
        ("--zones 50/5,30/15,20/80", "placement", Zones((Zone(50, 5), Zone(30, 15), Zone(20, 80)))),
        ("--zipf 1.2", "placement", Zipf(1.2)),
        ("--pareto 0.2", "placement", Pareto(0.2)),
        ("--normal 50,10", "placement", Normal(50, 10)),
        ("--segments 16:1MiB", "placement", Segments(16, 2**20)),
        ("--unique 8GiB", "placement", UniqueLbas(2**33)),
        ("--align 64k", "alignment_bytes", 65536),
        ("--pattern sequential --stride 1m", "stride_bytes", 2**20),
        ("--tc 4", "tc", 4),
        ("--qd 128", "qd", 128),
        ("--rate 5000", "pacing", FixedRate(5000)),
        ("--poisson 1e4", "pacing", Poisson(10000)),
        ("--burst 32@100", "pacing", Burst(32, 100_000_000)),
        ("--duty 250/750.5", "pacing", DutyCycle(250_000_000, 750_500_000)),
        ("--think 1.5", "pacing", ThinkTime(1500)),
        ("--mix 0/100 --data random", "data", RandomData()),
        ("--mix 0/100 --data random-once", "data", RandomOnce()),
        ("--mix 0/100 --data zero", "data", ZeroData()),
        ("--mix 0/100 --data pattern:deadBEEF", "data", PatternData(b"\xde\xad\xbe\xef")),
        ("--mix 0/100 --data entropy:46,dup:20,granule:8k", "data", ReducibleData(46, 20, 8192)),
        ("--data verified:7", "data", VerifiedData(7)),
    ],
)
def test_every_word_of_the_stimulus_means_what_it_says(words, field, value) -> None:
    assert getattr(stimulus(*words.split()), field) == value


def test_what_is_not_said_is_uniform_and_closed() -> None:
    made = stimulus("--bs", "8k")
    assert (made.placement, made.pacing, made.data) == (Uniform(), ClosedLoop(), RandomData())


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("--seconds 0.25", Duration(250_000_000)),
        ("--bytes 1.5GB", ByteAmount(1_500_000_000)),
        ("--fills 2", DriveFills(2)),
        ("--ios 1000", IoCount(1000)),
        ("--until-steady iops", Steady(SteadyFigure.IOPS, 1_000_000_000, 5, 20, 10)),
        (
            "--until-steady latency,window=2,windows=9,excursion=5,slope=2.5",
            Steady(SteadyFigure.MEAN_LATENCY, 2_000_000_000, 9, 5, 2.5),
        ),
        ("--interval 0.1 --until-steady throughput,window=0.3", Steady(SteadyFigure.THROUGHPUT, 300_000_000)),
        ("--seconds 60 --bytes 1GiB", FirstOf((Duration.seconds(60), ByteAmount(2**30)))),
        ("--ios 9 --seconds 1", FirstOf((Duration.seconds(1), IoCount(9)))),
    ],
)
def test_what_ends_it(words, rule) -> None:
    assert order(*words.split()).steps[0].stop == rule


def test_the_engines_words() -> None:
    made = order(
        *("--io-path", "sync", "--wait", "batched", "--cpus", "0", "--max-errors", "3"),
        *("--interval", "0.01", "--seed", "42", "--ramp", "1.5"),
    )
    options = made.options
    assert (options.io_path, options.completion_wait) == (IoPath.SYNC, CompletionWait.BATCHED)
    assert (options.cpus, made.pin_to_node) == ((0,), False)
    assert (options.most_errors, options.interval_ns) == (3, 10_000_000)
    assert (made.seed, made.steps[0].ramp_ns) == (42, 1_500_000_000)
    assert order().pin_to_node
    assert not order("--cpus", "none").pin_to_node
    assert order("--cpus", "none").options.cpus == ()


def test_all_targets_get_the_same_seed() -> None:
    first, second = orders(targets=("file:/etc/hostname", "file:/etc/passwd"))
    assert first.seed == second.seed


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--bs 4x", "--bs"),
        ("--bs 700", "--bs"),
        ("--bs 4k:1,4k:2", "--bs"),
        ("--bs " + ",".join(f"{n}k:1" for n in range(1, 66)), "--bs"),
        ("--mix 70/40", "--mix"),
        ("--mix 50/50 --ops read=1", "--ops and --mix"),
        ("--ops read=0", "--ops"),
        ("--pattern random --random-pct 5", "--pattern and --random-pct"),
        ("--range 50:50", "--range"),
        ("--zones 50/5,50/90", "--zones"),
        ("--zipf 0", "--zipf"),
        ("--pareto 0.5", "--pareto"),
        ("--normal 50,0", "--normal"),
        ("--segments 0:1MiB", "--segments"),
        ("--unique 8g", "--unique"),
        ("--pattern sequential --zipf 1", "--zipf"),
        ("--align 0", "--align"),
        ("--stride 8k", "--stride"),
        ("--rate 0", "--rate"),
        ("--burst 0@10", "--burst"),
        ("--duty 10/0", "--duty"),
        ("--think 0", "--think"),
        ("--mix 0/100 --data noise", "--data"),
        ("--mix 0/100 --data entropy:101", "--data"),
        ("--mix 0/100 --data verified:x", "--data"),
        ("--bytes 0B", "--bytes"),
        ("--until-steady speed", "--until-steady"),
        ("--until-steady iops,window=0.5", "--until-steady"),
        ("--cpus 0-", "--cpus"),
    ],
)
def test_nonsense_is_refused_by_its_name(words, named) -> None:
    with pytest.raises(UsageError, match=named) as raised:
        order(*words.split())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "words", ["--seconds nan", "--fills inf", "--tc 0", "--seconds 0", "--interval 0.001", "--io-path aio"]
)
def test_what_is_out_of_bounds_is_refused_by_click(words) -> None:
    with pytest.raises(click.UsageError) as raised:
        order(*words.split())
    assert words.split(maxsplit=1)[0] in raised.value.format_message()


def test_a_target_is_named_once() -> None:
    with pytest.raises(UsageError, match="twice"):
        orders(targets=("file:/etc/hostname", "file:/etc/hostname"))


WEIGHTS = st.lists(st.integers(1, 1000), min_size=1, max_size=64)


@given(WEIGHTS)
def test_any_mix_of_sizes_comes_back(weights) -> None:
    sizes = tuple(BlockSize(512 * (n + 1), weight) for n, weight in enumerate(weights))
    word = ",".join(f"{size.block_size_bytes}:{size.weight}" for size in sizes)
    assert stimulus("--bs", word).block_sizes == sizes


OPTIONS = ("--bs", "--mix", "--ops", "--range", "--zones", "--normal", "--segments", "--burst", "--data")


@given(st.sampled_from(OPTIONS), st.text(st.characters(codec="ascii"), max_size=20))
def test_no_text_is_more_than_refused(option, text) -> None:
    complaint = option
    try:
        stimulus(f"{option}={text}")
    except UsageError as error:
        complaint = str(error)
    assert option in complaint
