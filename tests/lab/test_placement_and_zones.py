"""Placement handles of an emulated drive, and one of zones, under the kernel's own driver."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from openpts.record.reader import read_run
from tests.lab.machine import FORKED, OPENPTS, in_lab, needs_lab
from tests.unit.nvme.test_nvme_cli_decoding import FDP_CONFIGURATION

pytestmark = [needs_lab, pytest.mark.slow]

RUN: Final = "--quick --no-report --telemetry-period off"


def test_a_host_managed_drive_is_refused_by_name(tmp_path: Path) -> None:
    nvme = "128M,zoned=true,zoned.zone_size=4M,zoned.zone_capacity=3M,zoned.max_open=4,zoned.max_active=8"
    ended = in_lab(
        tmp_path,
        *("--nvme", nvme),
        script=f"""
        {OPENPTS} run iops /dev/nvme0n1 --confirm-serial LABNVME0000 --out {tmp_path}/no 2> {tmp_path}/refusal
        [ $? = 3 ] || exit 12
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "is a zoned drive (host-managed)" in (tmp_path / "refusal").read_text()
    assert not (tmp_path / "no").exists()


QEMU: Final = os.environ.get("OPENPTS_QEMU", "qemu-system-x86_64")
LOGS: Final = {
    "fdp-configurations": "configs",
    "fdp-handle-usage": "usage",
    "fdp-statistics": "stats",
    "fdp-events": "events",
}
"""Pages, and the words by which nvme-cli prints them."""


def qemu_version() -> int:
    path = shutil.which(QEMU)
    if path is None:
        return 0
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d+)", told)
    return int(found[1]) if found else 0


@pytest.mark.skipif(
    qemu_version() < 9,
    reason="QEMU has all of placement handles from 9 on; OPENPTS_QEMU names a qemu-system-x86_64",
)
def test_handles_of_an_emulated_drive_are_written_by_passthrough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the lab takes the first one
    monkeypatch.setenv("PATH", f"{Path(shutil.which(QEMU) or QEMU).parent}:{os.environ['PATH']}")
    image = tmp_path / "image"
    with image.open("wb") as made:
        os.truncate(made.fileno(), 256 << 20)
    devices = (
        "-device nvme-subsys,id=fsub,nqn=fdp,fdp=on,fdp.runs=16M,fdp.nrg=1,fdp.nruh=8 "
        "-device pcie-root-port,id=frp,bus=pcie.0,slot=9,chassis=9 "
        "-device nvme,id=fdp0,serial=FDP0,subsys=fsub,bus=frp "
        f"-blockdev driver=raw,node-name=fdpimg,file.driver=file,file.filename={image},discard=unmap "
        "-device nvme-ns,drive=fdpimg,bus=fdp0,nsid=1,fdp.ruhs=0-3"
    )
    words = "/dev/nvme0n1 --confirm-serial FDP0 --handles 1,2"
    logs = "\n".join(
        f"openpts logs /dev/nvme0n1 {name} --json > {name}.own || exit 12\n"
        f"nvme fdp {word} /dev/nvme0 -e 1 -o json > {name}.theirs || exit 13"
        for name, word in LOGS.items()
    )
    ended = in_lab(
        tmp_path,
        *("--qemu-opts", devices),
        script=f"""
        {FORKED}
        cd {tmp_path}
        modprobe nvme; for i in 1 2 3 4 5 6 7 8 9; do [ -b /dev/nvme0n1 ] || sleep 1; done
        openpts run fdp {words} {RUN} --out no > no.log 2> refusal && exit 10
        openpts run fdp {words} {RUN} --io-path nvme-passthrough --out run > run.log 2>&1 || exit 11
        {logs}
        """,
        timeout_s=3000,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr + (tmp_path / "run.log").read_text()
    assert "nvme-passthrough" in (tmp_path / "refusal").read_text()
    run = read_run(tmp_path / "run")
    before, after = run.health[0].reading.values, run.health[-1].reading.values
    assert before["placement_handles"] == 4
    streams = sum(step.sample.write.bytes for step in run.steps)
    grown = after["placement_host_write_bytes"] - before["placement_host_write_bytes"]
    # marks of the purges are written, too
    assert streams <= grown <= 1.01 * streams
    own = {name: json.loads((tmp_path / f"{name}.own").read_text())["values"] for name in LOGS}
    theirs = {name: json.loads((tmp_path / f"{name}.theirs").read_text()) for name in LOGS}
    (configuration,) = own["fdp-configurations"]["configurations"]
    # as QEMU was told
    assert configuration["is_valid"]
    assert (configuration["reclaim_groups"], configuration["reclaim_unit_handles"]) == (1, 8)
    assert configuration["reclaim_unit_bytes"] == 16 << 20
    assert [each["type"] for each in configuration["handles"]] == [1] * 8
    # as nvme-cli reads the same pages
    (config,) = theirs["fdp-configurations"]["configs"]
    assert {name: configuration[name] or 0 for name in FDP_CONFIGURATION} == {
        name: config[word] for name, word in FDP_CONFIGURATION.items()
    }
    uses = [each["use"] for each in own["fdp-handle-usage"]["handles"]]
    assert uses == [1] * 4 + [0] * 4 == [each["ruha"] for each in theirs["fdp-handle-usage"]["ruhus"]]
    statistics = own["fdp-statistics"]
    assert statistics["host_write_bytes"] == after["placement_host_write_bytes"]
    assert sorted(map(int, statistics.values())) == sorted(
        int(theirs["fdp-statistics"][name]) for name in ("hbmw", "mbmw", "mbe")
    )
    events = own["fdp-events"]["events"]
    assert [each["type"] for each in events] == [each["type"] for each in theirs["fdp-events"]["events"]]
