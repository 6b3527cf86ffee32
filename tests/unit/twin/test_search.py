"""A twin of a small simulated drive, whose parameters are the truth that the search has to find."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.simulation.presets import load_preset
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import DriveFills, Duration, StopRule
from openpts_twin.twin import parameters as names
from openpts_twin.twin.evidence import Evidence, Part
from openpts_twin.twin.parameters import preset_of, value_of, with_values
from openpts_twin.twin.replay import replayed
from openpts_twin.twin.search import Search
from openpts_twin.twin.start import distance, starts_of
from openpts_twin.twin.twin_file import fit_path, read_fit, texts_of

CAPACITY, SCALE = 32_006_733_824, 32


def _step(pattern: AccessPattern, kib: int, read_pct: int, tc: int, qd: int, stop: StopRule) -> Step:
    return Step.of(Stimulus.of(pattern, kib * 1024, read_pct, tc, qd, ActiveRange()), stop)


SECONDS = Duration.seconds(20)
STEPS = (
    _step(AccessPattern.SEQUENTIAL, 128, 0, 1, 32, DriveFills(2)),
    _step(AccessPattern.SEQUENTIAL, 128, 100, 1, 32, SECONDS),
    _step(AccessPattern.RANDOM, 4, 100, 4, 32, SECONDS),
    _step(AccessPattern.RANDOM, 4, 100, 1, 1, SECONDS),
    _step(AccessPattern.RANDOM, 16, 100, 1, 4, SECONDS),
    _step(AccessPattern.RANDOM, 4, 0, 1, 1, SECONDS),
    _step(AccessPattern.RANDOM, 4, 0, 4, 32, DriveFills(1.5)),
    _step(AccessPattern.RANDOM, 4, 0, 4, 32, SECONDS),
)


def _content(preset: str = "mlc") -> dict[str, Any]:
    return tomllib.loads(load_preset(preset).text)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    """What a drive like mlc, with other cells and space, shows in these steps."""
    true = {
        names.READ: 80.0,
        names.PROGRAM: 2200.0,
        names.SPACE: 1.15,
        names.FRONT_READ: 45.0,
        names.CHUNK: 2,
    }
    steps = Evidence(
        "a drive", CAPACITY, 512, 1, ("iops in here",), (Part("iops", True, STEPS, ({},) * len(STEPS)),)
    )
    shown = [figures for _, figures in replayed(preset_of(_content(), true), steps, SCALE)]
    return Evidence(
        "a drive", CAPACITY, 512, 1, ("iops in here",), (Part("iops", True, STEPS, tuple(shown)),)
    )


def test_the_beginning_follows_from_the_models_equations(evidence: Evidence) -> None:
    values = next(starts_of(_content(), evidence, 2))
    assert values[names.PROGRAM] == pytest.approx(2200, rel=0.03)
    assert values[names.READ] == pytest.approx(80, rel=0.01)
    assert values[names.FRONT_READ] == pytest.approx(45, rel=0.01)
    assert values[names.SPACE] == pytest.approx(1.15, abs=0.03)
    assert values[names.CHUNK] == 2


def _shown(content: dict[str, Any], steps: tuple[Step, ...]) -> Evidence:
    """What a drive shows in steps after a purge."""
    empty = Evidence(
        "a drive", CAPACITY, 512, 1, ("tp in here",), (Part("tp", True, steps, ({},) * len(steps)),)
    )
    shown = tuple(figures for _, figures in replayed(preset_of(content, {}), empty, SCALE))
    return replace(empty, parts=(Part("tp", True, steps, shown),))


@pytest.mark.parametrize(("static", "dynamic"), [(0.04, 0.8), (0.08, 0.3), (0.1, 0.0)])
def test_a_cache_is_as_large_as_the_first_fill_shows(static: float, dynamic: float) -> None:
    """What is written before the fall, against what the parameters mean: so many superblocks of one bit."""
    true = with_values(_content("tlc"), {names.STATIC: static, names.DYNAMIC: dynamic, names.FOLD: 0.0})
    evidence = _shown(true, STEPS[:4])
    values = next(starts_of(_content("tlc"), evidence, 2))
    space, bits = value_of(true, names.SPACE), value_of(true, names.BITS)

    def held(values: dict[str, Any]) -> float:
        kappa = float(values[names.DYNAMIC])
        fixed = float(values.get(names.STATIC, value_of(_content("tlc"), names.STATIC)))
        return float((fixed * space + kappa) / (bits + kappa))

    assert held(values) == pytest.approx(held({names.STATIC: static, names.DYNAMIC: dynamic}), rel=0.15)
    assert values[names.SLC_PROGRAM] == pytest.approx(450, rel=0.05)
    assert values[names.PROGRAM] == pytest.approx(3500, rel=0.05)


def test_of_a_cache_that_is_faster_than_the_link_the_preset_says_how_fast() -> None:
    true = with_values(_content("tlc"), {names.SLC_PROGRAM: 200.0, names.LINK_WRITE: 0.2e9})
    values = next(starts_of(true, _shown(true, STEPS[:1]), 2))
    assert values[names.SLC_PROGRAM] == 200.0


def test_a_figure_that_changes_with_the_seed_counts_less(evidence: Evidence) -> None:
    search = Search(_content(), evidence, SCALE, lambda _: None)
    begun = search.begin()
    judged = search.judged_beside_chance(begun)
    assert judged.logs == begun.logs
    assert judged.cost < begun.cost
    less = {
        f"{step} {name}"
        for (step, name), one, other in zip(
            ((step, name) for step, figures in evidence.steps() for name in figures),
            begun.residuals,
            judged.residuals,
            strict=True,
        )
        if abs(other) < 0.5 * abs(one)
    }
    assert less
    assert not any("100/0 rate" in name for name in less)


def test_the_kind_of_drive_is_the_one_of_which_least_has_to_change(evidence: Evidence) -> None:
    far = {name: distance(_content(name), evidence) for name in ("mlc", "enterprise-tlc", "client-qlc")}
    assert min(far, key=lambda name: far[name]) == "mlc"


@pytest.mark.slow
def test_a_search_finds_what_the_drive_is_and_its_files_say_so(evidence: Evidence, tmp_path: Path) -> None:
    search = Search(_content(), evidence, SCALE, lambda _: None)
    found = search.find(search.begin())
    assert found.values[names.READ] == pytest.approx(80, rel=0.05)
    assert found.values[names.PROGRAM] == pytest.approx(2200, rel=0.05)
    assert found.values[names.SPACE] - 1 == pytest.approx(0.15, rel=0.1)
    assert found.values[names.DIES] == 2
    assert found.values.get(names.CHUNK, 4) == 2
    assert found.errors["rate"] < 0.03

    path = tmp_path / "twin.toml"
    text, fit_text = texts_of("twin", _content(), evidence, found, scale=SCALE)
    path.write_text(text)
    fit_path(path).write_text(fit_text)
    twin = load_preset(str(path))
    assert twin.capacity_bytes == CAPACITY
    assert "iops in here" in twin.summary
    assert names.READ not in twin.assumed
    assert "page_mapped.nand.erase_us" in twin.assumed
    fit = read_fit(path)
    assert fit is not None
    assert len(fit.alternatives) == 4
    path.write_text(text.replace("twin", "mine", 1))
    assert read_fit(path) is None  # it was edited: the fit is of another preset


def test_what_an_x_ray_is_sure_of_is_not_searched(evidence: Evidence) -> None:
    content = with_values(_content(), {names.CHUNK: 2, names.DIES: 2})
    sure = frozenset({names.CHUNK, names.DIES})
    trial = Search(content, evidence, SCALE, lambda _: None, sure).begin()
    assert (trial.values[names.CHUNK], trial.values[names.DIES]) == (2, 2)


def test_a_fit_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twin.toml"
    path.write_text(load_preset("mlc").text)
    assert read_fit(path) is None
    fit_path(path).write_text("scale = 'many'\n")
    with pytest.raises(UsageError, match=r"twin\.fit\.toml:1:1"):
        read_fit(path)
