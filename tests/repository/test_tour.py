"""The tour, as a newcomer takes it, and the page of the manual that has its commands."""

import re
from pathlib import Path

import pytest

from openpts_sim.cli import tour
from openpts_sim.cli.tour import STOPS
from tests import ROOT
from tests.support.limited_runs import invoke
from tests.support.openpts_process import openpts

_TUTORIAL = ROOT / "docs/tutorial.md"


@pytest.mark.slow  # a minute: of the tutorial, which types the same, a sample parses each command
def test_each_stop_of_the_tour_ends_well_and_leaves_what_it_names(tmp_path: Path) -> None:
    done = openpts("tour", cwd=tmp_path, timeout_s=600)
    assert done.exit_code == 0, done.stdout + done.stderr
    shown = re.findall(r"^\$ openpts (.*)$", done.stdout, re.MULTILINE)
    assert shown == [words.format(out="openpts-tour") for words, _ in STOPS]
    left = done.stdout.partition("\nOpen ")[2].splitlines()[0].removesuffix(".").split(" and ")
    assert [path for path in left if not (tmp_path / path).is_file()] == []


def test_a_tour_carries_its_commands_out_until_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tour, "STOPS", (STOPS[0], ("verify {out}", "A folder of no run."), STOPS[1]))
    error, output = invoke("tour", "--out", tmp_path / "out")
    assert "exit code 8" in str(error)
    assert re.findall(r"^\$ openpts (\w+)", output, re.MULTILINE) == ["sim", "verify"]
    assert "enterprise-tlc" in capfd.readouterr().out


def test_a_second_tour_does_not_write_over_the_first(tmp_path: Path) -> None:
    (tmp_path / "openpts-tour").mkdir()
    done = openpts("tour", cwd=tmp_path)
    assert (done.exit_code, list((tmp_path / "openpts-tour").iterdir())) == (8, [])


def test_the_tutorial_has_the_commands_of_the_tour() -> None:
    typed = re.findall(
        r"^    openpts (.*)$", _TUTORIAL.read_text().partition("## On a drive of yours")[0], re.MULTILINE
    )
    assert typed == [words.format(out="openpts-tour") for words, _ in STOPS]
