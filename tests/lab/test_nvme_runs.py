"""A run on an NVMe drive of a virtual machine that warns meanwhile."""

import json
from pathlib import Path

import pytest

from openpts.record.reader import read_run
from openpts_drives.health.health_page import health_alerts
from tests.lab.machine import OPENPTS, SHORT, in_lab, needs_lab

pytestmark = needs_lab


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
    sampled = run.telemetry_series["temperature_c"]
    assert sampled.t_ns[0] <= began_ns + 2 * 10**9
    assert sampled.t_ns[-1] >= ended_ns - 2 * 10**9
    # the kernel converts the same 323 K exactly
    assert set(sampled.values) == {49.85}
    assert run.manifest.host_before["scheduler"].value
    assert run.manifest.host_before.keys() == run.manifest.host_after.keys()
