"""The notebooks of the examples, carried out as their readers would."""

import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests import ROOT
from tests.support.transcript import Transcript

_NOTEBOOKS = ROOT / "examples/notebooks"


@pytest.mark.parametrize(
    "notebook",
    [
        pytest.param(path, marks=() if path.stem == "stimulus" else pytest.mark.slow, id=path.stem)
        for path in sorted(_NOTEBOOKS.glob("*.py"))
    ],
)
def test_a_notebook_shows_what_it_says(notebook: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    done = subprocess.run(
        [sys.executable, notebook], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == snapshot.use_extension(Transcript)
