"""The second verifier, built once; without Go its tests are skipped."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.second_verifier.faults import BUILT, ROOT, build


@pytest.fixture(scope="session")
def program(disk_path_factory: pytest.TempPathFactory) -> Path:
    """What `make second-verifier` built, if it is not older than its sources, or else one of its own."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go: the second verifier is not built")
    sources = [ROOT / "verifier" / "go.sum", *(ROOT / "verifier").glob("*.go")]
    if BUILT.exists() and BUILT.stat().st_mtime >= max(path.stat().st_mtime for path in sources):
        return BUILT
    got = subprocess.run(
        [go, "mod", "download"], cwd=ROOT / "verifier", check=False, capture_output=True, text=True
    )
    if got.returncode:
        pytest.skip(f"Go can't get what the second verifier needs: {got.stderr.strip()[-200:]}")
    program = disk_path_factory.mktemp("second-verifier") / "second-look"
    build(ROOT / "verifier", program)
    return program
