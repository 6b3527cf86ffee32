"""Placement handles of an emulated drive, and one of zones, under the kernel's own driver."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.lab.machine import FORKED, OPENPTS, TESTBENCH, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]


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
    words = "/dev/nvme0n1 --confirm-serial FDP0 --mix 0/100 --bs 64k --placement-handle"
    ended = in_lab(
        tmp_path,
        *("--qemu-opts", devices),
        script=f"""
        {FORKED}
        cd {tmp_path}
        modprobe nvme; for i in 1 2 3 4 5 6 7 8 9; do [ -b /dev/nvme0n1 ] || sleep 1; done
        stats() {{ nvme fdp stats /dev/nvme0 -e 1 -o json > $1 || exit 12; }}
        openpts io {words} 2 --ios 100 2> refusal && exit 10
        stats before
        openpts io {words} 2 --ios 500 --io-path nvme-passthrough --json > written || exit 11
        stats after
        """,
        timeout_s=3000,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "nvme-passthrough" in (tmp_path / "refusal").read_text()
    before, written, after = (
        json.loads((tmp_path / name).read_text()) for name in ("before", "written", "after")
    )
    assert int(after["hbmw"]) - int(before["hbmw"]) == written["write"]["bytes"] == 500 * 65536


def test_writes_of_a_replay_go_to_the_units_of_their_handle(tmp_path: Path) -> None:
    """A served drive behind the kernel's own nvme-tcp says what is left of each handle's reclaim unit."""
    writes, block = 8, 32768
    lines = [f"{number * 1000} /dev/x write {number * block} {block}" for number in range(writes)]
    lines += [f"{(writes + number) * 1000} /dev/x read {number * block} {block}" for number in range(8)]
    head = ("fio version 3 iolog", "0 /dev/x add", "0 /dev/x open")
    (tmp_path / "trace.iolog").write_text("\n".join([*head, *lines, "90000 /dev/x close", ""]))
    drive = "theory?capacity=256MB&page_mapped.geometry.dies=8&page_mapped.geometry.dies_per_group=8"
    placed = "page_mapped.placement.handles=4&page_mapped.placement.isolation=persistently"
    words = (
        "trace.iolog /dev/nvme0n1 --confirm-serial PLACED01 --prefill none --passes 1 --no-report "
        "--placement-handle"
    )
    ended = in_lab(
        tmp_path,
        script=f"""
        cd {tmp_path}
        export PYTHONPATH={os.environ.get("PYTHONPATH", "")}
        {FORKED}
        modprobe nvme-tcp || exit 10
        {TESTBENCH} --nvme-tcp 127.0.0.1:4420 --serial PLACED01 '{drive}&{placed}' > served.json &
        until [ -s served.json ]; do sleep 0.2; done
        $(sed -n 's/.*"connect": "\\([^"]*\\)".*/\\1/p' served.json) > connected || exit 11
        until [ -b /dev/nvme0n1 ]; do sleep 0.2; done
        openpts run replay {words} 2 --out refused 2> refusal && exit 12
        openpts run replay {words} 2 --out run --io-path nvme-passthrough > log 2>&1 || exit 13
        nvme fdp status /dev/nvme0n1 -o json > status || exit 14
        nvme disconnect-all
        """,
        timeout_s=900,
    )
    said = "".join(p.read_text() for p in (tmp_path / "refusal", tmp_path / "log") if p.exists())
    assert ended.returncode == 0, ended.stderr + said
    assert "nvme-passthrough" in (tmp_path / "refusal").read_text()
    left = [handle["ruamw"] for handle in json.loads((tmp_path / "status").read_text())["ruhss"]]
    assert left[1] == left[3]
    assert left[1] - left[2] == writes * block // 512
