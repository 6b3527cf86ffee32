"""The write cache of real drivers' drives: put back after a run that was killed, by the next one.

What the drive itself says is asked of programs of others: nvme, hdparm and sdparm.
"""

from pathlib import Path

import pytest

from openpts.record.reader import read_run
from tests.lab.machine import FORKED, ONE_ELEMENT, QUICK, in_lab, needs_lab

pytestmark = needs_lab

SHORT = (
    "--purge none --step-seconds 0.03 --max-rounds 1 --precondition-passes 0.02 --tc 1 --qd 4 --no-report "
    f"{ONE_ELEMENT}"
)
LONG = "--purge none --step-seconds 60 --max-rounds 1 --precondition-passes 0.02 --tc 1 --qd 4 --no-report"
SHELL = """
is_on() {
  case $1 in
    nvme0n1) nvme get-feature /dev/nvme0 -f 6 | grep -q 'value:\\(0x\\)\\?0*1$' ;;
    LABSATA*) hdparm -W $2 | grep -q '= *1' ;;
    *) sdparm --quiet --get WCE $2 | grep -q 'WCE *1' ;;
  esac
}
off() { ! is_on "$@"; }
until_true() { n=0; until "$@"; do n=$((n+1)); [ $n -lt 600 ] || exit 99; sleep 0.2; done; }
disk() { for d in /sys/block/sd*; do
  grep -aq $1 $d/device/vpd_pg80 && echo /dev/${d##*/}; done; }
"""


@pytest.mark.parametrize(
    "serials",
    [
        ("LABNVME0000",),
        # Of these a sample has what sets the cache and puts it back, in guest/test_drives.py.
        pytest.param(("LABSATA0000", "LABSCSI0000"), marks=pytest.mark.slow),
    ],
    ids=["nvme", "sata and scsi"],
)
def test_a_killed_run_is_healed_by_the_next_one(serials: tuple[str, ...], tmp_path: Path) -> None:
    ended = in_lab(
        tmp_path,
        *QUICK,
        *("--nvme", "64M", "--sata", "64M", "--scsi", "64M"),
        script=f"""{SHELL}
        export OPENPTS_STATE={tmp_path}/state
        {FORKED}
        cd {tmp_path}
        for serial in {" ".join(serials)}; do
          name=$serial; node=$(disk $serial)
          case $serial in *NVME*) node=/dev/nvme0n1; name=nvme0n1 ;; esac
          named="$node --confirm-serial $serial"
          is_on $name $node || exit 10
          openpts run iops $named {LONG} --out killed-$serial > killed-$serial.log 2>&1 & killed=$!
          until_true grep -q 'WIPC done' killed-$serial.log
          off $name $node || exit 11
          kill -9 $(cat /proc/$forks/task/$forks/children); wait $killed
          off $name $node || exit 12
          [ $(ls state/journal | wc -l) = 1 ] || exit 13
          case $serial in
            *NVME*) openpts run iops $named {SHORT} --out healed > healed-$serial.log 2>&1 || exit 14 ;;
            *) openpts io $named --mix 0/100 --seconds 0.1 > healed-$serial.log 2>&1 || exit 15 ;;
          esac
          is_on $name $node || exit 16
          [ $(ls state/journal | wc -l) = 0 ] || exit 17
        done
        nvme="/dev/nvme0n1 --confirm-serial LABNVME0000"
        openpts run iops $nvme {SHORT} --out again > again.log 2>&1 || exit 18
        is_on nvme0n1 || exit 19
        """,
        timeout_s=900,
    )
    logs = "".join(path.read_text() for path in sorted(tmp_path.glob("*.log")))
    assert ended.returncode == 0, ended.stdout + ended.stderr + logs
    for serial in serials:
        assert "is WCE again: an interrupted run of" in (tmp_path / f"healed-{serial}.log").read_text()
    if "LABNVME0000" in serials:
        healed, again = (read_run(tmp_path / name).manifest for name in ("healed", "again"))
        assert len(healed.healed) == 1
        assert healed.healed[0] in (tmp_path / "healed-LABNVME0000.log").read_text()
        assert again.healed == ()
        for manifest in (healed, again):
            (cache,) = manifest.write_caches
            assert (cache.required, cache.actual) == ("WCD", "WCD")
            assert cache.source.endswith("set by openpts, was WCE")
