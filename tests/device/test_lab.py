"""Whole runs on drives of a virtual machine with the kernel's real drivers.

OPENPTS_LAB names the lab's program; without it these tests are skipped.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run

LAB = os.environ.get("OPENPTS_LAB")

pytestmark = pytest.mark.skipif(LAB is None, reason="OPENPTS_LAB does not name a device lab")

SHORT = "--step-seconds 0.1 --max-rounds 1 --precondition-passes 0.5 --no-report"
OPENPTS = f"{sys.executable} -c 'from openpts.cli.main import main; main()'"


def in_lab(folder: Path, *drives: str, script: str, timeout_s: int = 300) -> subprocess.CompletedProcess[str]:
    """Run a shell script on a machine with these drives; what it puts into ``folder`` stays."""
    assert LAB is not None
    command = [
        LAB,
        "run",
        *drives,
        "--share",
        str(folder),
        "--timeout",
        str(timeout_s),
        "--",
        "sh",
        "-c",
        script,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s + 60, check=False)


def test_an_nvme_drive_is_refused_unnamed_and_measured_when_named(tmp_path: Path) -> None:
    ended = in_lab(
        tmp_path,
        "--nvme",
        "512M",
        script=f"""
        {OPENPTS} devices --json > {tmp_path}/devices.json || exit 10
        {OPENPTS} run iops /dev/nvme0n1 {SHORT} --out {tmp_path}/unnamed 2> {tmp_path}/refusal
        [ $? = 4 ] || exit 11
        {OPENPTS} run iops /dev/nvme0n1 --confirm-serial WRONG {SHORT} --out {tmp_path}/wrong
        [ $? = 4 ] || exit 12
        {OPENPTS} run iops /dev/nvme0n1 --confirm-serial LABNVME0000 {SHORT} --out {tmp_path}/run
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert '"LABNVME0000"' in (tmp_path / "devices.json").read_text()
    assert "--confirm-serial LABNVME0000" in (tmp_path / "refusal").read_text()
    assert not (tmp_path / "unnamed").exists()
    assert not (tmp_path / "wrong").exists()
    run = read_run(tmp_path / "run")
    assert run.manifest.state is RunState.COMPLETE
    assert len(run.steps) == 1 + 56
    assert run.manifest.dut["serial"].value == "LABNVME0000"
    assert run.manifest.purge is not None
    assert run.manifest.purge.changed_samples == run.manifest.purge.samples > 0
    # The drive's cache is on and the enterprise rule wants it off: that is an entry.
    assert "PTS-CACHE-01" in {deviation.rule_id for deviation in run.ledger}


def test_a_drive_that_goes_away_leaves_an_honest_record(tmp_path: Path) -> None:
    ended = in_lab(
        tmp_path,
        "--nvme",
        "512M",
        script=f"""
        {OPENPTS} run iops /dev/nvme0n1 --confirm-serial LABNVME0000 --step-seconds 1 --tc 1 --qd 4 \
            --precondition-passes 0.1 --no-report --out {tmp_path}/run \
            > {tmp_path}/log 2> {tmp_path}/complaint &
        until grep -q 'preconditioning done' {tmp_path}/log; do sleep 0.2; done
        sleep 3
        lab-ctl unplug nvme0
        wait $!
        """,
    )
    assert ended.returncode == 7, ended.stdout + ended.stderr
    complaint = (tmp_path / "complaint").read_text()
    assert "failed in" in complaint
    assert "Traceback" not in complaint
    run = read_run(tmp_path / "run")
    assert run.manifest.state is RunState.FAILED
    assert run.steps[-1].sample.failure is not None


def test_a_drive_with_4096_byte_sectors_skips_the_half_kib(tmp_path: Path) -> None:
    ended = in_lab(
        tmp_path,
        "--nvme",
        "512M,logical_block_size=4096,physical_block_size=4096",
        script=f"{OPENPTS} run iops /dev/nvme0n1 --confirm-serial LABNVME0000 {SHORT} --out {tmp_path}/run",
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    run = read_run(tmp_path / "run")
    assert len(run.steps) == 1 + 49
    assert run.manifest.conditions.skipped_block_sizes_bytes == (512,)
    assert "PTS-IOPS-13" in {deviation.rule_id for deviation in run.ledger}


def test_guard_and_purge_on_nvme_sata_and_sas(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    tests = "-m pytest -q -p no:cacheprovider tests/device/test_virtual_drives.py"
    ended = in_lab(
        tmp_path,
        *("--nvme", "256M", "--sata", "256M", "--scsi", "256M,hba=mptsas1068"),
        script=f"cd {root} && {sys.executable} {tests}",
        timeout_s=600,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
