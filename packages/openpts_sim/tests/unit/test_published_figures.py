"""Published figures in a preset's file: how they are read, and when they hold."""

from typing import Any

import pytest

from openpts.vocabulary.stimulus import ActiveRange, DriveFills, Duration, RandomData, ReducibleData, ZeroData
from openpts_sim.presets import Preset, load_preset, shipped_presets
from tests.support.published_figures import Figure, Io, JumpStart, Unit, figures_of

WHOLE: dict[str, Any] = {
    "name": "RND 4 KiB 0/100",
    "source": "a document, 3.3",
    "published": 200,
    "unit": "IOPS",
    "tolerance_pct": 5,
    "prepare": [{"do": "jump-start"}, {"do": "idle", "seconds": 2}],
    "measure": {"block_kib": 4, "tc": 4, "qd": 64, "seconds": 0.5},
}
RELATIVE = {"unit": "% of the speed", "reference": []}


def read(**changes: Any) -> Figure:
    entries = {key: value for key, value in {**WHOLE, **changes}.items() if value is not None}
    text = "\n".join(f"{key} = {toml(value)}" for key, value in entries.items())
    (figure,) = figures_of(Preset(f"{load_preset('theory').text}\n[[figures]]\n{text}"))
    return figure


def toml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case _:
            return repr(value)


@pytest.mark.parametrize("preset", shipped_presets(), ids=lambda preset: preset.name)
def test_the_figures_that_ship_are_read_and_have_names_of_their_own(preset) -> None:
    figures = figures_of(preset)
    assert len({figure.name for figure in figures}) == len(figures)
    assert (preset.name == "theory") == (not figures)


def test_a_figure_is_read_as_it_is_written() -> None:
    figure = read()
    assert figure.published == 200
    assert figure.unit is Unit.IOPS
    assert isinstance(figure.prepare[0], JumpStart)
    idle = figure.prepare[1]
    assert not isinstance(idle, JumpStart)
    assert idle.step(68).stop == Duration.seconds(136)
    assert idle.step(68).stimulus is None


def test_seconds_are_those_of_the_simulated_drive_and_fills_need_no_scale() -> None:
    assert read().measure.step(68).stop == Duration.seconds(34)
    filling = Io(block_kib=128, pattern="sequential", fills=0.5)
    assert filling.step(68).stop == DriveFills(0.5)


def test_the_stimulus_is_the_one_that_is_written() -> None:
    stimulus = Io(block_kib=0.5, read_pct=65, tc=2, qd=8, range_pct=(10, 20), seconds=1).step(1).stimulus
    assert str(stimulus) == "RND 0.5 KiB 65/35"
    assert (stimulus.tc, stimulus.qd, stimulus.active_range) == (2, 8, ActiveRange(10, 20))


@pytest.mark.parametrize(
    ("entropy_pct", "data"), [(100, RandomData()), (46, ReducibleData(46)), (0, ZeroData())]
)
def test_entropy_chooses_what_is_written(entropy_pct, data) -> None:
    stimulus = Io(block_kib=4, entropy_pct=entropy_pct, seconds=1).step(1).stimulus
    assert stimulus.data == data


@pytest.mark.parametrize(
    ("claim", "holding", "missing", "words"),
    [
        ({"tolerance_pct": 5}, (190.01, 209.99), (189.9, 210.1), "within 5 %"),
        ({"tolerance_pct": None, "factor": 2}, (100, 400), (99.9, 400.1, 0), "within a factor of 2"),
        ({"tolerance_pct": None, "direction": "above"}, (200.1,), (200, 199), "above only"),
        ({"tolerance_pct": None, "direction": "below"}, (199.9, 0), (200, 201), "below only"),
    ],
)
def test_a_claim_holds_up_to_its_edge(claim, holding, missing, words) -> None:
    figure = read(**claim)
    assert figure.claim == words
    assert all(figure.holds(model) for model in holding)
    assert not any(figure.holds(model) for model in missing)


def test_the_deviation_is_that_of_the_model_from_what_was_published() -> None:
    assert read().deviation_pct(230) == pytest.approx(15)


def test_a_share_of_the_speed_has_a_reference() -> None:
    assert read(**RELATIVE).reference == ()
