"""Two ports of the kernel's own NVMe target before one namespace, which change what they are for (ANA)."""

import json
from pathlib import Path
from typing import Final

import pytest

from openpts.record.manifest import RunState
from tests.lab.drive_faults import Left, left_by
from tests.lab.machine import FORKED, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

SERIAL: Final = "TWOPORTS"
DRIVE: Final = f"$(cat node) --confirm-serial {SERIAL}"


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """What the machine left."""
    folder = disk_path_factory.mktemp("access")
    left_by(
        folder,
        *("--null-blk", "size=256,memory_backed=1"),
        script=f"""
        {FORKED}
        modprobe nvmet-tcp && modprobe nvme-tcp || exit 80
        target=/sys/kernel/config/nvmet; subsystem=$target/subsystems/two
        access() {{ echo $2 > $target/ports/$1/ana_groups/1/ana_state; }}
        mkdir $subsystem && echo 1 > $subsystem/attr_allow_any_host && echo {SERIAL} > $subsystem/attr_serial
        mkdir $subsystem/namespaces/1 && printf /dev/nullb0 > $subsystem/namespaces/1/device_path
        echo 1 > $subsystem/namespaces/1/enable
        for port in 1 2; do
          mkdir $target/ports/$port; cd $target/ports/$port
          echo tcp > addr_trtype; echo ipv4 > addr_adrfam; echo 127.0.0.1 > addr_traddr
          echo 442$port > addr_trsvcid
          ln -s $subsystem subsystems/
        done
        cd {folder}
        access 2 non-optimized
        for port in 1 2; do nvme connect -t tcp -a 127.0.0.1 -s 442$port -n two || exit 81; done
        until [ $(cat /sys/class/nvme/nvme?/nvme?c?n1/ana_state | wc -l) = 2 ]; do sleep 0.2; done
        ls /dev/nvme?n1 > node
        openpts devices --json --patience 60 > devices.json || exit 10

        begin changed {DRIVE} --step-seconds 5
        until_log changed WIPC; sleep 3
        access 1 inaccessible; sleep 4
        access 2 inaccessible; sleep 4
        access 1 optimized; sleep 3
        access 2 non-optimized
        ended changed

        access 1 inaccessible; access 2 inaccessible; sleep 3
        openpts devices --json --patience 60 > none.json || exit 12
        openpts run iops {DRIVE} --no-report --out none > none.log 2> none.complaint
        echo $? > none.status
        access 1 optimized; sleep 2
        """,
    )
    return folder


def listed(folder: Path, name: str) -> tuple[str, str, str]:
    """Paths, verdict of the guard and its reason."""
    node = (folder / "node").read_text().strip()
    found = json.loads((folder / name).read_text())["devices"]
    (drive,) = [each for each in found if each["path"] == node]
    return drive["facts"]["paths"]["value"], drive["safety"]["verdict"], drive["safety"]["reason"]


def test_the_list_tells_what_each_path_is_for(folder: Path) -> None:
    paths, verdict, _ = listed(folder, "devices.json")
    assert paths.count("live, optimized)") == paths.count("live, non-optimized)") == 1
    assert verdict == "free"


def test_a_run_goes_on_by_the_other_path_and_waits_while_there_is_none(folder: Path) -> None:
    left = Left(folder, "changed")
    assert left.status == 0, left.complaint
    run = left.run
    assert run.manifest.state is RunState.COMPLETE
    assert {0, 1, 2} <= set(run.telemetry_series["paths_live"].values)
    slow, none = [entry for entry in run.ledger if entry.required == "all paths to the drive"][:2]
    assert slow.used.startswith("1 of 2, none of them optimized, from ")
    assert none.used.startswith("0 of 2 from ")
    _, _, waited = none.used.partition("the longest wait for an I/O then was ")
    assert float(waited.partition(" ms")[0].replace(",", "")) > 2500


def test_a_drive_that_no_path_reaches_is_refused_at_once(folder: Path) -> None:
    paths, verdict, reason = listed(folder, "none.json")
    assert paths.count("live, inaccessible)") == 2
    assert verdict == "refused"
    assert "no path to" in reason
    left = Left(folder, "none")
    assert left.status == 4
    assert "refused [reach]" in left.complaint
    assert not (folder / "none").exists()
