"""A drive fails in the middle of a run: errors, once and for ever, bad sectors, fewer sectors, no writes.

One machine for all of it. Each run ends at once, says what failed and where, and leaves a record from which
its report is made and verified.
"""

import subprocess
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.report.build import build_report
from openpts.report.sources import default_date
from openpts.vocabulary.sample import Phase, StepState
from tests.lab.drive_faults import NVME, Left, left_by
from tests.lab.machine import needs_lab
from tests.support.openpts_command import COMMAND

pytestmark = [needs_lab, pytest.mark.slow]

PART = "/dev/mapper/part --confirm-device-path /dev/mapper/part"
LONG = "--step-seconds 60"  # they end when the fault is there
SECTORS = 262144
FIRST_BAD, BAD = 8192, 64  # of 52,428 sectors that preconditioning writes, in up to four streams
FAULTS = ("read-once", "read-for-ever", "write-once", "write-for-ever", "bad-sectors", "shrinks", "read-only")
ON_NVME = {
    "read-once": f"""
        begin read-once {NVME} {LONG}
        until_log read-once 'WIPC done'; lab-ctl fail nvme0 read once; ended read-once
        """,
    "read-for-ever": f"""
        begin read-for-ever {NVME} {LONG}
        until_log read-for-ever 'WIPC done'; lab-ctl fail nvme0 read; ended read-for-ever
        lab-ctl heal nvme0
        """,
    "write-once": f"""
        begin write-once {NVME} {LONG} --read-pcts 0
        until_log write-once 'WIPC done'; lab-ctl fail nvme0 write once; ended write-once
        """,
    "write-for-ever": f"""
        begin write-for-ever {NVME} {LONG} --read-pcts 0
        until_log write-for-ever 'WIPC done'; lab-ctl fail nvme0 write; ended write-for-ever
        lab-ctl heal nvme0
        """,
    "read-only": f"""
        begin read-only {NVME} {LONG}
        until_log read-only 'WIPC done'; blockdev --setro /dev/nvme0n1; ended read-only
        blockdev --setrw /dev/nvme0n1
        """,
}


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """What all of them left."""
    folder = disk_path_factory.mktemp("failing")
    whole = f"0 {SECTORS} linear /dev/nvme0n1 0"
    rest = FIRST_BAD + BAD
    holed = "\\n".join(
        (
            f"0 {FIRST_BAD} linear /dev/nvme0n1 0",
            f"{FIRST_BAD} {BAD} error",
            f"{rest} {SECTORS - rest} linear /dev/nvme0n1 {rest}",
        )
    )
    half = f"0 {SECTORS // 2} linear /dev/nvme0n1 0"
    left_by(
        folder,
        *("--nvme", "256M", "--append", "nvme_core.max_retries=0"),
        script=f"""
        what_is cache-before nvme get-feature /dev/nvme0 -f 6
        {"".join(ON_NVME.values())}
        what_is cache-after nvme get-feature /dev/nvme0 -f 6
        ls state/journal > journal
        printf '{holed}' | dmsetup create part || exit 10
        begin bad-sectors {PART} {LONG}
        ended bad-sectors
        mapped part --table '{whole}' || exit 11
        begin shrinks {PART} {LONG}
        until_log shrinks 'WIPC done'; mapped part --table '{half}'; ended shrinks
        """,
    )
    return folder


@pytest.fixture(params=FAULTS)
def reported(folder: Path, request: pytest.FixtureRequest) -> Path:
    return folder / request.param


@pytest.fixture(params=FAULTS)
def left(folder: Path, request: pytest.FixtureRequest) -> Left:
    return Left(folder, request.param)


def test_it_ends_with_the_code_of_a_failed_run_and_one_line(left: Left) -> None:
    assert left.status == 7
    (line,) = left.complaint.splitlines()
    assert line.startswith("openpts: ")
    steps = len(left.run.steps)
    kept = "1 step is" if steps == 1 else f"{steps} steps are"
    assert f"; {kept} kept in {left.name}: `openpts report {left.name}` reports on" in line


def test_the_record_has_the_reason_and_what_was_measured_before(left: Left) -> None:
    run = left.run
    assert run.manifest.state is RunState.FAILED
    assert run.manifest.state_reason
    assert f"openpts: {run.manifest.state_reason}; " in left.complaint
    assert f"run failed: {run.manifest.state_reason}" in left.log
    *before, last = run.steps
    assert all(step.sample.state is StepState.COMPLETE for step in before)
    assert last.sample.state is not StepState.COMPLETE
    assert run.manifest.state_reason.startswith(f"{last.place}: ")
    if last.place.phase is not Phase.WIPC:
        report = build_report(run, default_date(run))
        assert run.manifest.state_reason in str(report)


def test_its_report_is_made_and_verified(reported: Path) -> None:
    for verb in ("report", "verify"):
        ended = subprocess.run([*COMMAND, verb, reported], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("name", ["read-once", "read-for-ever", "write-once", "write-for-ever"])
def test_a_medium_error_is_called_one_with_its_place(folder: Path, name: str) -> None:
    operation, _, _ = name.partition("-")
    failure = Left(folder, name).run.steps[-1].sample.failure
    assert failure is not None
    assert (failure.operation, failure.reason) == (operation, "critical medium error (os error 61)")
    place = f"at byte {failure.offset_bytes} (LBA {failure.offset_bytes // 512})"
    assert place in Left(folder, name).complaint


def test_bad_sectors_end_the_preconditioning_where_they_are(folder: Path) -> None:
    run = Left(folder, "bad-sectors").run
    (step,) = run.steps
    assert step.place.phase is Phase.WIPC
    assert step.sample.failure is not None
    first, length = step.sample.failure.offset_bytes // 512, step.sample.failure.length_bytes // 512
    assert first < FIRST_BAD + BAD
    assert first + length > FIRST_BAD


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (
            "shrinks",
            f"/dev/dm-0 has {SECTORS * 256:,} bytes now, and had {SECTORS * 512:,} when the test began",
        ),
        ("read-only", "/dev/nvme0n1 has become read-only: see dmesg"),
    ],
)
def test_what_has_become_of_the_drive_is_said(folder: Path, name: str, fault: str) -> None:
    assert f"{fault}; " in Left(folder, name).complaint


def test_the_drive_is_left_as_it_was(folder: Path) -> None:
    before, after, journal = (
        (folder / name).read_text() for name in ("cache-before", "cache-after", "journal")
    )
    assert before == after
    assert "00000001" in after
    assert journal == ""
