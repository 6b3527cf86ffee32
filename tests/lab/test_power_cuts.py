"""Power cuts of a served drive behind the kernel's own nvme-tcp, in the device lab: kill -9 is the power cut.

What is in the drive's cache dies with its process; its media are a file, with which it is started again. The
kernel connects again by itself, and sends again what was outstanding. OPENPTS_LAB names the lab's program.
"""

import os
from pathlib import Path

import pytest

from openpts.errors import DataLossError
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from tests.lab.machine import OPENPTS, QUICK, TESTBENCH, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

SOUND, FAULTY = "SIMCUT0001", "SIMCUT0002"
CYCLES = 1

# powered SERIAL PORT PRESET writes a program that (re)starts a drive, and one that cuts its power
_POWER = f"""
powered() {{
  cat > /tmp/on-$1 <<END
#!/bin/sh
export PYTHONPATH={os.environ.get("PYTHONPATH", "")}
rm -f /tmp/$1.json
setsid {TESTBENCH} --nvme-tcp 127.0.0.1:$2 --serial $1 --volatile-cache \\\\
  --data $LAB_SHARE/$1.data --overwrite-file '$3' > /tmp/$1.json 2> $LAB_SHARE/$1.log < /dev/null &
echo \\$! > /tmp/$1.pid
until [ -s /tmp/$1.json ]; do sleep 0.2; done
END
  cat > /tmp/cut-$1 <<END
#!/bin/sh
kill -9 \\$(cat /tmp/$1.pid)
sleep 1.5
exec /tmp/on-$1
END
  chmod +x /tmp/on-$1 /tmp/cut-$1
  /tmp/on-$1
  $(sed -n 's/.*"connect": "\\([^"]*\\)".*/\\1/p' /tmp/$1.json) --reconnect-delay=1 > /dev/null || return 1
  until grep -qs $1 /sys/class/nvme/nvme*/serial && [ -b $(node $1) ]; do sleep 0.2; done
}}
node() {{
  echo /dev/$(basename $(dirname $(grep -l $1 /sys/class/nvme/nvme*/serial)))n1
}}
cut_again_and_again() {{
  {OPENPTS} run powercut $(node $1) --confirm-serial $1 --cut-command /tmp/cut-$1 --cycles {CYCLES} \\
    --range 16MiB --load-seconds 2 --tc 2 --qd 4 --writes-per-flush 50 --out $LAB_SHARE/$1
  echo $? > $LAB_SHARE/$1.status
}}
"""


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """What the machine left."""
    folder = disk_path_factory.mktemp("cuts")
    ended = in_lab(
        folder,
        *QUICK,
        timeout_s=1200,
        script=f"""
        export PYTHONPATH={os.environ.get("PYTHONPATH", "")}
        modprobe nvme-tcp || exit 10
        {_POWER}
        powered {SOUND} 4420 'client-qlc?capacity=200MB' || exit 11
        cut_again_and_again {SOUND}
        powered {FAULTY} 4421 'client-qlc?capacity=200MB&seed=2&faults=lost-write:0.2' || exit 12
        cut_again_and_again {FAULTY}
        nvme disconnect-all
        kill $(cat /tmp/{SOUND}.pid /tmp/{FAULTY}.pid)
        """,
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-5000:]
    return folder


def test_an_honest_drive_loses_what_it_may_and_nothing_else(folder: Path) -> None:
    assert (folder / f"{SOUND}.status").read_text().strip() == "0"
    manifest = read_run(folder / SOUND).manifest
    assert manifest.state is RunState.COMPLETE
    assert [cut.write_cache for cut in manifest.cuts] == ["WCE"] * CYCLES + ["WCD"] * CYCLES
    assert not any(cut.accused for cut in manifest.cuts)
    # the cuts were real: with the cache on, what was acknowledged and not flushed is gone
    assert any(cut.lost_unpromised_sectors for cut in manifest.cuts if cut.volatile)
    assert not any(cut.lost_unpromised_sectors for cut in manifest.cuts if not cut.volatile)
    assert all(cut.outstanding and cut.promised and cut.away_ns > 1.5e9 for cut in manifest.cuts)
    assert {cut.atomic_source for cut in manifest.cuts} == {"AWUPF 0"}


def test_a_drive_that_loses_acknowledged_writes_is_accused(folder: Path) -> None:
    assert (folder / f"{FAULTY}.status").read_text().strip() == str(DataLossError.exit_code)
    cuts = read_run(folder / FAULTY).manifest.cuts
    assert all(cut.accused for cut in cuts)
    found = {loss for cut in cuts for loss in cut.losses}
    assert found & {"lost-write", "lost-flush", "reordered"}
    # at this rate the writes that lay out the range, and put right what a cut left, are lost as well:
    # so there are zeros and data from before, but nothing torn
    assert not found & {"torn-sector", "torn-unit", "unreadable"}
