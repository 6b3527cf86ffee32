"""The core and the packages that it still leads to, with no other there."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from openpts_pts.suite import PTS
from tests.support.core_alone import OTHERS, core_folder

TARGET = "sim:mlc?capacity=2GB"


@pytest.fixture(scope="module")
def core(tmp_path_factory) -> Path:
    return core_folder(tmp_path_factory.mktemp("core") / "path")


def python(core: Path, *words: str) -> str:
    """Without `site`, whose files in site-packages would lead to the sources and to what is beside them."""
    path = os.pathsep.join((str(core), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    ended = subprocess.run(
        [sys.executable, "-S", *words],
        cwd=core,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def openpts(core: Path, *words: object) -> str:
    return python(core, "-m", "openpts", *map(str, words))


def test_no_plug_in_is_there(core) -> None:
    asked = "import sys; from importlib.util import find_spec; print(*filter(find_spec, sys.argv[1:]))"
    assert python(core, "-c", asked, "openpts", *OTHERS).split() == ["openpts"]
    listed = openpts(core, "run", "--help").partition("Commands:")[2].partition("Examples:")[0]
    assert [line.split()[0] for line in listed.splitlines() if line[:2] == "  " and line[2:3].strip()] == [
        *PTS,
        "all",
    ]


def test_a_run_its_report_its_verification_and_its_resumption(core, tmp_path) -> None:
    openpts(core, "run", "lat", TARGET, "--quick", "--no-report", "--out", tmp_path / "run")
    for words in (("resume", "--no-report"), ("report",), ("verify",)):
        openpts(core, *words, tmp_path / "run")
    written = json.loads((tmp_path / "run" / "report.json").read_text())
    assert [section["test"] for section in written["sections"]] == ["lat"]
    assert json.loads(openpts(core, "doctor", "--json"))["plugins"] == []


@pytest.mark.slow
def test_all_eight_tests(core, tmp_path) -> None:
    openpts(core, "run", "all", TARGET, "--quick", "--out", tmp_path / "suite")
    written = json.loads((tmp_path / "suite" / "report.json").read_text())
    assert {section["test"].partition("-")[0] for section in written["sections"]} == set(PTS)
