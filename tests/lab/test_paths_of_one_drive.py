"""Two controllers of one NVM subsystem before a shared namespace, which the kernel joins to one drive."""

import json
import os
from pathlib import Path
from typing import Final

import pytest

from openpts.record.manifest import RunState
from tests.lab.drive_faults import Left, left_by
from tests.lab.machine import FORKED, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

SERIAL: Final = "SHARED0"
DRIVE: Final = f"$(cat node) --confirm-serial {SERIAL}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the machine left."""
    folder = tmp_path_factory.mktemp("paths")
    image = folder / "image"
    with image.open("wb") as made:
        os.truncate(made.fileno(), 256 << 20)
    controllers = " ".join(
        f"-device pcie-root-port,id=rp{name},bus=pcie.0,slot={slot},chassis={slot} "
        f"-device nvme,id={name},serial={SERIAL},subsys=joined,bus=rp{name}"
        for name, slot in (("path0", 9), ("path1", 10))
    )
    devices = (
        f"-device nvme-subsys,id=joined,nqn=joined {controllers} "
        f"-blockdev driver=raw,node-name=shared,file.driver=file,file.filename={image} "
        "-device nvme-ns,drive=shared,bus=path0,nsid=1,shared=on"
    )
    left_by(
        folder,
        *("--qemu-opts", devices),
        script=f"""
        {FORKED}
        modprobe nvme
        live() {{ cat /sys/class/nvme-subsystem/nvme-subsys*/nvme?/state | grep -c live; }}
        # the drive is called after whichever controller comes first
        until [ $(live) = 2 ] && ls /dev/nvme?n1 > node; do sleep 0.2; done
        echo round-robin > $(echo /sys/class/nvme-subsystem/nvme-subsys*)/iopolicy
        ls /dev > nodes
        openpts devices --json --patience 60 > devices.json || exit 10

        begin lost {DRIVE} --step-seconds 5
        until_log lost WIPC; sleep 3
        echo 1 > /sys/class/nvme/nvme1/device/remove
        ended lost
        echo 1 > /sys/bus/pci/rescan
        until [ $(live) = 2 ]; do sleep 0.2; done

        begin gone {DRIVE} --step-seconds 5
        until_log gone WIPC; sleep 3
        for controller in $(echo /sys/class/nvme/nvme?/device/remove); do echo 1 > $controller; done
        ended gone
        """,
    )
    return folder


def node(folder: Path) -> str:
    return (folder / "node").read_text().strip()


def test_the_list_has_one_drive_with_its_paths(folder: Path) -> None:
    (drive,) = [
        each
        for each in json.loads((folder / "devices.json").read_text())["devices"]
        if each["path"].startswith("/dev/nvme")
    ]
    assert (drive["path"], drive["serial"]) == (node(folder), SERIAL)
    assert drive["other_namespaces"] == []
    assert drive["facts"]["paths"]["value"].count("live") == 2
    assert "round-robin" in drive["facts"]["paths"]["value"]


def test_no_path_has_a_block_device_of_its_own(folder: Path) -> None:
    nodes = (folder / "nodes").read_text().split()
    assert [node for node in nodes if node.startswith("nvme") and "n" in node[4:]] == [
        Path(node(folder)).name
    ]


def test_a_run_goes_on_when_a_path_is_lost_and_tells_the_longest_wait(folder: Path) -> None:
    left = Left(folder, "lost")
    assert left.status == 0, left.complaint
    run = left.run
    assert run.manifest.state is RunState.COMPLETE
    assert min(run.telemetry_series["paths_live"].values) == 1
    (entry,) = [one for one in run.ledger if one.required == "all paths to the drive"]
    assert entry.used.startswith("1 of 2 from ")
    assert "the longest wait for an I/O then was " in entry.used
    assert "required all paths to the drive" in left.log


def test_without_any_path_the_run_ends_and_says_so(folder: Path) -> None:
    left = Left(folder, "gone")
    assert left.status != 0
    assert left.run.manifest.state is RunState.FAILED
    assert node(folder) in left.complaint
