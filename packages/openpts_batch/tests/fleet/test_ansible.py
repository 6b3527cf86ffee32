"""The manual's way without Slurm, as its page shows it, with a host that is this machine."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_manifest
from tests import ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("ansible-playbook") is None, reason="no ansible-playbook here: apt-get install ansible-core"
)


@pytest.mark.long("a playbook of the manual from its first step to its last")
@pytest.mark.slow
def test_a_run_is_made_once_and_its_folder_brought_here(tmp_path: Path) -> None:
    page = (ROOT / "packages/openpts_batch/docs/many-drives.md").read_text(encoding="utf-8")
    lab, book = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)[-1] for kind in ("ini", "yaml"))
    drive = "drive='sim:enterprise-tlc?capacity=1GB' ansible_connection=local ansible_python_interpreter="
    lab = re.sub(r"drive=\S+", f"{drive}{sys.executable}", lab)
    (tmp_path / "lab.ini").write_text(lab)
    book = book.replace("/var/lib/openpts", str(tmp_path)).replace("poll: 60", "poll: 1")
    (tmp_path / "measure.yml").write_text(book.replace("run iops", "run tp --quick"))
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {
        "PATH": places,
        "ANSIBLE_ASYNC_DIR": str(tmp_path / "jobs"),
        "ANSIBLE_LOCAL_TEMP": str(tmp_path / "tmp"),
    }

    def play() -> str:
        command = ["ansible-playbook", "-i", "lab.ini", "measure.yml"]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | own, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    play()
    brought = tmp_path / "results" / "S3R1AL.tar"
    with tarfile.open(brought) as packed:
        packed.extractall(tmp_path / "here", filter="data")
    first = read_manifest(tmp_path / "here")
    assert first.state is RunState.COMPLETE
    play()
    assert read_manifest(tmp_path / "runs/lot7-S3R1AL") == first, "it is not made again"
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()] == ["lot7-S3R1AL"]
