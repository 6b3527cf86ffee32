"""The host audit on the kernel's own files: what is applied reads back, a kill in the middle is put back.

One machine for all tests: its script leaves a file for each look at the settings.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from openpts.record.reader import read_run
from openpts.vocabulary.facts import Scenario
from tests.lab.machine import OPENPTS, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]
QUEUE = ("scheduler", "nr_requests", "rq_affinity", "nomerges", "iostats", "wbt_lat_usec")
SHORT = "--step-seconds 0.05 --max-rounds 1 --precondition-passes 0.1 --no-report"
RUN = f"{OPENPTS} run iops /dev/nvme0n1 --confirm-serial LABNVME0000 {SHORT}"


def _script(folder: Path) -> str:
    return f"""
    export OPENPTS_STATE={folder}/state
    cd /sys/block/nvme0n1/queue
    look() {{ head -n 1 {" ".join(QUEUE)} /sys/kernel/mm/transparent_hugepage/enabled > {folder}/$1; }}
    doctor() {{ {OPENPTS} doctor "$@"; }}
    ended_by() {{  # a signal (a short run may end before it comes), a run folder, options
        {RUN} --out {folder}/$2 $3 > {folder}/$2.log 2>&1 &
        run=$!
        while ! grep -q "purge done" {folder}/$2.log && [ -e /proc/$run ]; do sleep 0.1; done
        od -A n -t d4 /dev/cpu_dma_latency > {folder}/$2.limit
        kill -$1 $run; wait $run
    }}
    echo mq-deadline > scheduler; echo 64 > nr_requests; echo 3000 > wbt_lat_usec
    look found
    ended_by KILL killed-run --tune
    look killed
    ended_by TERM tuned-run --tune; case $? in 0|130) ;; *) exit 11 ;; esac
    look after-tuned
    ls {folder}/state/journal > {folder}/journal-after-tuned
    doctor /dev/nvme0n1 --apply --json > {folder}/applied.json || exit 13
    look applied
    ended_by TERM applied-run; case $? in 0|130) ;; *) exit 14 ;; esac
    look after-a-run
    cd /; lab-ctl unplug nvme0; lab-ctl plug nvme0
    while [ ! -e /sys/block/nvme0n1/queue ]; do sleep 0.1; done
    doctor --restore > {folder}/restored || exit 15
    ls {folder}/state/journal > {folder}/journal-at-the-end
    """


@pytest.fixture(scope="module")
def looks(disk_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all that was seen."""
    folder = disk_path_factory.mktemp("doctor")
    ended = in_lab(folder, "--nvme", "512M", script=_script(folder), timeout_s=500)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def _json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def _same(looks: Path, name: str, other: str = "found") -> bool:
    return (looks / name).read_text() == (looks / other).read_text()


def test_what_was_applied_is_what_the_kernel_reads_back(looks: Path) -> None:
    text = (looks / "applied").read_text()
    for value in ("[none]", "1023", "always [madvise] never"):
        assert value in text, value
    applied = _json(looks / "applied.json")
    assert {change["key"] for change in applied["changes"]} == {*QUEUE, "thp"}
    assert [change["failure"] for change in applied["changes"]] == [None] * len(applied["changes"])
    grades = {one["key"]: one["grade"] for one in applied["settings"]}
    assert {key: grades[key] for key in (*QUEUE, "thp")} == dict.fromkeys((*QUEUE, "thp"), "good")


def test_a_run_in_between_does_not_put_back_what_was_applied_to_last(looks: Path) -> None:
    assert _same(looks, "after-a-run", "applied")


def test_a_killed_run_is_put_back_by_the_next_one(looks: Path) -> None:
    assert "[none]" in (looks / "killed").read_text()
    assert any("mq-deadline again" in line for line in read_run(looks / "tuned-run").manifest.healed)


def test_a_tuned_run_leaves_the_host_as_it_was_and_tells_what_it_set(looks: Path) -> None:
    assert _same(looks, "after-tuned")
    assert (looks / "journal-after-tuned").read_text() == ""
    manifest = read_run(looks / "tuned-run").manifest
    assert manifest.scenario is Scenario.SYNTHETIC
    reports = {report.key: report for report in manifest.tuning}
    assert (reports["scheduler"].found, reports["scheduler"].wanted) == ("mq-deadline", "none")
    # nothing in the lab's machine could send it to sleep, or promise not to
    assert {key for key, report in reports.items() if report.failure} == {"sleep"}
    assert manifest.host_before["scheduler"].value == "none"
    assert manifest.host_before["iostats"].value == "0"


def test_the_limit_on_waking_up_ends_with_its_holder(looks: Path) -> None:
    limits_us = [(looks / f"{run}.limit").read_text().split() for run in ("killed-run", "applied-run")]
    assert limits_us == [["2"], ["2000000000"]]


def test_settings_of_a_drive_that_went_away_are_given_up(looks: Path) -> None:
    lines = (looks / "restored").read_text().splitlines()
    of_the_drive = [line for line in lines if "nvme0n1" in line]
    assert len(of_the_drive) >= 5
    assert all("nothing left to restore" in line for line in of_the_drive)
    assert "/sys/kernel/mm/transparent_hugepage/enabled: always again" in lines
    assert (looks / "journal-at-the-end").read_text() == ""
