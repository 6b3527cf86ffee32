"""The example of a plug-in, installed into a fresh environment, and beside it four that are broken."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import openpts
from tests import ROOT
from tests.support.plugin_folders import installed

pytestmark = pytest.mark.slow

_RAISES = "raise RuntimeError('made to fail')"
_HANGS = "import time\ntime.sleep(3600)\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Path:
    """openpts and what it needs come from here by a .pth file: nothing is fetched."""
    folder = tmp_path_factory.mktemp("environment")
    source = shutil.copytree(ROOT / "examples" / "plugin", folder / "source")
    environment = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    packages = next((environment / "lib").glob("python*")) / "site-packages"
    paths = (Path(openpts.__file__).parents[1], sysconfig.get_path("purelib"))
    (packages / "host.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--quiet", source], check=True)
    installed(packages, "acme_raises", _RAISES, {"procedure.raises": "acme_raises:PROCEDURE"})
    installed(packages, "acme_hangs", _HANGS, {"procedure.hangs": "acme_hangs:PROCEDURE"})
    installed(packages, "acme_shadows", _RAISES, {"procedure.iops": "acme_shadows:PROCEDURE"})
    later = {"procedure.later": "acme_later:PROCEDURE"}
    installed(packages, "acme_later", _RAISES, later, door="openpts.plugins:DOOR_1")
    return environment


def ask(environment: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin" / "python", "-m", "openpts", *map(str, words)],
        cwd=environment,
        env={**os.environ, "PYTHONPATH": "", "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def run(environment: Path) -> Path:
    ended = ask(environment, "run", "blocksizes", "sim:enterprise-tlc", "--quick", "--out", "run")
    assert ended.returncode == 0, ended.stderr
    return environment / "run"


def test_its_test_runs_and_is_reported(environment, run) -> None:
    (run / "report.json").unlink()
    assert ask(environment, "report", run).returncode == 0
    assert ask(environment, "verify", run).returncode == 0
    figures = json.loads(ask(environment, "report", run, "--json").stdout)["measures"]
    assert figures["256_kib.mean"]["value"] > figures["4_kib.mean"]["value"] > 0
    assert "acme-openpts 1.0 sha256:" in (run / "report.json").read_text(encoding="utf-8")


def test_its_runs_are_compared_and_gated(environment, run) -> None:
    other = ("sim:enterprise-tlc?seed=2", "--quick", "--out", "other", "--no-report")
    assert ask(environment, "run", "blocksizes", *other).returncode == 0
    assert ask(environment, "compare", run, "other", "--out", "compared").returncode == 0
    gate = ask(environment, "gate", run, "--limit", "blocksizes.4_kib.mean <= 1000", "--allow", "deviations")
    assert "blocksizes.4_kib.mean" in gate.stdout + gate.stderr


def test_its_test_goes_wherever_a_test_of_openpts_does(environment) -> None:
    plan = 'tests = ["tp", "blocksizes"]\n[blocksizes]\nblock_sizes = ["4KiB", "64KiB"]\n'
    (environment / "both.toml").write_text(plan)
    drive = "sim:mlc?capacity=2GB"
    suite = ("run", "all", drive, "--quick", "--plan", "both.toml", "--out", "suite")
    assert (ended := ask(environment, *suite)).returncode == 0, ended.stderr
    sections = json.loads((environment / "suite" / "report.json").read_text())["sections"]
    assert [section["test"] for section in sections][-1] == "blocksizes"
    written = json.loads(ask(environment, "report", "suite", "--json").stdout)
    assert "16_kib.mean" not in json.dumps(written)


def test_its_exporter_writes(environment, run) -> None:
    ended = ask(environment, "export", run, "--exporter", "steps-tsv=exported")
    assert ended.returncode == 0, ended.stderr
    (rows,) = (environment / "exported").glob("*/steps.tsv")
    assert len(rows.read_text(encoding="utf-8").splitlines()) == 1 + 5


@pytest.mark.on_disk
def test_its_gauge_is_sampled(environment, tmp_path) -> None:
    target = tmp_path / "target"
    with target.open("wb") as file:
        file.truncate(16 << 20)
    words = ("--quick", "--block-sizes", "4KiB", "--out", "sampled", "--no-report")
    ended = ask(environment, "run", "blocksizes", f"file:{target}", *words)
    assert ended.returncode == 0, ended.stderr
    program = (
        "from openpts.record.reader import read_run; from pathlib import Path;"
        "print([series.name for series in read_run(Path('sampled')).sampled])"
    )
    python = environment / "bin" / "python"
    shown = subprocess.run(
        [python, "-c", program], cwd=environment, capture_output=True, text=True, check=True
    )
    assert "entropy_available_bits" in shown.stdout


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("raises", "acme-raises 1.0: RuntimeError: made to fail"),
        ("hangs", "acme-hangs 1.0: its import took longer than 10 s"),
        ("later", "acme-later 1.0: it was made for openpts.plugins:DOOR_1"),
    ],
)
def test_a_broken_one_is_named_by_the_command_that_needs_it(environment, name, why) -> None:
    ended = ask(environment, "run", name, "sim:enterprise-tlc")
    assert ended.returncode == 1
    assert why in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_broken_one_takes_nothing_else_down(environment) -> None:
    for words in (("--help",), ("run", "--help"), ("run", "iops", "--help"), ("plan", "iops", "sim:mlc")):
        ended = ask(environment, *words)
        assert ended.returncode == 0, ended.stderr


def test_the_doctor_names_all_that_are_broken(environment, golden) -> None:
    ended = ask(environment, "doctor", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)["plugins"]
    assert {f"{one['plugin']} {one['name']}": one["failure"] for one in found} == golden
