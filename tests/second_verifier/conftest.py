"""The second verifier, built once; without Go its tests are skipped."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.second_verifier.faults import ROOT, build


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built program."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go: the second verifier is not built")
    got = subprocess.run([go, "mod", "download"], cwd=ROOT / "verifier", check=False, capture_output=True, text=True)
    if got.returncode:
        pytest.skip(f"Go can't get what the second verifier needs: {got.stderr.strip().splitlines()[-1:]}")
    program = tmp_path_factory.mktemp("second-verifier") / "second-look"
    build(ROOT / "verifier", program)
    return program
