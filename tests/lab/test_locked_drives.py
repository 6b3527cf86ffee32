"""Twelve states of locking behind the kernel's own nvme-tcp: the list, the guard and the purge name each.

From Linux 6.2 on the kernel's own driver for self-encrypting drives finds them too, and reverts them.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.lab.machine import FORKED, QUICK, ROOT, complaints, in_lab, needs_lab
from tests.support.level0_answers import WORDS_OF

pytestmark = [needs_lab, pytest.mark.slow]

BROKEN: Final = ("too-long", "cut-off")
KEEP_AWAY: Final = ("locked", "shadow-mbr", "enterprise", "pyrite")
STATES: Final = ("none", *WORDS_OF, *BROKEN)


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """What the machine left."""
    folder = disk_path_factory.mktemp("locked")
    reverts = "\n".join(
        f"""
        psid=$(sed -n 's/.*"psid": "\\([^"]*\\)".*"{state}".*/\\1/p' {folder}/served)
        for number in 00000000000000000000000000000000 $psid; do
          input=/tmp/number; echo $number > $input
          openpts purge $(node {state}) --confirm-serial {state} --erase-signatures --method psid-revert \\
            > {folder}/{state}-$number 2>&1
          echo $? >> {folder}/{state}-$number
        done"""
        for state in ("locked", "shadow-mbr")
    )
    orders = " ".join(f"{state},{state},0,0" for state in STATES)
    ended = in_lab(
        folder,
        *QUICK,
        timeout_s=3000,
        script=f"""
        exec 2> {folder}/errors.log
        export PYTHONPATH={ROOT}:{os.environ.get("PYTHONPATH", "")}
        export PATH={Path(sys.executable).parent}:$PATH
        {FORKED}
        node() {{ echo /dev/$(basename $(dirname $(grep -lx "$1 *" /sys/class/nvme/nvme*/serial)))n1; }}
        modprobe nvme-tcp || exit 10
        mkfifo /tmp/end; exec 7<>/tmp/end
        python3 {ROOT}/tests/lab/guest/served_drives.py {orders} < /tmp/end > {folder}/served &
        until [ $(wc -l < {folder}/served) = {len(STATES)} ]; do sleep 0.5; done
        port=4420
        for nqn in $(sed 's/.*"nqn": "\\([^"]*\\)".*/\\1/' {folder}/served); do
          nvme connect -t tcp -a 127.0.0.1 -s $port -n $nqn || exit 11
          port=$((port + 1))
        done
        until [ $(ls /sys/class/block | grep -c 'nvme[0-9]*n1$') = {len(STATES)} ]; do sleep 0.5; done
        udevadm settle
        openpts devices --json --patience 120 > {folder}/devices.json || exit 12
        openpts run iops $(node shadow-mbr) --confirm-serial shadow-mbr > {folder}/run 2>&1
        echo $? >> {folder}/run
        dd if=$(node shadow-mbr) of={folder}/first bs=4096 count=1 iflag=direct
        openpts purge $(node locked) --list > {folder}/list || exit 13
        uname -r > {folder}/kernel
        {reverts}
        """,
    )
    assert ended.returncode == 0, ended.stderr + complaints(folder)
    return folder


@pytest.fixture(scope="module")
def devices(folder: Path) -> dict[str, Any]:
    """The list, by the drives' states."""
    return {each["serial"]: each for each in json.loads((folder / "devices.json").read_text())["devices"]}


@pytest.mark.parametrize("state", STATES)
def test_the_list_and_the_guard_name_each_state(devices: dict[str, Any], state: str) -> None:
    listed = devices[state]
    fact, safety = listed["facts"]["security"], listed["safety"]
    if state in BROKEN:
        assert fact["value"] is None
        assert "makes no sense" in fact["source"]
        assert "whether it is locked is unknown" in safety["reason"]
    else:
        assert fact["value"] == ("no TCG" if state == "none" else WORDS_OF[state][1])
    expected = "refused" if state in KEEP_AWAY else "free"
    assert safety["verdict"] in ({"refused", "unknown"} if state in BROKEN else {expected})
    assert any("locking enabled" in warning for warning in listed["warnings"]) == (state == "enabled")


@pytest.mark.parametrize("state", STATES)
def test_the_purge_offers_what_the_state_allows(devices: dict[str, Any], state: str) -> None:
    methods = {each["name"]: each["supported"] for each in devices[state]["purge_methods"]}
    assert methods["psid-revert"] == (state in WORDS_OF)
    assert methods["nvme-format"] == (state not in KEEP_AWAY)


def test_a_shadow_is_not_taken_for_a_blank_drive(folder: Path) -> None:
    assert (folder / "first").read_bytes() == bytes(4096)
    *said, code = (folder / "run").read_text().splitlines()
    assert code == "4"
    assert any("a shadow MBR hides the first blocks" in line for line in said)


@pytest.mark.parametrize("state", ["locked", "shadow-mbr"])
def test_its_psid_frees_it_where_the_kernel_can(folder: Path, state: str) -> None:
    wrong, right = sorted(folder.glob(f"{state}-*"))
    can = tuple(map(int, (folder / "kernel").read_text().split(".")[:2])) >= (6, 2)
    assert wrong.read_text().splitlines()[-1] == "6"
    assert ("does not accept this PSID" if can else "sedutil-cli can revert it") in wrong.read_text()
    *said, code = right.read_text().splitlines()
    assert code == ("0" if can else "6")
    assert not any(right.name.removeprefix(f"{state}-") in line for line in said)
