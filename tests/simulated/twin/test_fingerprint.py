"""Fingerprints of simulated drives, through the command line."""

import json
import math
from pathlib import Path

import pytest
from benches.drawn_drives import draw
from benches.fingerprint import HOTTER_K, SCALES, DriveInUse, Life, taken
from click.testing import CliRunner, Result

from openpts.cli.run import run
from openpts.errors import UsageError
from openpts.record.reader import read_run
from openpts_twin.fingerprint.command import fingerprint
from openpts_twin.fingerprint.features import compared, fingerprint_of
from tests.support.transcript import Golden

DRIVE = "sim:enterprise-tlc?scale=290"


def made(folder: Path, target: str, *words: str) -> Path:
    result = CliRunner().invoke(
        run, ["fingerprint", target, "--seed", "1", "--out", str(folder), *words], standalone_mode=False
    )
    assert result.exception is None, result.output
    return folder


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("fingerprints") / "first", DRIVE)


def told(*words: str) -> Result:
    return CliRunner().invoke(fingerprint, words, standalone_mode=False)


def test_what_the_preset_says_of_its_parts(first: Path) -> None:
    """Flash of 1.28 user capacities; a read of 62 us at the flash and 13.8 us of the controller's own."""
    found = fingerprint_of(read_run(first))
    # bad blocks, and those that are kept free, are not there for writes
    assert 1.2 < math.exp(found["flash over capacity"]) < 1.28
    assert 75_800 < math.exp(found["time of read 4 KiB, QD 1"]) < 90_000


def test_a_drive_with_another_seed_is_the_same(first: Path, tmp_path: Path) -> None:
    again = made(tmp_path / "again", f"{DRIVE}&seed=2", "--no-report")
    result = told(str(again), "--against", str(first))
    assert result.return_value == 0, result.output


def test_slower_flash_is_named(first: Path, tmp_path: Path, golden: Golden) -> None:
    other = made(tmp_path / "other", f"{DRIVE}&page_mapped.nand.read_us=80", "--no-report")
    result = told(str(other), "--against", str(first), "--json")
    assert result.return_value == 10, result.output
    document = json.loads(result.stdout)
    assert not document["same"]
    assert "read" in document["differences"][0]["name"]
    assert told(str(other), "--against", str(first)).output == golden


def test_a_run_is_not_compared_with_itself(first: Path) -> None:
    assert "twice" in str(told(str(first), "--against", str(first)).exception)


@pytest.mark.parametrize(
    ("family", "seed", "life"),
    [
        # it rests while it cools, and its buffer is empty behind that: a third of a window at this scale
        ("enterprise", 9001, Life(hotter_k=HOTTER_K)),
        # a second of its pass is so few I/Os that one more is a step of 3 %
        ("client", 9002, Life(used=True)),
        # its cache ends shortly before collection begins
        ("client", 11006, Life(used=True, filled=0.95, hotter_k=HOTTER_K)),
        ("industrial", 9001, Life(used=True, filled=0.95, at_random=True)),
    ],
)
def test_what_a_drive_went_through_makes_it_no_other(
    monkeypatch: pytest.MonkeyPatch, family: str, seed: int, life: Life
) -> None:
    monkeypatch.setitem(SCALES, "enterprise", 96)
    found = compared([taken(family, seed, {}, life, 2)], [taken(family, seed, {}, Life(), 1)])
    assert found.same, found.differences[0]


@pytest.mark.parametrize("hotter_k", [15, HOTTER_K])
def test_slower_flash_is_found_on_a_drive_that_heat_slows_down(
    monkeypatch: pytest.MonkeyPatch, hotter_k: int
) -> None:
    """Its interface hides the time of a program as long as it does not collect."""
    monkeypatch.setitem(SCALES, "enterprise", 96)
    program_us = {"page_mapped.nand.program_us": 2614.0}
    runs = (
        taken("enterprise", 301, changes, Life(used=True, hotter_k=hotter), seed)
        for seed, (changes, hotter) in enumerate((({}, HOTTER_K), (program_us, hotter_k)), start=1)
    )
    assert not compared(*([one] for one in runs)).same


@pytest.mark.parametrize("own_seed", [1, 2])
def test_a_burst_that_does_not_fill_the_buffer_is_followed_by_longer_ones(own_seed: int) -> None:
    """The first one finds it too small where the drive has not done with what came before."""
    units = {"page_mapped.write_buffer.program_units_per_die": 2}
    assert "write buffer" in taken("industrial", 504, units, Life(), own_seed)


def test_the_bench_measures_what_the_command_does(tmp_path: Path) -> None:
    drive = draw("industrial", 9001, tmp_path)
    run = read_run(made(tmp_path / "run", drive.target(scale=8, seed=1), "--no-report"))
    assert fingerprint_of(run) == pytest.approx(DriveInUse(drive, 8, 1).figures(), rel=1e-9)


def test_half_a_range_is_not_compared_with_the_whole(first: Path, tmp_path: Path) -> None:
    """What random writes find free is more than half a capacity then: it would be named as other flash."""
    half = made(tmp_path / "half", DRIVE, "--active-range", "50", "--no-report")
    again = made(tmp_path / "again", f"{DRIVE}&seed=2", "--active-range", "50", "--no-report")
    refused = told(str(half), "--against", str(first)).exception
    assert isinstance(refused, UsageError)
    assert str(half) in str(refused)
    assert told(str(half), "--against", str(again)).return_value == 0


def test_a_larger_write_buffer_is_named(tmp_path: Path) -> None:
    """Nothing else follows from it."""
    stick = "sim:mlc?scale=8"
    first = made(tmp_path / "first", stick, "--no-report")
    other = made(
        tmp_path / "other", f"{stick}&page_mapped.write_buffer.program_units_per_die=4", "--no-report"
    )
    document = json.loads(told(str(other), "--against", str(first), "--json").stdout)
    [buffer, *others] = document["differences"]
    assert buffer["name"] == "write buffer"
    assert buffer["ratio"] == pytest.approx(2, rel=0.25)
    assert not document["same"]
    assert all(one["distance"] < 4 for one in others)
