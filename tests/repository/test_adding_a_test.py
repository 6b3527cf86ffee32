"""The manual's page on adding a test, carried out from an empty folder to a report."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.plugin_folders import with_metadata

PAGE = (ROOT / "packages/openpts/docs/adding-a-test.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`(packages/openpts\S+)`\n\n```python\n(.*?)```$", PAGE, re.DOTALL | re.MULTILINE))
CHANGES = [
    (before, re.sub(r"^\+", "", after, flags=re.MULTILINE))
    for before, after in re.findall(r"^```diff\n-(.*)\n((?:\+.*\n)+)```$", PAGE, re.MULTILINE)
]
MOST_LINES = 150


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy of the packages with what the page adds, and the metadata that it is found by."""
    tree = tmp_path_factory.mktemp("tree")
    packages, unwanted = (
        tree / "packages",
        shutil.ignore_patterns("__pycache__", "_native*", "tests", "testbench"),
    )
    shutil.copytree(ROOT / "packages", packages, ignore=unwanted)
    for native in (ROOT / "packages" / "openpts").glob("_native*"):
        (packages / "openpts" / native.name).symlink_to(native)
    for name, content in FILES.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(content, encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for before, after in CHANGES:
        assert project.count(f"{before}\n") == 1, before
        project = project.replace(f"{before}\n", after)
    entries = tomllib.loads(project)["project"]["entry-points"]["openpts.plugins"]
    with_metadata(packages, "openpts", entries, version("openpts"))
    return tree


def openpts(tree: Path, *words: str) -> str:
    program = "import sys; sys.argv[0] = 'openpts'; from openpts.cli.main import main; sys.exit(main())"
    ended = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "packages"), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_test_is_one_folder_and_an_entry_point() -> None:
    assert {Path(name).parent.name for name in FILES} == {"alignment"}
    assert sum(content.count("\n") for content in FILES.values()) <= MOST_LINES
    assert len(CHANGES) == 1


def test_its_options_and_its_plan_follow_from_its_conditions(tree) -> None:
    assert "--alignments SIZE,..." in openpts(tree, "run", "alignment", "--help-all")
    assert "Read Latency by Alignment" in openpts(tree, "plan", "alignment", "sim:mlc?capacity=2GB")


def test_it_runs_and_has_its_report(tree) -> None:
    words = ("sim:mlc?capacity=2GB", "--step-seconds", "1", "--alignments", "4KiB,512B", "--out", "run")
    openpts(tree, "run", "alignment", *words, "--no-report")
    figures = json.loads(openpts(tree, "report", "run", "--no-pdf", "--json"))["measures"]
    report = json.loads((tree / "run" / "report.json").read_text(encoding="utf-8"))
    (section,) = report["sections"]
    (page,) = [page for page in section["pages"] if page["id"] == "alignment-plot"]
    heads = [row["head"]["text"] for block in page["blocks"] for row in block.get("rows", ())]
    assert heads == ["4 KiB", "0.5 KiB"]
    own = {key: figure for key, figure in figures.items() if not key.startswith("media.")}
    assert set(own) == {"4_kib.mean", "0_5_kib.mean"}
    assert all(figure["value"] > 0 for figure in own.values())
    # what the drive wrote is measured in any test
    assert figures["media.write_amplification"]["value"] >= 1
    assert (tree / "run" / "report.html").is_file()
