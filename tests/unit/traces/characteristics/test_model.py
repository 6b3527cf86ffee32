"""Models of traces: what is made of them against theory and NumPy, and how like their traces they are."""

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from openpts.cli.main import cli
from openpts.errors import TraceError
from openpts_traces.characteristics.distances import distances
from openpts_traces.characteristics.model import TraceModel, modeled
from openpts_traces.characteristics.native import Selection
from tests.unit.traces.characteristics.traces import Ios, figures_of, write_trace

READ = '[[stream]]\noperation = "read"\nsize_bytes = 4096\n'
PLACES = "[read]\nranks = [1]\nfirst_per_10k = 10000\nfirst_of_other_per_10k = 0\ndistances = []\n"


def model(
    arrivals: str = 'process = "poisson"',
    steps: str = "[[10, [1000]]]",
    stream: str = READ,
    places: str = PLACES,
    seed: int = 1,
) -> str:
    return (
        f'name = "m"\nseed = {seed}\nrange_bytes = 1073741824\nsteps = {steps}\n\n'
        f"[[arrivals]]\nstreams = [0]\n{arrivals}\n\n{stream}\n{places}"
    )


def made(tmp_path: Path, text: str) -> dict[str, np.ndarray]:
    """The I/Os of a model, as the canonical form has them."""
    source, out = tmp_path / "model.toml", tmp_path / "made.parquet"
    source.write_text(text)
    out.unlink(missing_ok=True)
    words = ["trace", "convert", str(source), "-o", str(out)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    table = pq.read_table(out)
    return {name: table[name].to_numpy() for name in ("t_ns", "offset_bytes", "length_bytes", "operation")}


def counts_of(at_ns: np.ndarray, width_ns: float, end_ns: float) -> np.ndarray:
    return np.histogram(at_ns, np.arange(0, end_ns + 1, width_ns))[0]


def test_independent_arrivals_have_exponential_gaps_and_the_rates_of_the_steps(tmp_path: Path) -> None:
    at = made(tmp_path, model(steps="[[10, [1000]], [5, [0]], [10, [4000]]]"))["t_ns"]
    first, none, last = (
        at[(at >= low) & (at < high)] for low, high in ((0, 10e9), (10e9, 15e9), (15e9, 25e9))
    )
    assert not len(none)
    for part, rate in ((first, 1000), (last, 4000)):
        assert stats.kstest(np.diff(part) / 1e9, stats.expon(scale=1 / rate).cdf).pvalue > 0.001
        assert stats.poisson(rate * 10).cdf(len(part)) == pytest.approx(0.5, abs=0.4995)


@pytest.mark.slow
def test_two_rates_have_the_dispersion_of_theory(tmp_path: Path) -> None:
    # MMPP-2: 1 + A (1 - (1 - exp(-r t)) / (r t)) of the counts in t, A = 2 Var / (r mean)
    rates, seconds, mean, length_s = np.array([3.0, 1 / 3]), np.array([0.05, 0.15]), 2000.0, 400
    arrivals = f"process.mmpp = {{ rates = {rates.tolist()}, seconds = {seconds.tolist()} }}"
    at = made(tmp_path, model(arrivals, f"[[{length_s}, [{mean}]]]"))["t_ns"]
    shares = seconds / seconds.sum()
    assert (rates * shares).sum() == pytest.approx(1)
    r = (1 / seconds).sum()
    limit = 2 * mean * (shares * (rates - 1) ** 2).sum() / r
    for width_s in (0.001, 0.01, 0.1, 1.0):
        counts = counts_of(at, width_s * 1e9, length_s * 1e9)
        theory = 1 + limit * (1 - -np.expm1(-r * width_s) / (r * width_s))
        assert counts.var() / counts.mean() == pytest.approx(
            theory, rel=0.05 + 3 * (2 / len(counts)) ** 0.5
        ), width_s


def test_trains_have_their_lengths_and_gaps_and_the_rate_of_the_step(tmp_path: Path) -> None:
    trains = (
        "process.on-off = { lengths = [[3, 3, 3], [40, 40, 1]], gaps_within_ns = [[9000, 11000, 1]], "
        "gaps_between_ns = [[1000000, 3000000, 1]], first = [], next = [[1]] }"
    )
    at = made(tmp_path, model(trains, "[[50, [2000]]]"))["t_ns"]
    gaps = np.diff(at)
    within = gaps[gaps < 100_000]
    assert (within.min(), within.max()) == (9000, 11000)
    ends = np.flatnonzero(gaps >= 100_000)
    lengths = np.diff(ends)
    assert set(lengths) == {3, 40}
    assert (lengths == 3).mean() == pytest.approx(0.75, abs=0.02)
    assert len(at) == pytest.approx(100_000, rel=0.03)


def stack_distances(places: np.ndarray) -> np.ndarray:
    """Distinct others since the last use of each, by brute force; -1 for the first use."""
    stack: OrderedDict[int, None] = OrderedDict()
    found = []
    for place in places.tolist():
        if place in stack:
            keys = list(reversed(stack))
            found.append(keys.index(place))
            stack.move_to_end(place)
        else:
            found.append(-1)
            stack[place] = None
    return np.array(found)


def test_places_are_used_again_at_the_distances_of_the_model(tmp_path: Path) -> None:
    places = (
        "[read]\nranks = []\nfirst_per_10k = 500\nfirst_of_other_per_10k = 0\n"
        "distances = [[5, 5, 1], [60, 60, 2], [200, 300, 1]]\n"
    )
    offsets = made(tmp_path, model(places=places))["offset_bytes"]
    found = stack_distances(offsets // 4096)
    late = found[np.cumsum(found < 0) > 301]
    assert (late < 0).mean() == pytest.approx(0.05, abs=0.01)
    again = late[late >= 0]
    assert set(again[again < 200]) == {5, 60}
    assert again.max() <= 300
    assert (again == 60).mean() == pytest.approx(0.5, abs=0.03)
    assert stats.kstest(again[again >= 200], stats.uniform(200, 101).cdf).pvalue > 1e-4


def test_runs_go_on_as_often_as_the_model_says(tmp_path: Path) -> None:
    stream = READ + "continues_per_10k = [1000, 9000]\n"
    offsets = made(tmp_path, model(stream=stream))["offset_bytes"]
    goes_on = offsets[1:] == offsets[:-1] + 4096
    early, late = goes_on[1:][~goes_on[:-1]], goes_on[1:][goes_on[:-1]]
    assert early.mean() == pytest.approx(0.1, abs=0.02)
    assert late.mean() == pytest.approx(0.9, abs=0.02)


def test_zones_get_their_shares(tmp_path: Path) -> None:
    places = PLACES + "zones = [[70, 4194304], [30, 41943040]]\nzones_from_bytes = 1048576\n"
    offsets = made(tmp_path, model(places=places))["offset_bytes"].astype(float)
    assert offsets.min() >= 1 << 20
    assert offsets.max() < 45 << 20
    hot = offsets < 5 << 20
    assert hot.mean() == pytest.approx(0.7, abs=0.02)
    cold = (offsets[~hot] - (5 << 20)) / (40 << 20)
    assert stats.kstest(cold, stats.uniform.cdf).pvalue > 0.001


def test_equal_seeds_give_equal_ios(tmp_path: Path) -> None:
    one, again, other = (made(tmp_path, model(seed=seed))["offset_bytes"] for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one[:100], other[:100])


def reads_with_bursts_of_writes(seed: int = 5, seconds: float = 12.0) -> Ios:
    """Reads at random moments; writes of 64 KiB in bursts only, several each second."""
    random = np.random.default_rng(seed)
    reads = np.sort(random.uniform(0, seconds, int(1500 * seconds)))
    starts = np.sort(random.uniform(0, seconds, int(7 * seconds)))
    sizes = random.geometric(1 / 100, len(starts))
    writes = np.concatenate(
        [
            start + np.cumsum(random.exponential(50e-6, size))
            for start, size in zip(starts, sizes, strict=True)
        ]
    )
    writes = writes[writes < seconds]
    at = np.concatenate([reads, writes])
    write = np.repeat([False, True], [len(reads), len(writes)])
    hot = np.minimum(random.zipf(1.2, len(reads)), 20_000)
    places = np.concatenate(
        [random.permutation(20_001)[hot] * 4096, 2**30 + random.integers(0, 2000, len(writes)) * 65_536]
    )
    order = np.argsort(at, kind="stable")
    issued = (at[order] * 1e9).astype(np.int64)
    length = np.where(write, 65_536, 4096)
    return Ios(issued - issued[0], places[order], length[order], write[order])


@pytest.fixture(scope="module")
def bursts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("trace") / "bursts.parquet", reads_with_bursts_of_writes())


@pytest.fixture(scope="module")
def like_bursts(bursts: Path) -> TraceModel:
    return modeled(bursts, Selection(), figures_of(bursts))


def named(one: dict[str, Any], other: dict[str, Any]) -> dict[str, float]:
    return {d.figure: d.value for d in distances(one, other) if d.value is not None}


@pytest.mark.slow
def test_bursts_of_one_operation_are_kept(bursts: Path, like_bursts: TraceModel) -> None:
    assert like_bursts.chosen.startswith("on-off, reads and others apart")
    assert len(like_bursts.text) <= 16 << 10
    found = named(figures_of(bursts), like_bursts.figures)
    assert found["operations by I/Os"] < 0.03
    assert found["gaps of writes"] < 0.25
    assert found["dispersion of writes over scales, octaves"] < 0.35
    assert found["dispersion of reads over scales, octaves"] < 0.15
    assert found["footprint, octaves"] < 0.3
    assert found["miss ratio"] < 0.06


@pytest.mark.slow
def test_independent_arrivals_are_found_out_by_their_dispersion(like_bursts: TraceModel) -> None:
    steady, in_steps = (one.dispersion or 0 for one in like_bursts.fit.candidates)
    chosen = next(one for one in like_bursts.candidates if one.process == like_bursts.chosen)
    assert steady > 1.5
    assert (chosen.dispersion or 1) < in_steps < steady


def test_equal_marginals_without_the_bursts_are_told_apart(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    gaps = np.concatenate([random.exponential(scale, 1000) for scale in [20_000, 400_000] * 10])
    n = len(gaps)
    write = np.zeros(n, bool)
    figures = []
    for name, order in (("bursts", gaps), ("calm", random.permutation(gaps))):
        at = np.cumsum(order).astype(np.int64)
        ios = Ios(at - at[0], random.permutation(n) * 4096, np.full(n, 4096), write)
        figures.append(figures_of(write_trace(tmp_path / f"{name}.parquet", ios)))
    found = named(*figures)
    assert found["gaps"] < 0.01
    bursts = "dispersion over scales, octaves"
    assert found.pop(bursts) > 2
    assert all(value < 0.1 for figure, value in found.items() if "dispersion" not in figure), found


def test_the_hot_are_hot_in_zones_and_the_recent_are_recent_on_a_stack(
    like_bursts: TraceModel, tmp_path: Path
) -> None:
    zipf = {one.places: one for one in like_bursts.place_candidates}
    stack, zones = zipf.values()
    assert (zones.hot_cold or 1) < (stack.hot_cold or 0)
    assert like_bursts.chosen_places == zones.places
    # A drift: what was used lately is used again, and nothing is hot for long.
    random = np.random.default_rng(2)
    n = 20_000
    places = (np.arange(n) // 20 + random.integers(0, 200, n)) * 4096
    at = np.cumsum(random.exponential(500_000, n)).astype(np.int64)
    drift = write_trace(
        tmp_path / "drift.parquet", Ios(at - at[0], places, np.full(n, 4096), np.zeros(n, bool))
    )
    model = modeled(drift, Selection(), figures_of(drift))
    assert model.chosen_places == stack.places


def test_a_model_of_a_model_is_the_same(tmp_path: Path) -> None:
    stream = READ + "continues_per_10k = [2000, 8000]\n"
    source = tmp_path / "first.toml"
    source.write_text(model(stream=stream, steps="[[20, [2000]]]"))
    again = modeled(source, Selection(), figures_of(source))
    first, second = json.loads(again.text.split("continues_per_10k = ")[1].split("\n")[0])
    assert (first, second) == pytest.approx((2000, 8000), abs=150)
    found = named(figures_of(source), again.figures)
    assert all(value < 0.15 for value in found.values()), found


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("no toml", ""),
        ("rate", "steps = [[10, [-1]]]"),
        ("no rate", "steps = [[10, [0]]]"),
        ("too many", "steps = [[1e9, [1e9]]]"),
        ("range", "range_bytes = 5"),
        ("size", "size_bytes = 4095"),
        ("group", "streams = []"),
        ("zones", "zones = [[1, 4096]]\nzones_from_bytes = 1073741824"),
    ],
)
def test_a_model_that_can_not_be_made_is_refused(
    text: str, by: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    key = by.partition(" =")[0]
    lines = [by if line.startswith(f"{key} =") else line for line in model().split("\n")]
    source = tmp_path / "model.toml"
    source.write_text("[[arrivals" if not by else "\n".join(lines) + ("" if by in lines else by))
    done = CliRunner().invoke(cli, ["trace", "check", "--format", "model", str(source)])
    assert isinstance(done.exception, TraceError), text
    assert str(done.exception).replace(str(tmp_path), "") == snapshot


@pytest.mark.slow
def test_drives_that_the_model_has_not_seen_behave_the_same(bursts: Path, tmp_path: Path) -> None:
    words = ["trace", "synthesize", str(bursts), "--model", str(tmp_path / "like.toml"), "--json"]
    checks = [word for name in ("enterprise-tlc", "client-qlc") for word in ("--check", f"sim:{name}")]
    done = CliRunner().invoke(cli, [*words, *checks])
    assert done.exit_code == 0, done.output
    for check in json.loads(done.stdout)["checks"]:
        limited = {one["figure"]: one for one in check["figures"] if one["limit_pct"] is not None}
        assert limited.keys() >= {"rate", "bandwidth", "reads, mean", "reads, p99", "writes, mean"}
        missed = {name: one["difference_pct"] for name, one in limited.items() if not one["holds"]}
        assert not missed, check["target"]


def test_only_the_devices_that_are_asked_for_are_replayed(tmp_path: Path) -> None:
    ios = reads_with_bursts_of_writes(seconds=1.0)
    ios.device = np.arange(len(ios.at)) % 2
    source = write_trace(tmp_path / "two.parquet", ios)
    words = ["trace", "synthesize", str(source), "--device", "sdb", "--model", str(tmp_path / "m.toml")]
    done = CliRunner().invoke(cli, [*words, "--check", "sim:enterprise-tlc", "--json"])
    assert done.exit_code == 0, done.exception
    (check,) = json.loads(done.stdout)["checks"]
    rate = next(one["trace"] for one in check["figures"] if one["figure"] == "rate")
    assert rate == pytest.approx(len(ios.at) / 2, rel=0.05)
