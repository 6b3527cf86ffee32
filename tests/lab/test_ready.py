"""Time to ready under the kernel's own drivers: QEMU's drive reset and removed, a served one with delays.

An emulated processor adds tens of milliseconds to each step of the driver: a delay is found from below, and
no further above than what the same drive takes without one.
"""

import os
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import Final

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.vocabulary.readiness import Interruption
from tests.lab.machine import FORKED, ROOT, complaints, in_lab, needs_lab
from tests.support.openpts_command import COMMAND

pytestmark = [needs_lab, pytest.mark.slow]

SERIAL: Final = "LABNVME0000"
PLANTED_MS: Final = {"S0": (0, 0), "S137": (137, 137), "S400": (0, 400)}
WAYS: Final = ("reset", "flr", "rescan", "removal", "power", "command")
NS_PER_MS: Final = 10**6
REPEATS: Final = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the machine left."""
    folder = tmp_path_factory.mktemp("ready")
    (folder / "unplug").write_text("#!/bin/sh\nlab-ctl unplug nvme0 && sleep 1 && lab-ctl plug nvme0\n")
    (folder / "unplug").chmod(0o755)
    orders = " ".join(
        f"{name},none,{ready / 1000},{media / 1000}" for name, (ready, media) in PLANTED_MS.items()
    )
    ended = in_lab(
        folder,
        "--nvme",
        "256M",
        timeout_s=1500,
        script=f"""
        exec 2> {folder}/errors.log
        export PYTHONPATH={ROOT}:{os.environ.get("PYTHONPATH", "")} OPENPTS_STATE=/tmp/state
        export PATH={Path(sys.executable).parent}:$PATH
        {FORKED}
        # a drive that comes back while its old name is held gets the name nvme0n2
        node() {{
          controller=$(dirname $(grep -lx "$1 *" /sys/class/nvme/nvme*/serial))
          echo /dev/$(ls $controller | grep -x 'nvme[0-9]*n[0-9]*')
        }}
        measure() {{
          name=$1; serial=$2; shift 2
          openpts run ready $(node $serial) --confirm-serial $serial --repeats {REPEATS} --no-report \\
            --out {folder}/$name "$@" > {folder}/$name.log 2> {folder}/$name.err
          echo $? > {folder}/$name.code
        }}
        modprobe nvme-tcp || exit 10
        for way in reset flr rescan removal; do measure $way {SERIAL} --after $way; done
        measure command {SERIAL} --interrupt-command {folder}/unplug
        for way in subsystem-reset firmware; do measure $way {SERIAL} --after $way; done
        # QEMU ejects a drive whose slot is switched off: it is put in again when the slot has power again
        function=$(readlink -f $(dirname $(grep -lx "{SERIAL} *" /sys/class/nvme/nvme*/serial))/device)
        (for number in 1 2; do
          while [ -e $function ]; do sleep 0.1; done
          sleep 3; lab-ctl plug nvme0
          until [ -e $function ]; do sleep 0.1; done
        done) &
        measure power {SERIAL} --after power
        ls /tmp/state/journal > {folder}/journal
        mkfifo /tmp/end; exec 7<>/tmp/end
        python3 {ROOT}/tests/lab/guest/served_drives.py {orders} < /tmp/end > {folder}/served &
        until [ $(wc -l < {folder}/served) = {len(PLANTED_MS)} ]; do sleep 0.5; done
        port=4420
        for serial in {" ".join(PLANTED_MS)}; do
          nqn=$(grep '"'$serial'"' {folder}/served | cut -d'"' -f4)
          nvme connect -t tcp -a 127.0.0.1 -s $port -n $nqn || exit 20
          until [ -b $(node $serial) ]; do sleep 0.2; done
          measure $serial $serial --after reset
          port=$((port + 1))
        done
        """,
    )
    assert ended.returncode == 0, ended.stderr + complaints(folder)
    return folder


def interruptions(folder: Path, name: str) -> tuple[Interruption, ...]:
    assert (folder / f"{name}.code").read_text().strip() == "0", (folder / f"{name}.err").read_text()
    run = read_run(folder / name)
    assert run.manifest.state is RunState.COMPLETE
    assert len(run.manifest.interruptions) == REPEATS
    return run.manifest.interruptions


@pytest.mark.parametrize("way", WAYS)
def test_a_drive_works_again_after_each_way(folder: Path, way: str) -> None:
    for one in interruptions(folder, way):
        assert min(one.identify_ns, one.read_ns, one.gap_ns) > 0
        assert (one.shutdown_ns is not None) == (way in {"removal", "power"})
        # QEMU's drive is ready at once: what is left is the driver on an emulated processor
        assert one.read_ns < 20_000 * NS_PER_MS
    assert (folder / "journal").read_text() == ""


@pytest.mark.parametrize("way", ["subsystem-reset", "firmware"])
def test_what_the_drive_can_not_is_refused_by_name(folder: Path, way: str) -> None:
    assert (folder / f"{way}.code").read_text().strip() != "0"
    said = (folder / f"{way}.err").read_text()
    assert {"subsystem-reset": "can't reset the subsystem", "firmware": "activates firmware"}[way] in said


def test_reports_comparison_and_gate_are_of_the_record(folder: Path) -> None:
    interruptions(folder, "removal")
    for words in (("report", "removal"), ("compare", "reset", "flr")):
        ended = subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("serial", PLANTED_MS)
def test_a_planted_delay_is_found_beside_what_the_driver_takes(folder: Path, serial: str) -> None:
    ready_ms, media_ms = PLANTED_MS[serial]
    found, without = interruptions(folder, serial), interruptions(folder, "S0")
    for pick, planted_ms in (
        (attrgetter("identify_ns"), ready_ms),
        (attrgetter("read_ns"), max(ready_ms, media_ms)),
    ):
        least_ns = min(map(pick, found))
        assert least_ns >= planted_ms * NS_PER_MS
        assert least_ns <= planted_ms * NS_PER_MS + 2 * max(map(pick, without))
