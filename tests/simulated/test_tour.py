"""The tour, as a newcomer takes it, and the page of the manual that has its commands."""

import re
import subprocess
from pathlib import Path

import pytest

from openpts.cli.tour import STOPS
from tests.support.openpts_command import COMMAND

_TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


@pytest.mark.with_plugins
def test_each_stop_of_the_tour_ends_well_and_leaves_what_it_names(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "tour"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = re.findall(r"^\$ openpts (.*)$", done.stdout, re.MULTILINE)
    assert shown == [words.format(out="openpts-tour") for words, _ in STOPS]
    left = done.stdout.partition("\nOpen ")[2].splitlines()[0].removesuffix(".").split(" and ")
    assert [path for path in left if not (tmp_path / path).is_file()] == []


def test_a_second_tour_does_not_write_over_the_first(tmp_path: Path) -> None:
    (tmp_path / "openpts-tour").mkdir()
    done = subprocess.run([*COMMAND, "tour"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, list((tmp_path / "openpts-tour").iterdir())) == (8, [])


def test_the_tutorial_has_the_commands_of_the_tour() -> None:
    typed = re.findall(
        r"^    openpts (.*)$", _TUTORIAL.read_text().partition("## On a drive of yours")[0], re.MULTILINE
    )
    assert typed == [words.format(out="openpts-tour") for words, _ in STOPS]
