"""Every way to an NVMe drive of a virtual machine."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import ROOT
from tests.lab.machine import in_lab, needs_lab, passes_in_lab

pytestmark = needs_lab


@pytest.mark.slow
def test_every_way_to_an_nvme_drive(tmp_path: Path) -> None:
    drive = ("--nvme", "64M", "--append", "nvme.poll_queues=1")
    told = passes_in_lab(tmp_path, *drive, modules="tests/lab/guest/test_paths.py")
    assert "skipped" not in told


@pytest.mark.slow
def test_the_rings_themselves_on_an_nvme_drive(tmp_path: Path) -> None:
    root = ROOT
    # as `make test-rust` has compiled it: of a crate alone the libraries would have other features
    build = ["cargo", "test", "--quiet", "--locked", "--no-run", "--message-format=json"]
    built = subprocess.run(build, cwd=root, capture_output=True, text=True, check=True)
    artifacts = [json.loads(line) for line in built.stdout.splitlines() if '"executable"' in line]
    (program,) = {
        artifact["executable"]
        for artifact in artifacts
        if artifact["executable"] and artifact["target"]["name"] == "openpts_core"
    }
    ended = in_lab(
        tmp_path,
        *("--nvme", "64M", "--append", "nvme.poll_queues=1"),
        script=f"""
        export OPENPTS_TEST_NVME=/dev/nvme0n1 OPENPTS_TEST_NVME_GENERIC=/dev/ng0n1
        {program} machine:: --test-threads 1
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 failed" in ended.stdout
