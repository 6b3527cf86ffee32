"""The IOPS test as its user runs it on drives of four kinds: purge, proof, cache, all 56 points, report.

OPENPTS_LAB names the lab's program; without it these tests are skipped.
"""

from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.report.build import build_report
from openpts.report.sources import default_date
from tests.lab.machine import OPENPTS, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

SHORT = "--step-seconds 0.1 --max-rounds 2 --precondition-passes 0.25 --tc 1 --qd 8 --no-report"
DRIVES = (*("--nvme", "256M"), *("--sata", "256M"), *("--scsi", "256M,hba=mptsas1068"), *("--scsi", "256M"))
SERIALS = {"nvme": "LABNVME0000", "sata": "LABSATA0000", "sas": "LABSCSI0000", "scsi": "LABSCSI0001"}
METHODS = {
    "nvme": "NVMe Format NVM",
    "sata": "discard of all LBAs",
    "sas": "discard of all LBAs",
    "scsi": "discard of all LBAs",
}
INTERFACES = {"nvme": "NVMe 1.", "sata": "SATA", "sas": "SAS", "scsi": "SCSI"}


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """A run on each drive, with the cache before, during and after as the drive itself has it."""
    folder = disk_path_factory.mktemp("lab")
    names = " ".join(f"{kind}:{serial}" for kind, serial in SERIALS.items())
    ended = in_lab(
        folder,
        *DRIVES,
        timeout_s=900,
        script=f"""
        cd {folder}
        node_of() {{ lsblk -dno NAME,SERIAL | sed -n "s/^\\([^ ]*\\) *$1\\$/\\/dev\\/\\1/p"; }}
        cache() {{
          case $1 in
            nvme) nvme get-feature $2 -f 6 ;;
            sata) hdparm -W $2 ;;
            # it prints the value, and ends with 5
            *) sdparm --quiet --get WCE $2 || true ;;
          esac
        }}
        for name in {names}; do
          kind=${{name%%:*}}; serial=${{name##*:}}; node=$(node_of $serial)
          [ -b "$node" ] || exit 10
          cache $kind $node > $kind-before
          {OPENPTS} run iops $node --confirm-serial $serial {SHORT} --out $kind > $kind.log 2>&1 &
          run=$!
          until grep -q 'WIPC done' $kind.log || ! [ -e /proc/$run ]; do sleep 0.2; done
          cache $kind $node > $kind-during
          wait $run || exit 11
          cache $kind $node > $kind-after
        done
        """,
    )
    logs = "".join(path.read_text() for path in sorted(folder.glob("*.log")))
    assert ended.returncode == 0, ended.stdout + ended.stderr + logs
    return folder


@pytest.fixture(params=sorted(SERIALS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run_of(folder: Path, kind: str) -> Run:
    return read_run(folder / kind)


def test_the_drive_is_the_one_that_was_named(folder: Path, kind: str) -> None:
    dut = run_of(folder, kind).manifest.dut
    assert dut["serial"].value == SERIALS[kind]
    assert str(dut["interface"].value).startswith(INTERFACES[kind])


def test_it_was_purged_by_its_best_method_and_that_is_proven(folder: Path, kind: str) -> None:
    (purge,) = run_of(folder, kind).manifest.purges
    assert purge.ran
    assert purge.method.startswith(METHODS[kind])
    assert purge.changed_samples == purge.samples == 64


def test_the_whole_test_was_measured(folder: Path, kind: str) -> None:
    run = run_of(folder, kind)
    assert run.manifest.state is RunState.COMPLETE
    assert len(run.steps) == 1 + 2 * 56
    assert all(step.sample.ios > 0 for step in run.steps)
    assert build_report(run, default_date(run)).tables()


def test_the_cache_was_off_for_the_test_and_is_as_it_was(folder: Path, kind: str) -> None:
    (cache,) = run_of(folder, kind).manifest.write_caches
    assert (cache.required, cache.actual) == ("WCD", "WCD")
    before, during, after = (
        (folder / f"{kind}-{when}").read_text() for when in ("before", "during", "after")
    )
    assert before == after != during
