import math

import pytest

from openpts.errors import UsageError
from openpts_twin.decide.question import Load, Question
from openpts_twin.decide.question import read_question as read
from tests.support.refusals import refusal
from tests.support.transcript import Golden

UNITS = {
    "wsat.rnd_4_kib_rw0.steady_iops": "IOPS",
    "lat rnd 4k rw0 p99.9": "ms",
    "wsat.media.amplification": "",
}


def unit_of(figure: str) -> str:
    if figure not in UNITS:
        raise UsageError(f"{figure}: the test has no such figure")
    return UNITS[figure]


def read_question(text: str) -> Question:
    return read(text, unit_of)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("B slower than A by 5 %", {"figure": "iops", "upwards": False, "of": 1}),
        ("a faster than b by 2%", {"figure": "iops", "upwards": True, "of": 0, "margin_pct": 2}),
        ("B's p99 latency is higher than A", {"figure": "p99", "upwards": True, "of": 1}),
        ("B mean slower than A", {"figure": "mean", "upwards": True, "of": 1}),
        ("B max lower than A's by 1.5 %", {"figure": "max", "upwards": False, "of": 1, "margin_pct": 1.5}),
        ("keeps p99.9 <= 10 ms", {"figure": "p99.9", "upwards": False, "bound": 1e7}),
        (
            "keeps p99.9 ≤ 800 us by 10 %",
            {"figure": "p99.9", "upwards": False, "bound": 8e5, "margin_pct": 10},
        ),
        ("keep iops >= 180 k", {"figure": "iops", "upwards": True, "bound": 180e3}),
        ("p99.9 <= 10 ms", {"figure": "p99.9", "upwards": False, "bound": 1e7}),
        ("keeps bandwidth >= 2 GB/s", {"figure": "throughput", "upwards": True, "bound": 2e9}),
    ],
)
def test_what_a_question_means(text: str, found: dict[str, object]) -> None:
    assert read_question(text) == Question(text=text, **found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "wsat.rnd_4_kib_rw0.steady_iops >= 100 k",
            {"upwards": True, "bound": 1e5, "test": "wsat", "test_unit": "IOPS"},
        ),
        (
            "B's lat rnd 4k rw0 p99.9 slower than A by 10 %",
            {"upwards": True, "of": 1, "margin_pct": 10, "test": "lat", "test_unit": "ms"},
        ),
        (
            "keeps lat rnd 4k rw0 p99.9 <= 800 us",
            {"upwards": False, "bound": 0.8, "test": "lat", "test_unit": "ms"},
        ),
        ("A wsat.media.amplification lower than B", {"upwards": False, "test": "wsat"}),
    ],
)
def test_figures_of_whole_tests(text: str, found: dict[str, object]) -> None:
    figure = next(one for one in UNITS if one in text)
    assert read_question(text) == Question(text=text, figure=figure, load=None, **found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "load"),
    [
        ("4k random read qd 8", Load(read_pct=100, qd=8)),
        ("seq 128 KiB write tc 2 qd 1", Load(random=False, block_size_bytes=131072, tc=2, qd=1)),
        ("rnd 8k rw65", Load(block_size_bytes=8192, read_pct=65)),
        ("sequential 1m reads", Load(random=False, block_size_bytes=1 << 20, read_pct=100)),
    ],
)
def test_what_a_load_means(words: str, load: Load) -> None:
    assert read_question(f"B slower than A by 5 % at {words}").load == load


def test_how_far_a_round_is_on_the_side_of_yes() -> None:
    slower = read_question("B slower than A by 5 %")
    assert slower.towards_yes((100.0, 95.0)) == pytest.approx(slower.margin)
    kept = read_question("keeps p99 <= 10 ms")
    assert kept.towards_yes((9.5e6,)) == pytest.approx(kept.margin) == pytest.approx(-math.log(0.95))
    higher = read_question("A p99 higher than B by 5 %")
    assert higher.towards_yes((105.0, 100.0)) == pytest.approx(higher.margin) == pytest.approx(math.log(1.05))


@pytest.mark.parametrize(
    "text",
    [
        "B slowr than A",
        "B slower then A",
        "B slower than B",
        "B p999 slower than A",
        "B slower than A by 100 %",
        "keeps p99.9 <= 10 ms at randm",
        "keeps p99.9 <= 10 W",
        "keeps iops >= 0",
        "B slower than A at 4k read qd many",
        "A wsat.media.amplification faster than B",
        "wsat.rnd_4_kib_rw0.steady_iops >= 5 ms",
        "wsat.rnd_4_kib_rw0.steady_iops >= 5 k at 4k read",
        "wsat.steady >= 5",
        "",
    ],
)
def test_what_is_no_question(text: str, golden: Golden) -> None:
    assert refusal(read_question, text) == golden
