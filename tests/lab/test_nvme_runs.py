"""Whole runs on NVMe drives of a virtual machine, and what befalls them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.report.health_page import health_alerts
from tests.lab.machine import OPENPTS, SHORT, in_lab, needs_lab

pytestmark = needs_lab


@pytest.mark.slow
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
    (purge,) = run.manifest.purges
    assert purge.changed_samples == purge.samples > 0
    # The drive comes with its cache on and the enterprise rule wants it off.
    (cache,) = run.manifest.write_caches
    assert (cache.required, cache.actual) == ("WCD", "WCD")
    assert cache.source.endswith("set by openpts, was WCE")
    assert "PTS-CACHE-01" not in {deviation.rule_id for deviation in run.ledger}


@pytest.mark.slow
def test_a_drive_that_goes_away_leaves_an_honest_record(tmp_path: Path) -> None:
    ended = in_lab(
        tmp_path,
        "--nvme",
        "512M",
        script=f"""
        {OPENPTS} run iops /dev/nvme0n1 --confirm-serial LABNVME0000 --step-seconds 1 --tc 1 --qd 4 \
            --precondition-passes 0.1 --no-report --out {tmp_path}/run \
            > {tmp_path}/log 2> {tmp_path}/complaint &
        until grep -q 'WIPC done' {tmp_path}/log; do sleep 0.2; done
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


@pytest.mark.slow
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


def test_every_unsafe_situation_is_refused_and_a_free_drive_is_purged(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    modules = "tests/lab/guest/test_drives.py tests/lab/guest/test_guard.py"
    ended = in_lab(
        tmp_path,
        *("--nvme", "256M", "--sata", "256M", "--scsi", "256M,hba=mptsas1068"),
        *("--scsi-debug", "dev_size_mb=64,add_host=2,vpd_use_hostno=0,lbpu=1"),
        script=f"modprobe sg; cd {root} && {sys.executable} -m pytest -q -rs -p no:cacheprovider {modules}",
        timeout_s=900,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    skipped = [line for line in ended.stdout.splitlines() if line.startswith("SKIPPED")]
    assert len(skipped) == 1, skipped
    assert re.match(r"SKIPPED \[1\] .* no SCSI generic node: NVMe", skipped[0])


@pytest.mark.slow
def test_every_way_to_an_nvme_drive(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    tests = "-m pytest -q -p no:cacheprovider tests/lab/guest/test_paths.py"
    ended = in_lab(
        tmp_path,
        *("--nvme", "64M", "--append", "nvme.poll_queues=1"),
        script=f"cd {root} && {sys.executable} {tests}",
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    assert "skipped" not in ended.stdout


@pytest.mark.slow
def test_the_rings_themselves_on_an_nvme_drive(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
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


@pytest.mark.slow
@pytest.mark.parametrize("path", ["io_uring", "sync"])
def test_a_drive_that_hangs_is_told_while_it_hangs_and_can_be_left(tmp_path: Path, path: str) -> None:
    ended = in_lab(
        tmp_path,
        *("--nvme", "64M", "--dm-delay", "/dev/nvme0n1:1"),
        script=f"""
        {OPENPTS} io /dev/mapper/delay0 --seconds 120 --qd 4 --io-path {path} --json \
            > {tmp_path}/result 2> {tmp_path}/log &
        openpts=$!
        until grep -q '^ *2.0 ' {tmp_path}/log; do sleep 0.2; done
        dmsetup suspend --nolockfs --noflush delay0
        sleep 12
        cp {tmp_path}/log {tmp_path}/log-while-hanging
        kill -TERM $openpts
        sleep 4
        cp {tmp_path}/result {tmp_path}/result-while-hanging
        dmsetup resume delay0
        wait $openpts
        """,
    )
    assert ended.returncode == 130, ended.stdout + ended.stderr + (tmp_path / "log").read_text()
    assert "not been answered" in (tmp_path / "log-while-hanging").read_text()
    result = json.loads((tmp_path / "result-while-hanging").read_text())
    assert result["state"] == "interrupted"
    assert result["total"]["ios"] > 0
    reasons = [error["reason"] for error in result["errors"]]
    assert reasons
    assert all(reason.startswith("no answer within") for reason in reasons)


@pytest.mark.slow
def test_bad_sectors_are_counted_with_their_places(tmp_path: Path) -> None:
    read = f"{OPENPTS} io /dev/mapper/error0 --pattern sequential --bs 4k --qd 4 --fills 1"
    ended = in_lab(
        tmp_path,
        *("--nvme", "64M", "--dm-error", "/dev/nvme0n1:4096:64"),
        script=f"""
        {read} --max-errors 100 --json > {tmp_path}/counted
        [ $? = 0 ] || exit 10
        {read} --json > {tmp_path}/stopped
        [ $? = 7 ] || exit 11
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    counted = json.loads((tmp_path / "counted").read_text())
    (errors,) = counted["errors"]
    assert (errors["operation"], errors["count"]) == ("read", 8)
    assert "Input/output error" in errors["reason"]
    assert sorted(errors["first_offsets_bytes"]) == [4096 * 512 + place * 4096 for place in range(8)]
    stopped = json.loads((tmp_path / "stopped").read_text())
    assert stopped["state"] == "failed"
    assert 4096 * 512 <= stopped["failure"]["offset_bytes"] < 4160 * 512


@pytest.mark.slow
def test_a_drives_own_log_and_temperature_are_in_the_record(tmp_path: Path) -> None:
    ended = in_lab(
        tmp_path,
        "--nvme",
        "512M",
        script=f"""
        {OPENPTS} run iops /dev/nvme0n1 --confirm-serial LABNVME0000 {SHORT} --out {tmp_path}/run &
        openpts=$!
        until [ -e {tmp_path}/run/run.db ]; do sleep 0.2; done
        sleep 2
        lab-ctl warn nvme0 0x4
        wait $openpts || exit 10
        nvme smart-log /dev/nvme0 -o json > {tmp_path}/smart.json
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    run = read_run(tmp_path / "run")
    before, purged, after = (record.reading for record in run.health)
    assert purged.source == before.source
    assert before.source == after.source == "NVMe log page 02h"
    told = json.loads((tmp_path / "smart.json").read_text())
    assert after.values["host_write_bytes"] == int(told["data_units_written"]) * 512_000
    assert after.values["temperature_c"] == told["temperature"] - 273
    written = sum(step.sample.write.bytes for step in run.steps)
    counted = after.values["host_write_bytes"] - before.values["host_write_bytes"]
    # the purge of this drive writes its marks as well
    assert written <= counted < 1.2 * written
    assert (before.values["critical_warning"], after.values["critical_warning"]) == (0, 4)
    assert health_alerts(run) == ("device health: critical warning of the drive's log set",)
    began_ns = run.steps[0].sample.started_ns
    last = run.steps[-1].sample
    ended_ns = last.started_ns + last.elapsed_ns
    # it does not change: it is stored at both ends, and each minute
    sampled = [point for point in run.telemetry if point.name == "temperature_c"]
    assert sampled[0].t_ns <= began_ns + 2 * 10**9
    assert sampled[-1].t_ns >= ended_ns - 2 * 10**9
    # the kernel converts the same 323 K exactly
    assert {point.value for point in sampled} == {49.85}
    assert run.manifest.host_before["scheduler"].value
    assert run.manifest.host_before.keys() == run.manifest.host_after.keys()
