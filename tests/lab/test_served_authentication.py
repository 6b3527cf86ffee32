"""The kernel's own initiator proves to a served drive who its host is, and asks for the same: DH-HMAC-CHAP.

Needs a kernel with CONFIG_NVME_HOST_AUTH, which Debian's 6.1 has not and its 6.12 has. Both take the secret
as an option, and a kernel without it only fails to connect: its symbols tell whether it can authenticate.
"""

import json
import os
from pathlib import Path

import pytest

from tests.lab.machine import TESTBENCH, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

NO_AUTHENTICATION = 77
HOST = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
DRIVE = "nqn.2026-11.org.example:drive"
HASHES = {1: 32, 2: 48, 3: 64}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the machine left."""
    folder = tmp_path_factory.mktemp("authenticated")
    ended = in_lab(
        folder,
        timeout_s=300,
        script=f"""
        export PYTHONPATH={os.environ.get("PYTHONPATH", "")}
        modprobe nvme-tcp || exit 10
        grep -q nvme_auth_negotiate /proc/kallsyms || exit {NO_AUTHENTICATION}
        ip link set lo up && ip address add 192.0.2.1/32 dev lo || exit 11
        cd /tmp
        for hash in 1 2 3; do
          length=$((16 + 16 * hash))
          nvme gen-dhchap-key --hmac=$hash --key-length=$length --nqn={HOST} > host$hash
          nvme gen-dhchap-key --hmac=$hash --key-length=$length --nqn={DRIVE} > drive$hash
        done
        connected() {{
          nvme connect -t tcp -a 192.0.2.1 -s 4420 -n {DRIVE} --hostnqn={HOST} --hostid={HOST[-36:]} "$@"
        }}
        for hash in 1 2 3; do
          (umask 077; echo {HOST} $(cat host$hash) $(cat drive$hash) > secrets)
          rm -f said
          {TESTBENCH} --nvme-tcp 0.0.0.0:4420 --nqn {DRIVE} --serial SIMAUTH$hash \\
            --auth-secrets secrets 'client-qlc?capacity=200MB' > said &
          until [ -s said ]; do sleep 0.2; done
          connected && exit 20
          connected --dhchap-secret=$(cat drive$hash) && exit 21
          connected --dhchap-secret=$(cat host$hash) --dhchap-ctrl-secret=$(cat host$hash) && exit 22
          nvme discover -t tcp -a 192.0.2.1 -s 4420 | grep -q {DRIVE} || exit 23
          connected --dhchap-secret=$(cat host$hash) || exit 24
          nvme disconnect -n {DRIVE}
          connected --dhchap-secret=$(cat host$hash) --dhchap-ctrl-secret=$(cat drive$hash) || exit 25
          until [ -b /dev/nvme0n1 ]; do sleep 0.1; done
          fio --name=verify --filename=/dev/nvme0n1 --direct=1 --rw=randwrite --bs=4k --iodepth=8 --size=1M \\
            --ioengine=io_uring --verify=crc32c --verify_fatal=1 --output-format=json \\
            > {folder}/fio$hash.json || exit 26
          # A secret that is written, also the same one, is proven again on the living connection.
          echo $(cat host$hash) > /sys/class/nvme/nvme0/dhchap_secret
          sleep 1
          [ $(cat /sys/class/nvme/nvme0/state) = live ] || exit 27
          nvme smart-log /dev/nvme0 > /dev/null || exit 28
          nvme disconnect -n {DRIVE}
          kill $!
          wait
        done
        dmesg > {folder}/dmesg
        """,
    )
    if ended.returncode == NO_AUTHENTICATION:
        pytest.skip("the lab's kernel has no NVMe authentication")
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-5000:]
    return folder


def test_both_sides_are_proven_to_the_kernel(folder: Path) -> None:
    said = (folder / "dmesg").read_text()
    # Twice for each secret: the host alone, and both; every wrong one was refused before.
    assert said.count("authenticated with hash hmac(sha256) dhgroup ffdhe3072") >= 2 * len(HASHES)
    assert said.count("qid 0: controller authenticated") >= len(HASHES)


@pytest.mark.parametrize("number", HASHES)
def test_an_authenticated_host_reads_what_it_wrote(folder: Path, number: int) -> None:
    (job,) = json.loads((folder / f"fio{number}.json").read_text())["jobs"]
    assert (job["error"], job["read"]["total_ios"]) == (0, 256)
